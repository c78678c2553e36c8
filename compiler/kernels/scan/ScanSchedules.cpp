// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows by a warp or a block, columns by vectors of them, parts of an axis by
// what a block's registers hold.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/kernels/scan/ScanProblem.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

/// One of 512 threads has half of the registers a thread: 24 single halves and
/// their sums spilled. Of columns two blocks of 256 then fit on a
/// multiprocessor.
static int64_t getMostKeptBytes(const ScanIteration &iteration,
                                ReduceScheduleAttr schedule) {
  // Of a run, for four such blocks.
  if (isRun(iteration, schedule))
    return 128;
  if (schedule.isOfColumns())
    return 256;
  return schedule.getThreads() > 256 ? 264 : 384;
}

/// Of a row in words: with more, fewer blocks are there to wait for another.
static constexpr int64_t mostKeptInWords = 192;

/// Of blocks that hold rows; the first hold the shortest alone.
static constexpr int64_t heldThreads[] = {128, 64};

/// Of a cluster's blocks, those first that hold more of a row a thread: with
/// 512, 256 rows of 65536 floats took 43 us for 37.
static constexpr int64_t clusterThreads[] = {128, 256};

/// That every device with clusters has room for.
static constexpr int64_t mostBlocksOfCluster = 8;

/// Of blocks that sum along a row.
static constexpr int64_t rowThreads[] = {256, 128, 512};

/// Of rows that clusters hold, where a block's registers do not.
SmallVector<ReduceScheduleAttr>
ScanProblem::getSchedulesOfClusters(MLIRContext *context, const Target &target,
                                    int64_t vector, int64_t bits) const {
  SmallVector<ReduceScheduleAttr> schedules;
  std::optional<int64_t> length = iteration.program.getSizes()[1].getConstant();
  if (target.major < 9 || iteration.parts || !iteration.isAlongRows() ||
      !length)
    return schedules;
  for (int64_t threads : clusterThreads)
    for (int64_t blocks = 2; blocks <= mostBlocksOfCluster; ++blocks) {
      auto schedule = ReduceScheduleAttr::get(context, ReduceScope::Cluster,
                                              threads, bits, vector, blocks);
      int64_t together = schedule.getThreadsTogether(),
              vectors = *length / vector;
      schedule = schedule.withKept(llvm::divideCeil(vectors, together));
      // Otherwise a smaller cluster holds the row.
      if (vectors > together &&
          getKeptBytes(schedule) <= getMostKeptBytes(iteration, schedule))
        schedules.push_back(schedule);
    }
  return schedules;
}

/// The smallest last.
SmallVector<ReduceScheduleAttr> ScanProblem::getSchedules(MLIRContext *context,
                                                          int64_t vector,
                                                          int64_t bits) const {
  SmallVector<ReduceScheduleAttr> schedules;
  auto add = [&](ReduceScope scope, int64_t threads, int64_t elements,
                 int64_t groups = 1) {
    schedules.push_back(ReduceScheduleAttr::get(context, scope, threads, bits,
                                                elements, groups));
  };
  if (iteration.isAlongRows()) {
    for (int64_t threads : rowThreads)
      add(ReduceScope::Block, threads, vector);
    add(ReduceScope::Warp, 128, vector);
    return schedules;
  }
  for (; vector >= 1; vector /= 2)
    for (int64_t groups : {1, 2, 4, 8, 16, 32})
      add(ReduceScope::Columns, 256, vector, groups);
  return schedules;
}

/// Whether a strip of columns in words is a line of memory wide, or as wide as
/// a warp of single ones: what else there was took longer wherever there are
/// columns enough.
static bool isLineWide(const ScanIteration &iteration,
                       ReduceScheduleAttr schedule) {
  constexpr int64_t warp = 32;
  int64_t columns = schedule.getRowsAtOnce(),
          most =
              lineBytes /
              int64_t(getElementBytes(iteration.program[iteration.item].type));
  return columns == most || (columns == warp && schedule.getVector() == 1);
}

/// Of parts that a block's registers hold; the smallest last.
SmallVector<ReduceScheduleAttr>
ScanProblem::getSchedulesOfParts(MLIRContext *context, int64_t vector,
                                 bool isAligned, int64_t bits) const {
  SmallVector<ReduceScheduleAttr> schedules;
  int64_t length =
      iteration.parts->length.getConstant().value_or(INT64_MAX / 2);
  auto add = [&](ReduceScope scope, int64_t threads, int64_t elements,
                 int64_t groups) {
    auto schedule = ReduceScheduleAttr::get(context, scope, threads, bits,
                                            elements, groups);
    int64_t perStep =
        schedule.getThreadsTogether() * (schedule.isOfColumns() ? 1 : elements);
    schedule = schedule.withKept(llvm::divideCeil(length, perStep));
    if (isRun(iteration, schedule) &&
        (getRunBytes(schedule) == 0 || getRunBytes(schedule) > mostHeldBytes))
      return;
    bool inWords = getFlagWords(iteration, schedule).has_value();
    if (inWords && schedule.isOfColumns() && !isRun(iteration, schedule) &&
        !isLineWide(iteration, schedule))
      return;
    int64_t most = inWords && !schedule.isOfColumns()
                       ? mostKeptInWords
                       : getMostKeptBytes(iteration, schedule);
    if (getKeptBytes(schedule) <= most)
      schedules.push_back(schedule);
  };
  if (iteration.isAlongRows()) {
    for (int64_t threads : {128, 256, 512})
      add(ReduceScope::Block, threads, vector, 1);
    return schedules;
  }
  if (isAligned && ofRun.width > 1) {
    int64_t columns = *iteration.program.getSizes()[2].getConstant();
    add(ReduceScope::Columns, 256, ofRun.width,
        256 / int64_t(llvm::PowerOf2Ceil(columns)));
  }
  for (; vector >= 1; vector /= 2)
    for (int64_t groups : {8, 16, 32, 64, 128, 256})
      add(ReduceScope::Columns, 256, vector, groups);
  return schedules;
}

SmallVector<Candidate> ScanProblem::getCandidates(StepOp step,
                                                  const Target &target,
                                                  bool isAligned, int64_t bits,
                                                  int64_t dim) const {
  MLIRContext *context = step.getContext();
  SmallVector<Candidate> candidates;
  int64_t vector = isAligned ? accesses.width : 1;
  std::optional<int64_t> rows = iteration.program.getSizes()[0].getConstant();
  auto getResident = [&](ReduceScheduleAttr schedule) {
    int64_t resident = getScanResident(iteration, target.scan, schedule,
                                       getKeptBytes(schedule));
    if (!isOfCluster(schedule) || !rows)
      return resident;
    // Of few clusters no thread has to do with fewer registers.
    auto share = int64_t(std::ceil(double(*rows * schedule.getCluster()) /
                                   target.multiprocessors));
    return std::min(resident, std::max<int64_t>(1, share));
  };
  auto append = [&](const Candidate &candidate) {
    auto schedule = cast<ReduceScheduleAttr>(candidate.schedule);
    if (int64_t resident = getResident(schedule))
      candidates.push_back(
          {schedule.withResident(resident), candidate.estimate});
    candidates.push_back(candidate);
  };
  if (iteration.parts) {
    // Parts are as long as vectors in registers allow, wherever these begin.
    if (iteration.isAlongRows())
      vector = std::max(accesses.width, ofSpans.width);
    for (ReduceScheduleAttr schedule :
         getSchedulesOfParts(context, vector, isAligned, bits)) {
      auto add = [&](ReduceScheduleAttr own) {
        candidates.push_back({own, estimateParts(step, target, own, dim)});
      };
      if (int64_t resident = getResident(schedule))
        add(schedule.withResident(resident));
      add(schedule);
    }
    return candidates;
  }
  ArrayRef<Expr> space = iteration.program.getSizes();
  auto add = [&](ReduceScheduleAttr unlimited) {
    Expr atOnce = Expr::constant(context, unlimited.getRowsAtOnce());
    append(chooseGridLimit(
        target, unlimited.getThreads(), (space[0] * space[2]).ceilDiv(atOnce),
        [&](int64_t limit) -> Candidate {
          auto schedule = unlimited.withBlocks(limit);
          return {schedule, isHeld(schedule)
                                ? estimateHeld(step, target, schedule, dim)
                                : estimate(step, target, schedule, dim)};
        }));
  };
  // Each cluster takes one row.
  auto addClusters = [&](int64_t width) {
    for (ReduceScheduleAttr schedule :
         getSchedulesOfClusters(context, target, width, bits))
      append({schedule, estimateCluster(step, target, schedule, dim)});
  };
  for (int64_t threads : heldThreads)
    if (getHeldBytes(threads))
      add(ReduceScheduleAttr::get(context, ReduceScope::Thread, threads, bits,
                                  isAligned ? ofHeld.width : 1));
  if (isAligned && ofSpans.width > 1) {
    addClusters(ofSpans.width);
    for (int64_t threads : rowThreads)
      add(ReduceScheduleAttr::get(context, ReduceScope::Block, threads, bits,
                                  ofSpans.width));
  }
  addClusters(vector);
  for (ReduceScheduleAttr unlimited : getSchedules(context, vector, bits))
    add(unlimited);
  return candidates;
}

static FailureOr<ScanProblem> analyzeScanProblem(StepOp step) {
  auto iteration = analyzeScan(step);
  if (failed(iteration))
    return failure();
  VectorAccesses accesses = analyzeVectorAccesses(
      step, iteration->program, iteration->stores,
      iteration->isAlongRows() ? 1 : 2, /*hasTail=*/false);
  ScanProblem problem{std::move(*iteration), std::move(accesses)};
  if (problem.getHeldBytes(heldThreads[1])) {
    ScanIteration held = getWalked(
        problem.iteration,
        ReduceScheduleAttr::get(step.getContext(), ReduceScope::Thread, 128,
                                /*indexBits=*/64, /*vector=*/1));
    problem.ofHeld = analyzeVectorAccesses(step, held.program, held.stores, 1,
                                           /*hasTail=*/true);
  }
  auto asRun = ReduceScheduleAttr::get(step.getContext(), ReduceScope::Columns,
                                       256, /*indexBits=*/64, /*vector=*/16);
  if (isRun(problem.iteration, asRun)) {
    ScanIteration run = getWalked(problem.iteration, asRun);
    problem.ofRun = analyzeVectorAccesses(step, run.program, run.stores, 1,
                                          /*hasTail=*/true);
    auto width = ReduceScheduleAttr::get(
        step.getContext(), ReduceScope::Columns, 256, 64, problem.ofRun.width);
    if (!isRun(problem.iteration, width))
      problem.ofRun = {};
  }
  problem.ofSpans =
      analyzeSpans(step, problem.iteration, problem.accesses.width);
  return problem;
}

SmallVector<VariantAttr>
fusec::chooseScanVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  FailureOr<ScanProblem> problem = analyzeScanProblem(step);
  if (failed(problem))
    return {
        VariantAttr::get(context, {}, getPlainSchedule(Family::Scan, context))};
  auto variant = [&](ArrayRef<GuardAttr> guards, bool isAligned, int64_t bits) {
    SmallVector<Candidate> candidates =
        problem->getCandidates(step, target, isAligned, bits, typicalDim);
    // Of rows that are as fast by more threads each, fewer are on their way at
    // a time: 8192 x 8192 took 3% less by blocks of 256 than by warps.
    Attribute first = getFirstFast(candidates);
    for (Candidate &candidate : candidates)
      candidate.estimate.microseconds = problem->getShownMicros(
          step, target, candidate.estimate.microseconds, typicalDim);
    return makeVariant(context, guards, candidates, typicalDim, first);
  };
  IndexWidth width = getIndexWidth(step);
  SmallVector<BufferOp> aligned = problem->accesses.aligned;
  for (const VectorAccesses *more :
       {&problem->ofHeld, &problem->ofRun, &problem->ofSpans})
    for (BufferOp buffer : more->aligned)
      if (!llvm::is_contained(aligned, buffer))
        aligned.push_back(buffer);
  SmallVector<GuardAttr> guards = getAlignmentGuards(aligned);
  llvm::append_range(guards, width.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, /*isAligned=*/true, width.neverNarrow ? 64 : 32)};
  if (!guards.empty())
    variants.push_back(
        variant({}, /*isAligned=*/false, width.alwaysNarrow ? 32 : 64));
  return variants;
}

Estimates fusec::estimateScanStep(StepOp step, const Target &target, Products,
                                  ArrayRef<int64_t> dims) {
  Estimates estimates(dims.size());
  FailureOr<ScanProblem> problem = analyzeScanProblem(step);
  if (failed(problem))
    return estimates;
  for (auto [dim, estimate] : llvm::zip_equal(dims, estimates)) {
    SmallVector<Candidate> candidates =
        problem->getCandidates(step, target, /*isAligned=*/true, 32, dim);
    // A step of parts must do without vectors, too.
    if (!candidates.empty() &&
        !problem->getCandidates(step, target, /*isAligned=*/false, 32, dim)
             .empty())
      estimate = getFastest(candidates).estimate;
  }
  return estimates;
}
