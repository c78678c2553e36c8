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
  bool ofColumns;
  int64_t element;
  VectorAccesses accesses;

  RowSizes getSizesAt(StepOp step, int64_t dim) const;
  Expr getRows() const;
  SmallVector<ReduceScheduleAttr>
  getSchedules(MLIRContext *context, int64_t vector, int64_t bits) const;
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

/// Bytes of the widest element that varies along the row.
static int64_t getWidestElement(const ScalarProgram &program) {
  int64_t widest = 1;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Load && program.varies(n, 1))
      widest = std::max(widest, getElementBytes(program[n].type));
  return widest;
}

/// Neighbouring threads should read neighbouring elements: along the row where
/// most lie so, else across columns.
static FailureOr<ReduceProblem> analyzeProblem(StepOp step) {
  auto columns = analyzeColumns(step);
  bool ofColumns = succeeded(columns);
  auto iteration = ofColumns ? std::move(columns) : analyzeRows(step);
  if (failed(iteration))
    return failure();
  const ScalarProgram &program = iteration->program;
  SmallVector<RegionStore> stores =
      ofColumns ? SmallVector<RegionStore>(iteration->stores.begin(),
                                           iteration->stores.end())
                : getFullStores(*iteration);
  VectorAccesses accesses = analyzeVectorAccesses(
      step, program, stores, ofColumns ? 2 : 1, /*hasTail=*/!ofColumns);
  int64_t element = getWidestElement(program);
  return ReduceProblem{std::move(*iteration), ofColumns, element,
                       std::move(accesses)};
}

RowSizes ReduceProblem::getSizesAt(StepOp step, int64_t dim) const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  StepBytes bytes = getStepBytesAt(step, dim);
  return {
      double(getSampledValue(getRows(), dim)),
      double(getSampledValue(space[1], dim)),
      double(bytes.read + bytes.written),
      unsigned(iteration.reductions.size() + !getFullStores(iteration).empty()),
      !ofColumns,
      ofColumns ? double(getSampledValue(space[2], dim)) : 1,
      unsigned(element)};
}

Expr ReduceProblem::getRows() const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  return ofColumns ? space[0] * space[2] : space[0];
}

/// The smallest last.
SmallVector<ReduceScheduleAttr>
ReduceProblem::getSchedules(MLIRContext *context, int64_t vector,
                            int64_t bits) const {
  if (!ofColumns)
    return {
        ReduceScheduleAttr::get(context, ReduceScope::Block, 256, bits, vector),
        ReduceScheduleAttr::get(context, ReduceScope::Warp, 128, bits, vector),
        ReduceScheduleAttr::get(context, ReduceScope::Thread, 128, bits,
                                vector)};
  SmallVector<ReduceScheduleAttr> schedules;
  for (; vector >= 1; vector /= 2)
    for (int64_t groups : {1, 2, 4, 8, 16, 32})
      schedules.push_back(ReduceScheduleAttr::get(context, ReduceScope::Columns,
                                                  256, bits, vector, groups));
  return schedules;
}

SmallVector<Candidate>
ReduceProblem::getCandidates(StepOp step, const Target &target, int64_t vector,
                             int64_t bits, int64_t dim) const {
  RowSizes sizes = getSizesAt(step, dim);
  SmallVector<Candidate> candidates;
  MLIRContext *context = step.getContext();
  for (ReduceScheduleAttr unlimited : getSchedules(context, vector, bits)) {
    Expr atOnce = Expr::constant(context, unlimited.getRowsAtOnce());
    candidates.push_back(chooseGridLimit(
        target, unlimited.getThreads(), getRows().ceilDiv(atOnce),
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
