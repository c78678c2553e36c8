// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

namespace {
/// What schedules of the family depend on.
struct ReduceProblem {
  RowIteration iteration;
  bool alongRow;
  int64_t element;
  VectorAccesses accesses;

  RowSizes getSizesAt(StepOp step, int64_t dim) const;
  SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                       int64_t vector, int64_t bits,
                                       int64_t dim) const;
};
} // namespace

static SmallVector<RegionStore> getFullStores(const RowIteration &iteration) {
  SmallVector<RegionStore> full;
  for (const RowStore &store : iteration.stores)
    if (store.isFull)
      full.push_back(store);
  return full;
}

static FailureOr<ReduceProblem> analyzeProblem(StepOp step) {
  auto iteration = analyzeRows(step);
  if (failed(iteration))
    return failure();

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
    Expr offset = program.getRanges().simplify(getOffset(
        node.indices, step.getInputBuffer(node.value).getStrideExprs(),
        step.getContext()));
    auto row = getDimCoefficient(offset, 0), k = getDimCoefficient(offset, 1);
    if (k && k->isConstant(1))
      ++alongRow;
    else if (row && row->isConstant(1))
      ++acrossRows;
  }
  VectorAccesses accesses = analyzeVectorAccesses(
      step, program, getFullStores(*iteration), 1, /*hasTail=*/true);
  return ReduceProblem{std::move(*iteration), alongRow >= acrossRows, element,
                       std::move(accesses)};
}

RowSizes ReduceProblem::getSizesAt(StepOp step, int64_t dim) const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  StepBytes bytes = getStepBytesAt(step, dim);
  return {
      double(getSampledValue(space[0], dim)),
      double(getSampledValue(space[1], dim)),
      double(bytes.read + bytes.written),
      unsigned(iteration.reductions.size() + !getFullStores(iteration).empty()),
      alongRow,
      unsigned(element)};
}

SmallVector<Candidate>
ReduceProblem::getCandidates(StepOp step, const Target &target, int64_t vector,
                             int64_t bits, int64_t dim) const {
  RowSizes sizes = getSizesAt(step, dim);
  SmallVector<Candidate> candidates;
  MLIRContext *context = step.getContext();
  Expr rows = iteration.program.getSizes()[0];
  for (auto [scope, threads] :
       {std::pair(ReduceScope::Block, 256), std::pair(ReduceScope::Warp, 128),
        std::pair(ReduceScope::Thread, 128)}) {
    auto unlimited =
        ReduceScheduleAttr::get(context, scope, threads, bits, vector);
    Expr perBlock = Expr::constant(context, unlimited.getRowsAtOnce());
    candidates.push_back(chooseGridLimit(
        target, threads, rows.ceilDiv(perBlock),
        [&](int64_t limit) -> Candidate {
          auto schedule = unlimited.withBlocks(limit);
          return {schedule, estimateReduce(target, sizes, schedule)};
        }));
  }
  return candidates;
}

SmallVector<VariantAttr>
fusec::chooseReduceVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  auto problem = analyzeProblem(step);
  if (failed(problem))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Reduce, context))};
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t vector, int64_t bits) {
    return makeVariant(
        context, guards,
        problem->getCandidates(step, target, vector, bits, typicalDim));
  };
  IndexWidth width = getIndexWidth(step);
  int64_t fastBits = width.neverNarrow ? 64 : 32,
          safeBits = width.alwaysNarrow ? 32 : 64;
  SmallVector<GuardAttr> guards = getAlignmentGuards(problem->accesses.aligned);
  llvm::append_range(guards, width.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, problem->accesses.width, fastBits)};
  if (!guards.empty())
    variants.push_back(variant({}, 1, safeBits));
  return variants;
}

Estimates fusec::estimateReduceStep(StepOp step, const Target &target, Products,
                                    ArrayRef<int64_t> dims) {
  Estimates estimates(dims.size());
  auto problem = analyzeProblem(step);
  if (failed(problem))
    return estimates;
  for (auto [dim, estimate] : llvm::zip_equal(dims, estimates))
    estimate = getFastest(problem->getCandidates(
                              step, target, problem->accesses.width, 32, dim))
                   .estimate;
  return estimates;
}
