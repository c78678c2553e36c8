// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Iteration.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/schedule/StepBytes.h"
#include "compiler/schedule/VectorAccesses.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

SmallVector<VariantAttr> fusec::chooseReduceVariants(StepOp step,
                                                     const Target &target) {
  MLIRContext *context = step.getContext();
  Block &block = step.getBody().front();
  auto iteration = analyzeRows(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
  if (failed(iteration))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Reduce, context))};

  // Neighbouring threads should read neighbouring elements: along the row where
  // it is contiguous, else across rows.
  const ScalarProgram &program = iteration->program;
  unsigned alongRow = 0, acrossRows = 0;
  int64_t element = 1;
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != Kind::Load || !program.varies(n, 1))
      continue;
    element = std::max(element, getElementBytes(node.type));
    Expr offset = program.getRanges().simplify(
        getOffset(node.indices,
                  step.getInputBuffer(node.value).getStrideExprs(), context));
    auto row = getDimCoefficient(offset, 0), k = getDimCoefficient(offset, 1);
    if (k && k->isConstant(1))
      ++alongRow;
    else if (row && row->isConstant(1))
      ++acrossRows;
  }
  SmallVector<RegionStore> full;
  for (const RowStore &store : iteration->stores)
    if (store.isFull)
      full.push_back(store);
  StepBytes bytes = getStepBytes(step, {});
  RowSizes sizes{double(getTypicalValue(program.getSizes()[0])),
                 double(getTypicalValue(program.getSizes()[1])),
                 double(bytes.read + bytes.written),
                 unsigned(iteration->reductions.size() + !full.empty()),
                 alongRow >= acrossRows,
                 unsigned(element)};
  VectorAccesses accesses =
      analyzeVectorAccesses(step, program, full, 1, /*hasTail=*/true);
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t vector, int64_t bits) {
    SmallVector<Candidate> candidates;
    for (auto [scope, threads] :
         {std::pair(ReduceScope::Block, 256), std::pair(ReduceScope::Warp, 128),
          std::pair(ReduceScope::Thread, 128)}) {
      auto schedule =
          ReduceScheduleAttr::get(context, scope, threads, bits, vector);
      candidates.push_back({schedule, estimateReduce(target, sizes, schedule)});
    }
    return makeVariant(context, guards, candidates);
  };
  IndexWidth width = getIndexWidth(step);
  int64_t fastBits = width.neverNarrow ? 64 : 32,
          safeBits = width.alwaysNarrow ? 32 : 64;
  SmallVector<GuardAttr> guards = getAlignmentGuards(accesses.aligned);
  llvm::append_range(guards, width.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, accesses.width, fastBits)};
  if (!guards.empty())
    variants.push_back(variant({}, 1, safeBits));
  return variants;
}
