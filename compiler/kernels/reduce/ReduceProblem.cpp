// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/reduce/ReduceProblem.h"
#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/analysis/VectorAccesses.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

SmallVector<unsigned> ReduceProblem::getKeptLoads(StepOp step, int64_t vector,
                                                  bool ahead) const {
  return fusec::getKeptLoads(
      iteration, ofColumns ? 2 : 1,
      [&](unsigned load) { return isAccess(step, load, vector); }, ahead);
}

bool ReduceProblem::isAccess(StepOp step, unsigned load, int64_t vector) const {
  const ScalarProgram &program = iteration.program;
  return vector == 1 ||
         isVectorAccess(
             getLoadOffset(step, program, load), ofColumns ? 2 : 1, vector,
             getElementBytes(program[load].type),
             getAlignmentIfGuarded(step.getInputBuffer(program[load].value)));
}

FailureOr<ReduceProblem> fusec::analyzeReduce(StepOp step) {
  auto columns = analyzeColumns(step);
  if (succeeded(columns)) {
    SmallVector<RegionStore> stores(columns->stores.begin(),
                                    columns->stores.end());
    VectorAccesses accesses = analyzeVectorAccesses(
        step, columns->program, stores, 2, /*hasTail=*/false);
    if (accesses.width == 1)
      accesses = analyzeShiftedColumns(step, *columns);
    int64_t element = getWidestElement(columns->program);
    return ReduceProblem{
        {std::move(*columns), 0, std::move(accesses)}, true, element};
  }
  auto walk = analyzeWalk(step);
  if (failed(walk))
    return failure();
  int64_t element = getWidestElement(walk->iteration.program);
  return ReduceProblem{std::move(*walk), false, element};
}

ReduceProblem ReduceProblem::asSingles(StepOp step) const {
  FailureOr<RowIteration> singles =
      ofColumns ? analyzeColumns(step) : analyzeRows(step);
  return {{std::move(*singles), 0, {}}, ofColumns, element};
}

RowSizes ReduceProblem::getSizesAt(StepOp step, const Target &target,
                                   int64_t dim) const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  StepBytes bytes = getStepBytesAt(step, dim);
  size_t reductions = getPasses(iteration).size();
  return {double(getSampledValue(getRows(), dim)),
          double(getSampledValue(getLength(), dim)),
          double(bytes.read + bytes.written),
          double(bytes.read),
          unsigned(reductions + !getFullStores(iteration).empty()),
          unsigned(reductions),
          ofColumns ? double(getSampledValue(space[2], dim)) : 1,
          unsigned(element),
          countInstructions(target.ops, iteration),
          llvm::any_of(iteration.reductions,
                       [](const RowReduction &reduction) {
                         return isa<ArgReduceOp>(reduction.op);
                       }),
          countFinding(target.ops, iteration)};
}

int64_t ReduceProblem::getPhasedVector() const {
  if (!ofColumns || accesses.shifted.empty())
    return 0;
  int64_t vector = accesses.width;
  auto schedule = ReduceScheduleAttr::get(
      iteration.program.getContext(), ReduceScope::Columns, /*threads=*/256,
      /*indexBits=*/32, vector, /*groups=*/vector);
  return areColumnsPhased(iteration, schedule) ? vector : 0;
}

Expr ReduceProblem::getRows() const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  return ofColumns ? space[0] * space[2] : space[0];
}

std::pair<RowSizes, RowSizes> ReduceProblem::getKeptSizes(StepOp step,
                                                          const Target &target,
                                                          int64_t vector,
                                                          int64_t dim) const {
  const ScalarProgram &program = iteration.program;
  RowSizes sizes = getSizesAt(step, target, dim);
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Compute && program.varies(n, 1)) {
      sizes.selects |= isa<SelectOp>(program[n].op);
      // Exponentials of 64 items a thread took softmax of 8192 x 8192 floats
      // from 129 us to 145 where six blocks were said to have room.
      bool isQuotient = isa<DivOp>(program[n].op) &&
                        program[program[n].operands[1]].kind != Kind::Splat;
      sizes.divides |=
          (isQuotient || isa<ExpOp>(program[n].op)) && isStored(iteration, n);
    }
  SmallVector<unsigned> needed = getKeptLoads(step, vector),
                        all = getKeptLoads(step, vector, /*ahead=*/true);
  sizes.storesByRow = llvm::any_of(all, [&](unsigned load) {
    return program.varies(load, 0) && !llvm::is_contained(needed, load);
  });
  auto keeping = [&](ArrayRef<unsigned> loads) {
    RowSizes kept = sizes;
    for (unsigned load : getLaneLoads(iteration, [&](unsigned load) {
           return !ofColumns && !llvm::is_contained(loads, load) &&
                  (vector == 1 ||
                   (!isAccess(step, load, vector) &&
                    (pitch ||
                     !isSameForVector(getLoadOffset(step, program, load), 1,
                                      vector))));
         })) {
      ++kept.laneLoads;
      kept.laneBytes += double(getElementBytes(program[load].type));
      // Quotients of the place are the same for many neighbours.
      kept.waitsForStores |=
          isStored(iteration, load) &&
          getDimCoefficient(getLoadOffset(step, program, load), 1).has_value();
    }
    kept.keptLoads = loads.size();
    for (unsigned load : loads)
      (getElementBytes(program[load].type) < 4 ? kept.keepsNarrow
                                               : kept.keepsWide) = true;
    return kept;
  };
  return {keeping(needed), keeping(all)};
}
