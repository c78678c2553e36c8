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

  SmallVector<ReduceScheduleAttr>
  keep(StepOp step, ArrayRef<ReduceScheduleAttr> schedules) const;
  RowSizes getSizesAt(StepOp step, int64_t dim) const;
  Expr getRows() const;
  SmallVector<ReduceScheduleAttr> getSchedules(StepOp step,
                                               const Target &target,
                                               int64_t vector,
                                               int64_t bits) const;
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

/// Adds the loads of what the node computes at each point of a row.
static void collectLoads(const ScalarProgram &program, unsigned node,
                         llvm::SmallDenseSet<unsigned> &seen) {
  SmallVector<unsigned> open = {node};
  while (!open.empty()) {
    unsigned next = open.pop_back_val();
    if (!program.varies(next, 1) || !seen.insert(next).second)
      continue;
    // What only some points need is not loaded for all.
    if (program[next].kind == Kind::Compute)
      llvm::append_range(open, program[next].operands);
  }
}

SmallVector<unsigned> fusec::getKeptLoads(StepOp step,
                                          const RowIteration &iteration,
                                          int64_t vector) {
  const ScalarProgram &program = iteration.program;
  auto isAccess = [&](const ScalarNode &node) {
    BufferOp buffer = step.getInputBuffer(node.value);
    Expr offset = program.getRanges().simplify(
        getOffset(node.indices, buffer.getStrideExprs(), step.getContext()));
    return vector == 1 ||
           isVectorAccess(offset, 1, vector, getElementBytes(node.type),
                          getAlignmentIfGuarded(buffer));
  };
  std::vector<unsigned> passes(program.size());
  auto count = [&](ArrayRef<unsigned> nodes) {
    llvm::SmallDenseSet<unsigned> seen;
    for (unsigned node : nodes)
      collectLoads(program, node, seen);
    for (unsigned node : seen)
      ++passes[node];
  };
  for (const RowReduction &reduction : iteration.reductions)
    count(reduction.operand);
  count(
      llvm::map_to_vector(getFullStores(iteration),
                          [](const RegionStore &store) { return store.node; }));
  SmallVector<unsigned> kept;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Load && passes[n] > 1 && isAccess(program[n]))
      kept.push_back(n);
  return kept;
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

/// Bytes of registers that a thread may keep: a multiprocessor has 256 bytes
/// for each of 1024 threads in all. Blocks of 512 that keep more are alone on
/// it, which only rows that nothing else holds are worth.
static int64_t getMostKept(ReduceScheduleAttr schedule) {
  int64_t threads = schedule.getThreads();
  return threads > 512 || (threads > 256 && schedule.getCluster() == 1) ? 96
                                                                        : 256;
}

/// Each is text of its own in every pass, which NVRTC takes long for.
static constexpr int64_t mostKeptSteps = 32;

/// Those of `schedules` that can keep rows, doing so.
SmallVector<ReduceScheduleAttr>
ReduceProblem::keep(StepOp step, ArrayRef<ReduceScheduleAttr> schedules) const {
  SmallVector<ReduceScheduleAttr> keeping;
  std::optional<int64_t> length = iteration.program.getSizes()[1].getConstant();
  if (!length || usesDim(iteration.length, 0))
    return keeping;
  int64_t bytes = 0;
  for (unsigned node : getKeptLoads(step, iteration, schedules[0].getVector()))
    bytes += getElementBytes(iteration.program[node].type);
  for (ReduceScheduleAttr schedule : schedules) {
    int64_t vector = schedule.getVector(),
            steps = llvm::divideCeil(*length,
                                     schedule.getThreadsTogether() * vector);
    if (bytes && *length % vector == 0 && steps <= mostKeptSteps &&
        steps * vector * bytes <= getMostKept(schedule))
      keeping.push_back(schedule.withKept(std::max<int64_t>(steps, 1)));
  }
  return keeping;
}

/// The smallest last.
SmallVector<ReduceScheduleAttr>
ReduceProblem::getSchedules(StepOp step, const Target &target, int64_t vector,
                            int64_t bits) const {
  MLIRContext *context = step.getContext();
  auto get = [&](ReduceScope scope, int64_t threads, int64_t elements,
                 int64_t groups = 1) {
    return ReduceScheduleAttr::get(context, scope, threads, bits, elements,
                                   groups);
  };
  SmallVector<ReduceScheduleAttr> schedules;
  if (ofColumns) {
    for (; vector >= 1; vector /= 2)
      for (int64_t groups : {1, 2, 4, 8, 16, 32})
        schedules.push_back(get(ReduceScope::Columns, 256, vector, groups));
    return schedules;
  }
  for (int64_t threads : {256, 512, 1024, 128})
    schedules.push_back(get(ReduceScope::Block, threads, vector));
  for (int64_t groups : {1, 2, 4, 8})
    schedules.push_back(get(ReduceScope::Warp, 128, vector, groups));
  SmallVector<ReduceScheduleAttr> together = schedules;
  if (target.major >= 9)
    for (int64_t threads : {256, 512, 1024})
      for (int64_t blocks : {2, 4, 8})
        together.push_back(get(ReduceScope::Cluster, threads, vector, blocks));
  llvm::append_range(schedules, keep(step, together));
  schedules.push_back(get(ReduceScope::Thread, 128, vector));
  return schedules;
}

SmallVector<Candidate>
ReduceProblem::getCandidates(StepOp step, const Target &target, int64_t vector,
                             int64_t bits, int64_t dim) const {
  RowSizes sizes = getSizesAt(step, dim);
  SmallVector<Candidate> candidates;
  MLIRContext *context = step.getContext();
  for (ReduceScheduleAttr unlimited :
       getSchedules(step, target, vector, bits)) {
    Expr atOnce = Expr::constant(context, unlimited.getRowsAtOnce());
    candidates.push_back(chooseGridLimit(
        target, unlimited.getThreads(),
        getRows().ceilDiv(atOnce) * unlimited.getCluster(),
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
