// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reductions of rows take.

#include "compiler/kernels/reduce/Reduce.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace fusec;

double fusec::getRounds(double steps, double atOnce) {
  double whole = std::floor(steps / atOnce);
  return whole + llvm::popcount(uint64_t(steps - whole * atOnce));
}

void fusec::addBeside(Overlap &time, double power, double memory,
                      double latency, double work) {
  double longest = std::max({memory, latency, work});
  time.add(longest == memory    ? TimeBound::Memory
           : longest == latency ? TimeBound::Latency
                                : TimeBound::Arithmetic,
           std::pow(std::pow(memory, power) + std::pow(latency, power) +
                        std::pow(work, power),
                    1 / power));
}

/// How rows are spread over a device.
namespace {
struct RowPlaces {
  double steps;    // of a thread's accesses along its row, a pass
  double resident; // blocks of a multiprocessor at a time
  double share;    // blocks of one in all
  double waves;    // in which it takes them

  /// By how much more than its share one has, where all begin at once.
  double getUneven() const {
    return share <= resident ? std::ceil(share) / share : 1;
  }
  RowPlaces(const Target &target, const RowSizes &sizes,
            ReduceScheduleAttr schedule);
};
} // namespace

RowPlaces::RowPlaces(const Target &target, const RowSizes &sizes,
                     ReduceScheduleAttr schedule) {
  steps = std::ceil(sizes.length / double(schedule.getThreadsTogether() *
                                          schedule.getVector()));
  resident =
      double(schedule.isOfTeam() ? schedule.getResident()
                                 : getResidentBlocks(target, sizes, schedule));
  // There may be no rows.
  share = std::max(1.0, std::ceil(sizes.rows / schedule.getRowsAtOnce())) *
          schedule.getBlocksTogether() / target.multiprocessors;
  waves = std::max(1.0, share / resident);
  // Blocks that do not fit beside the first ones wait until those have ended;
  // of many waves, each block begins when some other one ends.
  if (waves < target.row.wholeWaves)
    waves = std::ceil(waves);
}

static bool isOfBlocks(ReduceScheduleAttr schedule) {
  return schedule.getScope() == ReduceScope::Block ||
         schedule.getScope() == ReduceScope::Cluster || schedule.isOfTeam();
}

static double getLaneSteps(ReduceScheduleAttr schedule) {
  return std::log2(std::min(double(schedule.getThreadsTogether()), 32.0));
}

/// How many values of lanes, warps and blocks a thread meets, one after
/// another.
static double getMeetings(ReduceScheduleAttr schedule) {
  double meetings = getLaneSteps(schedule);
  if (isOfBlocks(schedule))
    meetings += schedule.getThreads() / 32.0;
  return schedule.getCluster() > 1 ? meetings + double(schedule.getCluster())
                                   : meetings;
}

/// How often a thread asks for loads in a pass, one time after another. What is
/// kept is on its way at once, and read in one pass; else 16 items are.
static double getLoadRounds(ReduceScheduleAttr schedule, double steps) {
  double vector = schedule.getVector();
  return schedule.getKept()
             ? 1
             : getRounds(steps, vector == 1 ? 8 : std::max(1.0, 16 / vector));
}

/// Clocks that a thread of a block waits for what it stores row by row: that
/// may lie where it loads from, so that each step's loads follow the stores of
/// the one before. Of what only stores need those of few items are on their way
/// together, see countStepsAhead(); rows that are walked once more are in L2.
static double getStoreClocks(const Target &target, const RowSizes &sizes,
                             ReduceScheduleAttr schedule, double steps) {
  constexpr double few = 8;
  bool stores = sizes.passes > sizes.reductions;
  if (!isOfBlocks(schedule) || schedule.getAhead())
    return 0;
  if (!schedule.getKept())
    return stores ? steps * target.rates.l2Latency : 0;
  if (!sizes.waitsForStores)
    return 0;
  return (steps * double(schedule.getVector()) > few ? steps : 1) *
         target.rates.memoryLatency;
}

/// Clocks that one row takes where nothing delays it.
static double getRowClocks(const Target &target, const RowSizes &sizes,
                           ReduceScheduleAttr schedule, double steps) {
  const RowCosts &costs = target.row;
  double vector = schedule.getVector(),
         passes = sizes.passes - schedule.getOnline(),
         meeting = getLaneSteps(schedule) * costs.laneClocks;
  // With their places values meet in shared memory as they do in a warp.
  if (isOfBlocks(schedule)) {
    double warps = schedule.getThreads() / 32.0;
    meeting += sizes.findsPlaces ? std::log2(warps) * costs.laneClocks
                                 : warps * costs.warpClocks;
  }
  if (schedule.getCluster() > 1)
    meeting += costs.clusterClocks;
  if (sizes.findsPlaces)
    meeting *= costs.findTimes;
  // Each two that meet take two exponentials, one after another.
  if (schedule.getOnline())
    meeting += getMeetings(schedule) * costs.onlineClocks;
  double loads = getLoadRounds(schedule, steps);
  if (!schedule.getKept())
    loads *= passes;
  return loads * costs.loadClocks +
         getStoreClocks(target, sizes, schedule, steps) +
         (sizes.reductions - schedule.getOnline()) * meeting +
         steps * vector *
             (passes * costs.itemClocks +
              sizes.instructions * costs.instructionClocks);
}

/// What a thread's step has of accesses of 16 bytes, in all passes. Neighbours'
/// single items lie in a line, which is asked for in a quarter of the time; the
/// lanes of a vector that load one by one ask for all of the vectors' lines
/// each.
static double getStepAccesses(const RowSizes &sizes,
                              ReduceScheduleAttr schedule, double passes) {
  constexpr double single = 0.25, access = 16;
  double vector = schedule.getVector();
  if (vector == 1 && (!schedule.getKept() || sharesWarp(schedule)))
    return passes;
  double ofLanes = vector * std::max(sizes.laneLoads * single,
                                     sizes.laneBytes * vector / access);
  return (vector == 1 ? single : 1) * passes + ofLanes;
}

/// Clocks of 128 lanes that a thread takes for a row.
static double getRowThreadClocks(const Target &target, const RowSizes &sizes,
                                 ReduceScheduleAttr schedule, double steps) {
  const RowCosts &costs = target.row;
  double passes = sizes.passes - schedule.getOnline(),
         meeting = getLaneSteps(schedule) * costs.laneStepClocks;
  if (isOfBlocks(schedule))
    meeting += costs.blockStepClocks;
  if (schedule.getCluster() > 1)
    meeting += costs.clusterStepClocks;
  if (sizes.findsPlaces)
    meeting *= costs.findTimes;
  return steps * getStepAccesses(sizes, schedule, passes) * costs.stepClocks +
         steps * schedule.getVector() * sizes.instructions * costs.itemPart +
         (sizes.reductions - schedule.getOnline()) * meeting +
         costs.threadClocks;
}

/// Microseconds that multiprocessors take for threads' accesses in lines of
/// their own, less where lines have several rows: 131072 x 64 in fp16, 131072 x
/// 49 and 1048576 x 16 in fp32.
static double getApartMicros(const Target &target, const RowSizes &sizes,
                             ReduceScheduleAttr schedule) {
  constexpr double line = 128;
  double ofLine = std::min(1.0, sizes.length * sizes.element / line);
  return sizes.rows * sizes.passes *
         std::ceil(sizes.length / schedule.getVector()) * ofLine * ofLine *
         target.row.accessClocks / target.multiprocessors /
         (target.rates.clock * 1e3);
}

/// Whether each thread of a block asks for two vectors of 16 bytes and no more:
/// where a multiprocessor is full of threads these are 64 KB on their way, and
/// the next block begins while they are. Of single ones more time goes by
/// placing blocks, more of them wait for one another.
static bool asksForPair(const RowSizes &sizes, ReduceScheduleAttr schedule,
                        const RowPlaces &places) {
  double loads =
      std::round(sizes.read / (sizes.rows * sizes.length * sizes.element));
  return schedule.getScope() == ReduceScope::Block && !schedule.getKept() &&
         sizes.passes == 1 && schedule.getVector() * sizes.element == 16 &&
         places.steps * loads == 2 && places.waves > 1;
}

/// Bytes that the lanes of a row read in one piece, by single elements, where
/// short rows share a warp: those of its other rows follow them. Means of 7 x 7
/// were said to take 1.12 and 1.21 times what they take, in fp32 and fp16.
static double getPieceOfLanes(const RowSizes &sizes,
                              ReduceScheduleAttr schedule) {
  constexpr double mostOfPiece = 8, shortBytes = 256;
  if (!sharesWarp(schedule) || schedule.getVector() > 1 ||
      sizes.length * sizes.element >= shortBytes)
    return 0;
  return std::min(mostOfPiece,
                  sizes.element * double(schedule.getThreadsTogether()));
}

static double getRowsMemory(const Target &target, const RowSizes &sizes,
                            ReduceScheduleAttr schedule,
                            const RowPlaces &places) {
  double access = sizes.element * schedule.getVector(),
         passes = sizes.passes - schedule.getOnline(),
         again = schedule.getKept() ? 0 : passes - 1,
         traffic = sizes.bytes + sizes.rows * sizes.length * sizes.element *
                                     target.row.laterPass * again;
  bool isThread = schedule.getScope() == ReduceScope::Thread;
  // Threads that walk rows of their own touch sectors in parts.
  if (isThread && access < 16)
    traffic *= std::max(1.0, std::min(32.0 / sizes.element, sizes.length) /
                                 target.reduce.sectorReuse);
  // All that is kept is on its way at once, so that half as wide accesses take
  // 1 to 3% longer and no more.
  if (schedule.getKept() && access == 8 && !sharesWarp(schedule))
    access = 16;
  access = std::max(access, getPieceOfLanes(sizes, schedule));
  double memory = traffic / getStreamingRate(target, std::min(16.0, access));
  if (isThread)
    memory = std::max(memory, getApartMicros(target, sizes, schedule));
  // Clusters of eight that have multiprocessors of their own have 120 of 132.
  constexpr int64_t ofEight = 8;
  if (schedule.getCluster() == ofEight && places.resident == 1)
    memory *= 1.1;
  // Lanes without items have nothing on their way: 1152 halves by 5 vectors of
  // 8 a lane took 26.7 us, by 9 of 4 24.0.
  if (schedule.getKept() && schedule.getScope() == ReduceScope::Warp &&
      !sharesWarp(schedule))
    memory *=
        std::max(1.0, places.steps * double(schedule.getThreadsTogether()) *
                          double(schedule.getVector()) / sizes.length);
  if (asksForPair(sizes, schedule, places))
    memory *= target.row.pairPart;
  // The last rows find a device that others have left.
  if (!sizes.findsPlaces)
    memory *= 1 + target.row.lastPart / places.waves;
  // A multiprocessor moves no more than so much of its share, where others have
  // nothing to do.
  if (places.share > 1)
    memory *= places.getUneven();
  else
    memory *= std::max(1.0, 1 / (target.row.mostOfShare * places.share));
  return memory;
}

/// Microseconds that blocks of teams wait for one another, which nothing hides:
/// for the words and for all to have left, longer where items are walked twice
/// before they meet, and in each turn of those that run together. Of what
/// costly functions of floats take before that nothing is hidden either, unless
/// there is one turn of several blocks a multiprocessor, and others begin late:
/// log-softmax of 64 rows of 262144 took 51.2 us by the schedule by which a
/// norm by squares took 39.9.
static double getTeamMicros(const Target &target, const RowSizes &sizes,
                            ReduceScheduleAttr schedule,
                            const RowPlaces &places) {
  constexpr double once = 0.6, twice = 2.6, cheap = 4, longer = 2.2;
  double items = places.resident *
                 double(schedule.getThreads() * schedule.getKept() *
                        schedule.getVector()),
         costly = sizes.keepsNarrow ? 0 : std::max(0.0, sizes.found - cheap),
         exposed = longer * costly * items / target.rates.issuedThreads /
                   (target.rates.clock * 1e3);
  return (sizes.reductions > 1 ? twice : once) +
         places.waves * target.row.teamMicros *
             (std::log2(double(schedule.getBlocksTogether())) - 2) +
         (places.resident > 1 ? places.waves - 1 : places.waves) * exposed;
}

static Estimate estimateRows(const Target &target, const RowSizes &sizes,
                             ReduceScheduleAttr schedule) {
  const RowCosts &costs = target.row;
  Overlap time(target);
  RowPlaces places(target, sizes, schedule);
  double clocksPerMicro = target.rates.clock * 1e3,
         memory = getRowsMemory(target, sizes, schedule, places),
         latency = places.waves *
                   getRowClocks(target, sizes, schedule, places.steps) /
                   clocksPerMicro,
         work = places.share * places.getUneven() * schedule.getThreads() *
                getRowThreadClocks(target, sizes, schedule, places.steps) /
                target.rates.issuedThreads / clocksPerMicro;
  // While a block alone on its multiprocessor computes, nothing is on its way
  // to that, unless it has asked for more meanwhile; what is stored nobody
  // waits for.
  latency += costs.alonePart * memory * sizes.read /
             std::max(1.0, sizes.bytes) /
             std::max(1.0, std::min(places.resident, places.share)) /
             std::max(1.0, getLoadRounds(schedule, places.steps));
  addPlacing(time, target, places.share * target.multiprocessors,
             schedule.getBlocks());
  time.expose(costs.startMicros);
  if (schedule.isOfTeam())
    time.expose(getTeamMicros(target, sizes, schedule, places));
  addBeside(time, costs.exposed, memory, latency, work);
  Estimate estimate = time.get();
  if (loadsAheadByWarps(schedule))
    estimate.microseconds *=
        sizes.storesByRow ? costs.rowsAheadPart : costs.aheadPart;
  return estimate;
}

/// Until what the memory moves is there, and no more.
static double getLeastMicros(const Target &target, const RowSizes &sizes) {
  return target.rates.launch + target.row.startMicros +
         sizes.bytes / (target.rates.memory * 1e3);
}

double fusec::getReadMicros(const Target &target, const RowSizes &sizes,
                            double micros) {
  constexpr double leastStored = 0.25, someBytes = 3e6;
  if (sizes.bytes - sizes.read >= leastStored * sizes.read)
    return 0;
  double memoryPart = std::min(1.0, getLeastMicros(target, sizes) / micros);
  return target.row.readMicros * std::min(1.0, sizes.read / someBytes) *
         std::pow(memoryPart, 3);
}

double fusec::getShownMicros(const Target &target, const RowSizes &sizes,
                             double micros) {
  double least = getLeastMicros(target, sizes),
         shown = std::max(target.row.shownBytes / std::max(1.0, sizes.bytes),
                          target.row.shownRows / std::max(1.0, sizes.rows));
  return least + std::min(1.0, shown) * (micros - least) +
         getReadMicros(target, sizes, micros);
}

bool fusec::isFollowed(const Target &target, const RowSizes &sizes,
                       ReduceScheduleAttr schedule) {
  RowPlaces places(target, sizes, schedule);
  return places.share * double(schedule.getThreads()) > target.threads;
}

Estimate fusec::estimateReduce(const Target &target, const RowSizes &sizes,
                               ReduceScheduleAttr schedule) {
  return schedule.isOfColumns() ? estimateColumns(target, sizes, schedule)
                                : estimateRows(target, sizes, schedule);
}
