// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows by a warp or a block, columns by vectors of them. The time is that of
// the bytes, or of the tiles that each waits for, one after another.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/kernels/scan/Scan.h"
#include "compiler/kernels/scan/device/scan_config.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

namespace {
/// What schedules depend on.
struct ScanProblem {
  ScanIteration iteration;
  VectorAccesses accesses;
  VectorAccesses ofHeld = {};  // where rows can be held
  VectorAccesses ofSpans = {}; // where rows can be spans

  double sample(Expr size, int64_t dim) const {
    return double(getSampledValue(size, dim));
  }
  Estimate estimate(StepOp step, const Target &target,
                    ReduceScheduleAttr schedule, int64_t dim) const;
  Estimate estimateParts(StepOp step, const Target &target,
                         ReduceScheduleAttr schedule, int64_t dim) const;
  Estimate estimateHeld(StepOp step, const Target &target,
                        ReduceScheduleAttr schedule, int64_t dim) const;
  int64_t getHeldBytes(int64_t threads) const;
  SmallVector<ReduceScheduleAttr>
  getSchedules(MLIRContext *context, int64_t vector, int64_t bits) const;
  SmallVector<ReduceScheduleAttr>
  getSchedulesOfParts(MLIRContext *context, int64_t vector, int64_t bits) const;
  SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                       bool isAligned, int64_t bits,
                                       int64_t dim) const;
};
} // namespace

/// Threads of a multiprocessor at a time. A thread has a tile of columns in
/// registers, of which there are 64 K.
static double getResidentThreads(const Target &target,
                                 ReduceScheduleAttr schedule) {
  double threads = schedule.getThreads(),
         registers = target.scan.tileRegisters + target.scan.itemRegisters *
                                                     scanSteps *
                                                     schedule.getVector();
  if (!schedule.isOfColumns())
    return target.threads;
  return std::min(target.threads / threads,
                  std::floor(65536 / (registers * threads))) *
         threads;
}

Estimate ScanProblem::estimate(StepOp step, const Target &target,
                               ReduceScheduleAttr schedule, int64_t dim) const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  StepBytes bytes = getStepBytesAt(step, dim);
  Overlap time(target);
  double together = schedule.getThreadsTogether(),
         rows = sample(space[0] * space[2], dim),
         length = sample(space[1], dim),
         perTile = together * scanSteps *
                   (schedule.isOfColumns() ? 1 : schedule.getVector()),
         atOnce = schedule.getRowsAtOnce(),
         resident = getResidentThreads(target, schedule) *
                    target.multiprocessors / double(schedule.getThreads()),
         turns = std::ceil(std::ceil(rows / atOnce) / resident),
         // Of columns, sums of groups meet one after another.
      meeting = target.reduce.blockClocks +
                target.reduce.treeClocks *
                    (schedule.isOfColumns() ? together * schedule.getVector()
                                            : std::log2(together)),
         latency = turns * std::ceil(length / perTile) *
                   (target.rates.memoryLatency + meeting) /
                   (target.rates.clock * 1e3);
  addPlacing(time, target, std::ceil(rows / atOnce), schedule.getBlocks());
  double access = getElementBytes(iteration.program[iteration.operand].type) *
                  schedule.getVector();
  addExposed(time, target,
             (bytes.read + bytes.written) /
                 getStreamingRate(target, std::min(16.0, access)),
             latency);
  return time.get();
}

/// Bytes of registers that a thread keeps of a part: items, and along rows of
/// each vector its sum and what lies before it.
static int64_t getKeptBytes(const ScanIteration &iteration,
                            ReduceScheduleAttr schedule) {
  auto getBytes = [&](unsigned node) {
    return int64_t(getElementBytes(iteration.program[node].type));
  };
  constexpr int64_t registerBytes = 4;
  int64_t items = std::max(registerBytes,
                           getBytes(iteration.item) * schedule.getVector()),
          sum = std::max(registerBytes, getBytes(iteration.operand));
  return schedule.getKept() * (items + (schedule.isOfColumns() ? 0 : 2 * sum));
}
/// One of 512 threads has half of the registers a thread: 24 single halves and
/// their sums spilled. Of columns two blocks of 256 then fit on a
/// multiprocessor.
static int64_t getMostKeptBytes(ReduceScheduleAttr schedule) {
  if (schedule.isOfColumns())
    return 256;
  return schedule.getThreads() > 256 ? 264 : 384;
}

/// Of a row in words: with more, fewer blocks are there to wait for another.
static constexpr int64_t mostKeptInWords = 192;

Estimate ScanProblem::estimateParts(StepOp step, const Target &target,
                                    ReduceScheduleAttr schedule,
                                    int64_t dim) const {
  StepBytes bytes = getStepBytesAt(step, dim);
  Overlap time(target);
  int64_t strips = getSampledValue(getStrips(iteration, schedule), dim);
  ScanFields fields(strips, int(iteration.parts->count));
  double threads = schedule.getThreads(), parts = iteration.parts->count,
         blocks = parts * double(strips),
         registers = target.scan.registers +
                     double(getKeptBytes(iteration, schedule)) / 4,
         together = std::clamp(std::floor(65536 / (registers * threads)), 1.0,
                               target.threads / threads),
         resident = target.multiprocessors * (areTiles(iteration, schedule)
                                                  ? double(columnTilesTogether)
                                                  : together),
         waves = std::max(1.0, blocks / resident),
         // Half of all parts come before one.
      others = std::ceil(parts / 2 / schedule.getThreadsTogether() / 8);
  bool inWords = getFlagWords(iteration, schedule).has_value();
  double clocks = 2 * target.rates.memoryLatency + target.reduce.blockClocks +
                  (inWords ? 2 * target.rates.l2Latency
                           : schedule.getGroups() * target.reduce.treeClocks +
                                 (2 + others) * target.rates.l2Latency);
  double element = getElementBytes(iteration.program[iteration.operand].type),
         access = element * schedule.getVector(), waste = 1;
  // Strips of less than what comes from memory together are read in parts.
  if (schedule.isOfColumns())
    waste = std::max(
        1.0, target.stream.fetchedBytes /
                 (element *
                  double(std::min(
                      schedule.getRowsAtOnce(),
                      int64_t(sample(iteration.program.getSizes()[2], dim))))));
  addPlacing(time, target, blocks, 0);
  time.expose(target.scan.flagMicros);
  if (!inWords)
    time.add(TimeBound::Latency, (fields.turns - 1) * target.scan.turnMicros);
  // A multiprocessor moves no more than its share.
  double busy = std::min(1.0, blocks / target.multiprocessors);
  addExposed(time, target,
             (bytes.read + bytes.written) * waste / busy /
                 getStreamingRate(target, std::min(16.0, access)),
             waves * clocks / (target.rates.clock * 1e3));
  return time.get();
}

/// What a kernel has of shared memory without asking for more.
static constexpr int64_t mostHeldBytes = 48 << 10;

/// Of shared memory that a block of so many threads has, a row for each; 0
/// where rows cannot be held: their length is not known, or too much.
int64_t ScanProblem::getHeldBytes(int64_t threads) const {
  std::optional<int64_t> length = iteration.program.getSizes()[1].getConstant();
  if (iteration.parts || !iteration.isAlongRows() || !length || *length < 2)
    return 0;
  Type sum = getElementType(CumSumOp(iteration.op).getResult());
  int64_t bytes =
      threads * *length * std::max<int64_t>(4, getElementBytes(sum));
  return bytes <= mostHeldBytes ? bytes : 0;
}
/// Of blocks that hold rows; the first hold the shortest alone.
static constexpr int64_t heldThreads[] = {128, 64};

Estimate ScanProblem::estimateHeld(StepOp step, const Target &target,
                                   ReduceScheduleAttr schedule,
                                   int64_t dim) const {
  ArrayRef<Expr> space = iteration.program.getSizes();
  StepBytes bytes = getStepBytesAt(step, dim);
  Overlap time(target);
  double threads = schedule.getThreads(), rows = sample(space[0], dim),
         length = sample(space[1], dim), blocks = std::ceil(rows / threads),
         resident = std::clamp(
             std::floor(target.scan.heldBytes /
                        double(getHeldBytes(schedule.getThreads()) + 1024)),
             1.0, target.threads / threads),
         waves = std::max(1.0, blocks / resident / target.multiprocessors),
         // Rows that begin in the same banks wait for one another; an item is
         // read from shared memory and written there.
      sameBank = double(int64_t(length) & -int64_t(length)),
         clocks = 2 * target.rates.memoryLatency +
                  length * std::max(target.scan.itemClocks,
                                    resident * threads / 32 * 2 *
                                        std::min(sameBank, 32.0));
  addPlacing(time, target, blocks, schedule.getBlocks());
  double access = getElementBytes(iteration.program[iteration.operand].type) *
                  schedule.getVector();
  addExposed(time, target,
             (bytes.read + bytes.written) /
                 getStreamingRate(target, std::min(16.0, access)),
             waves * clocks / (target.rates.clock * 1e3));
  return time.get();
}

/// Of blocks that sum along a row.
static constexpr int64_t rowThreads[] = {256, 128, 512};

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
                                 int64_t bits) const {
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
    bool inWords = getFlagWords(iteration, schedule).has_value();
    if (inWords && schedule.isOfColumns() && !isLineWide(iteration, schedule))
      return;
    int64_t most = inWords && !schedule.isOfColumns()
                       ? mostKeptInWords
                       : getMostKeptBytes(schedule);
    if (getKeptBytes(iteration, schedule) <= most)
      schedules.push_back(schedule);
  };
  if (iteration.isAlongRows()) {
    for (int64_t threads : {128, 256, 512})
      add(ReduceScope::Block, threads, vector, 1);
    return schedules;
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
  auto append = [&](const Candidate &candidate) {
    auto schedule = cast<ReduceScheduleAttr>(candidate.schedule);
    if (int64_t resident = getScanResident(iteration, target.scan, schedule))
      candidates.push_back(
          {schedule.withResident(resident), candidate.estimate});
    candidates.push_back(candidate);
  };
  if (iteration.parts) {
    // Parts are as long as vectors in registers allow, wherever these begin.
    if (iteration.isAlongRows())
      vector = accesses.width;
    for (ReduceScheduleAttr schedule :
         getSchedulesOfParts(context, vector, bits))
      append({schedule, estimateParts(step, target, schedule, dim)});
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
  for (int64_t threads : heldThreads)
    if (getHeldBytes(threads))
      add(ReduceScheduleAttr::get(context, ReduceScope::Thread, threads, bits,
                                  isAligned ? ofHeld.width : 1));
  if (isAligned && ofSpans.width > 1)
    for (int64_t threads : rowThreads)
      add(ReduceScheduleAttr::get(context, ReduceScope::Block, threads, bits,
                                  ofSpans.width));
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
    return makeVariant(context, guards, candidates, typicalDim,
                       getFirstFast(candidates));
  };
  IndexWidth width = getIndexWidth(step);
  SmallVector<BufferOp> aligned = problem->accesses.aligned;
  for (const VectorAccesses *more : {&problem->ofHeld, &problem->ofSpans})
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
