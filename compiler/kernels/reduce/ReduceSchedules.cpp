// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/kernels/reduce/Reduce.h"
#include <cmath>

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

namespace {
/// What schedules of the family depend on.
struct ReduceProblem : RowWalk {
  bool ofColumns;
  int64_t element;

  /// What accesses of `vector` elements can keep.
  SmallVector<unsigned> getKeptLoads(StepOp step, int64_t vector,
                                     bool ahead = false) const;
  SmallVector<ReduceScheduleAttr>
  keep(StepOp step, ArrayRef<ReduceScheduleAttr> schedules) const;
  RowSizes getSizesAt(StepOp step, const Target &target, int64_t dim) const;
  /// With what accesses of `vector` elements keep.
  RowSizes getKeptSizes(StepOp step, const Target &target, int64_t vector,
                        int64_t dim, bool ahead) const;
  Expr getRows() const;
  Expr getLength() const {
    return pitch ? iteration.length : iteration.program.getSizes()[1];
  }
  SmallVector<ReduceScheduleAttr> getColumnSchedules(StepOp step,
                                                     const Target &target,
                                                     int64_t vector,
                                                     int64_t bits) const;
  SmallVector<ReduceScheduleAttr> getSchedules(StepOp step,
                                               const Target &target,
                                               int64_t vector,
                                               int64_t bits) const;
  int64_t getResident(const Target &target, const RowSizes &sizes,
                      ReduceScheduleAttr schedule) const;
  Attribute getFirst(ArrayRef<Candidate> candidates) const;
  SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                       int64_t vector, int64_t bits,
                                       int64_t dim) const;
};
} // namespace

SmallVector<unsigned> ReduceProblem::getKeptLoads(StepOp step, int64_t vector,
                                                  bool ahead) const {
  const ScalarProgram &program = iteration.program;
  unsigned lanesDim = ofColumns ? 2 : 1;
  return fusec::getKeptLoads(
      iteration, lanesDim,
      [&](unsigned load) {
        return vector == 1 ||
               isVectorAccess(getLoadOffset(step, program, load), lanesDim,
                              vector, getElementBytes(program[load].type),
                              getAlignmentIfGuarded(
                                  step.getInputBuffer(program[load].value)));
      },
      ahead);
}

/// Neighbouring threads should read neighbouring elements: along the row where
/// most lie so, else across columns.
static FailureOr<ReduceProblem> analyzeProblem(StepOp step) {
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
          llvm::any_of(iteration.reductions, [](const RowReduction &reduction) {
            return isa<ArgReduceOp>(reduction.op);
          })};
}

Expr ReduceProblem::getRows() const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  return ofColumns ? space[0] * space[2] : space[0];
}

/// Each is text of its own in every pass, which NVRTC takes long for.
static constexpr int64_t mostKeptSteps = 32;
/// Of one pass: 39 floats took 58 us by 40 registers, 48 by 20.
static constexpr int64_t mostStepsOfPass = 16, mostKeptOfPass = 128;
/// Of an item: text of 52 GELUs took 44 us, a loop 29.
static constexpr double mostInstructionsOfPass = 16;

/// Those of `schedules` that can keep rows.
SmallVector<ReduceScheduleAttr>
ReduceProblem::keep(StepOp step, ArrayRef<ReduceScheduleAttr> schedules) const {
  SmallVector<ReduceScheduleAttr> keeping;
  std::optional<int64_t> length = getLength().getConstant();
  if (!length || usesDim(iteration.length, 0) || schedules.empty())
    return keeping;
  int64_t bytes = 0;
  for (unsigned node : getKeptLoads(step, schedules[0].getVector()))
    bytes += getElementBytes(iteration.program[node].type);
  bool isOne = isOnePass(iteration);
  for (ReduceScheduleAttr schedule : schedules) {
    int64_t vector = schedule.getVector(), along = ofColumns ? 1 : vector,
            vectors = llvm::divideCeil(*length, along);
    // Of a span head and tail are a step of their own.
    bool isSpan = pitch && vector > 1;
    vectors -= isSpan;
    int64_t steps = llvm::divideCeil(vectors, schedule.getThreadsTogether());
    int64_t most = isOne ? mostKeptOfPass : getMostKept(schedule);
    if (bytes && (isSpan || *length % along == 0) &&
        steps <= (isOne ? mostStepsOfPass : mostKeptSteps) &&
        steps * vector * bytes <= most)
      keeping.push_back(schedule.withKept(std::max<int64_t>(steps, 1)));
  }
  return keeping;
}

/// Bytes of what is found at once of an item: at least 16, of indices.
static int64_t getMostFound(const RowIteration &iteration) {
  int64_t most = 16;
  for (ArrayRef<RowReduction> pass : getPasses(iteration)) {
    int64_t bytes = 0;
    for (const RowReduction &reduction : pass)
      bytes += getElementBytes(getElementType(reduction.op->getResult(0)));
    most = std::max(most, bytes);
  }
  return most;
}

/// Those that keep columns behind those that load them in every pass, of each
/// width.
SmallVector<ReduceScheduleAttr>
ReduceProblem::getColumnSchedules(StepOp step, const Target &target,
                                  int64_t vector, int64_t bits) const {
  SmallVector<ReduceScheduleAttr> schedules;
  // What a block's find meets in shared memory.
  constexpr int64_t shared = 32 << 10, vectors = 8, sector = 32;
  int64_t mostItems = shared / getMostFound(iteration);
  std::optional<int64_t> rows = getRows().getConstant();
  // More would be without items.
  int64_t mostGroups =
      std::max<int64_t>(getLength().getConstant().value_or(1), 1);
  bool isShifted = vector > 1 && !accesses.shifted.empty();
  for (; vector >= 1; vector = isShifted ? 0 : vector / 2) {
    auto get = [&](int64_t threads, int64_t groups) {
      return ReduceScheduleAttr::get(step.getContext(), ReduceScope::Columns,
                                     threads, bits, vector, groups);
    };
    // Columns of which a multiprocessor has a block at most want all of its
    // threads.
    bool areFew = rows && *rows <= vectors * vector * target.multiprocessors;
    // Of halves that are shifted into place, as many bytes as of singles.
    for (int64_t threads : {1024, 512})
      if (areFew && threads * vector <= (isShifted ? 2 : 1) * mostItems)
        schedules.push_back(get(threads, threads / vectors));
    for (int64_t groups : {1, 2, 4, 8, 16, 32})
      schedules.push_back(get(256, groups));
    SmallVector<ReduceScheduleAttr> tiles;
    for (int64_t threads : {512, 256})
      for (int64_t groups = 1;
           threads * vector <= mostItems && groups <= mostGroups &&
           threads / groups * vector * element >= sector;
           groups *= 2)
        tiles.push_back(get(threads, groups));
    llvm::append_range(schedules, keep(step, tiles));
  }
  return schedules;
}

/// The smallest last.
SmallVector<ReduceScheduleAttr>
ReduceProblem::getSchedules(StepOp step, const Target &target, int64_t vector,
                            int64_t bits) const {
  if (ofColumns)
    return getColumnSchedules(step, target, vector, bits);
  MLIRContext *context = step.getContext();
  auto get = [&](ReduceScope scope, int64_t threads, int64_t elements,
                 int64_t groups = 1) {
    return ReduceScheduleAttr::get(context, scope, threads, bits, elements,
                                   groups);
  };
  SmallVector<ReduceScheduleAttr> schedules;
  for (int64_t threads : {256, 512, 1024, 128})
    schedules.push_back(get(ReduceScope::Block, threads, vector));
  // Groups of a warp have no spans: none has as many threads as a head and a
  // tail have items.
  bool isSpan = pitch && vector > 1;
  auto getWarps = [&](int64_t vector) {
    SmallVector<ReduceScheduleAttr> warps;
    for (int64_t groups : {1, 2, 4, 8})
      if (groups == 1 || !isSpan)
        warps.push_back(get(ReduceScope::Warp, 128, vector, groups));
    return warps;
  };
  llvm::append_range(schedules, getWarps(vector));
  // Of the shortest rows there are most, so that it takes time to place blocks.
  if (!isSpan)
    schedules.push_back(get(ReduceScope::Warp, 256, vector, 8));
  // Short spans are head and tail for a good part: item by item, threads beside
  // each other read what lies in one piece.
  if (isSpan && getKeptLoads(step, 1).empty())
    for (int64_t groups : {2, 4, 8})
      schedules.push_back(get(ReduceScope::Warp, 128, 1, groups));
  SmallVector<ReduceScheduleAttr> all = schedules;
  if (target.major >= 9)
    for (int64_t threads : {256, 512, 1024})
      for (int64_t blocks : {2, 4, 8})
        all.push_back(get(ReduceScope::Cluster, threads, vector, blocks));
  SmallVector<ReduceScheduleAttr> keeping = keep(step, all);
  // Rows that nothing holds.
  if (keeping.empty() && getLength().isConstant() &&
      !getKeptLoads(step, vector).empty()) {
    schedules = all;
    if (findOnlinePair(iteration))
      for (ReduceScheduleAttr schedule : all)
        schedules.push_back(schedule.asOnline());
  }
  llvm::append_range(schedules, keeping);
  // Where half as wide accesses leave fewer lanes without items.
  auto getHeld = [](ReduceScheduleAttr schedule) {
    return schedule.getThreadsTogether() * schedule.getKept() *
           schedule.getVector();
  };
  if (vector > 2)
    for (ReduceScheduleAttr narrow : keep(step, getWarps(vector / 2)))
      if (llvm::any_of(keeping, [&](ReduceScheduleAttr schedule) {
            return schedule.getScope() == ReduceScope::Warp &&
                   schedule.getGroups() == narrow.getGroups() &&
                   getHeld(narrow) < getHeld(schedule);
          }))
        schedules.push_back(narrow);
  schedules.push_back(get(ReduceScope::Thread, 128, vector));
  return schedules;
}

RowSizes ReduceProblem::getKeptSizes(StepOp step, const Target &target,
                                     int64_t vector, int64_t dim,
                                     bool ahead) const {
  const ScalarProgram &program = iteration.program;
  RowSizes sizes = getSizesAt(step, target, dim);
  for (size_t n = 0; n < program.size(); ++n)
    sizes.selects |= program[n].kind == Kind::Compute &&
                     isa<SelectOp>(program[n].op) && program.varies(n, 1);
  SmallVector<unsigned> kept = getKeptLoads(step, vector, ahead);
  sizes.keptLoads = kept.size();
  SmallVector<unsigned> needed = getKeptLoads(step, vector);
  sizes.storesByRow = llvm::any_of(
      getKeptLoads(step, vector, /*ahead=*/true), [&](unsigned load) {
        return program.varies(load, 0) && !llvm::is_contained(needed, load);
      });
  sizes.keepsNarrow = llvm::any_of(kept, [&](unsigned load) {
    return getElementBytes(program[load].type) < 4;
  });
  return sizes;
}

/// For how many blocks, of those of the grid, a kernel is compiled that does
/// not ask for what all threads have, but of spans of halves; 0: it asks. Rows
/// that share a warp take longer so, and warps that load ahead, 64 bits take
/// twice the registers.
int64_t ReduceProblem::getResident(const Target &target, const RowSizes &sizes,
                                   ReduceScheduleAttr schedule) const {
  double threads = schedule.getThreads(),
         items = double(schedule.getKept() * schedule.getVector()) *
                 sizes.keptLoads,
         blocks = std::ceil(sizes.rows / double(schedule.getRowsAtOnce())) *
                  double(schedule.getCluster());
  bool isSpan = pitch && schedule.getVector() > 1,
       isNarrow = !ofColumns && !isSpan && sizes.keepsNarrow;
  if (!schedule.getKept() || sharesWarp(schedule) || sizes.element > 4 ||
      loadsAheadByWarps(schedule) ||
      (isNarrow && items > target.row.mostFreeItems) ||
      (isSpan && !sizes.keepsNarrow))
    return 0;
  // One pass has nothing but long functions that could be computed too early.
  if (ofColumns && isOnePass(iteration))
    return sizes.instructions <= mostInstructionsOfPass;
  double resident =
      isNarrow
          ? std::min(target.threads / threads,
                     65536 / ((target.row.freeRegisters + items) * threads))
          : getResidentBlocks(target, sizes, schedule);
  return std::max<int64_t>(
      1, std::min(resident, std::ceil(blocks / target.multiprocessors)));
}

SmallVector<Candidate>
ReduceProblem::getCandidates(StepOp step, const Target &target, int64_t vector,
                             int64_t bits, int64_t dim) const {
  RowSizes sizes = getKeptSizes(step, target, vector, dim, /*ahead=*/false),
           ahead = getKeptSizes(step, target, vector, dim, /*ahead=*/true);
  bool isShifted = ofColumns && vector > 1 && !accesses.shifted.empty();
  if (isShifted)
    sizes.instructions += target.columns.shiftInstructions;
  SmallVector<Candidate> candidates;
  MLIRContext *context = step.getContext();
  for (ReduceScheduleAttr unlimited :
       getSchedules(step, target, vector, bits)) {
    if (!hasRegisters(target, sizes, unlimited) ||
        (ofColumns && isOnePass(iteration) && unlimited.getKept() &&
         sizes.keepsNarrow && sizes.instructions > mostInstructionsOfPass))
      continue;
    if (!pitch && paysAhead(target, sizes, ahead, unlimited))
      unlimited = unlimited.asAhead();
    Expr atOnce = Expr::constant(context, unlimited.getRowsAtOnce());
    auto getAt = [&](int64_t limit) -> Candidate {
      auto schedule = unlimited.withBlocks(limit);
      return {schedule, estimateReduce(target, sizes, schedule)};
    };
    Candidate candidate = chooseGridLimit(
        target, unlimited.getThreads(),
        getRows().ceilDiv(atOnce) * unlimited.getCluster(), getAt);
    // Dots and maxima of rows that are read once took 3% less without a limit.
    if (!ofColumns && isOnePass(iteration) && !unlimited.getKept())
      candidate = getFastest({getAt(0), candidate});
    // The one that asks is there for kernels that would spill else.
    const RowSizes &kept = unlimited.getAhead() ? ahead : sizes;
    if (int64_t resident = getResident(target, kept, unlimited)) {
      Candidate free = candidate;
      free.schedule =
          cast<ReduceScheduleAttr>(candidate.schedule).withResident(resident);
      if (unlimited.getCluster() == 1 || !kept.keepsNarrow)
        free.estimate.microseconds *= target.row.freePart;
      candidates.push_back(free);
    }
    candidates.push_back(candidate);
  }
  if (isShifted)
    llvm::append_range(candidates, getCandidates(step, target, 1, bits, dim));
  return candidates;
}

/// Of columns that are said to take as long, those of most threads, each of
/// which holds less: softmax of 64 x 1000 x 128 took 23.1 us, by 256 25.6.
Attribute ReduceProblem::getFirst(ArrayRef<Candidate> candidates) const {
  constexpr double same = 1.001;
  ReduceScheduleAttr first;
  if (!ofColumns)
    return first;
  double most = same * getFastest(candidates).estimate.microseconds;
  for (const Candidate &candidate : candidates) {
    auto schedule = cast<ReduceScheduleAttr>(candidate.schedule);
    if (candidate.estimate.microseconds <= most &&
        (!first || schedule.getThreads() > first.getThreads()))
      first = schedule;
  }
  return first;
}

SmallVector<VariantAttr>
fusec::chooseReduceVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  if (auto nested = analyzeNested(step); succeeded(nested))
    return chooseNestedVariants(step, *nested, target);
  auto problem = analyzeProblem(step);
  if (failed(problem))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Reduce, context))};
  if (!problem->accesses.shifted.empty()) {
    // Where single columns are faster no other variant asks for alignment.
    auto fastest = cast<ReduceScheduleAttr>(
        getFastest(problem->getCandidates(step, target, problem->accesses.width,
                                          32, typicalDim))
            .schedule);
    if (fastest.getVector() == 1)
      problem->accesses = {};
  }
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t vector, int64_t bits) {
    SmallVector<Candidate> candidates =
        problem->getCandidates(step, target, vector, bits, typicalDim);
    return makeVariant(context, guards, candidates, typicalDim,
                       problem->getFirst(candidates));
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
  if (auto nested = analyzeNested(step); succeeded(nested))
    return estimateNestedStep(step, *nested, target, dims);
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
