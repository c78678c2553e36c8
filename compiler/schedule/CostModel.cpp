// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates of pointwise kernels, reductions and chains.

#include "compiler/schedule/Overlap.h"
#include <cmath>

using namespace fusec;

/// Bytes a second, of `vector` elements an access: narrow accesses leave fewer
/// bytes in flight.
static double streamingRate(const Target &target, double accessBytes) {
  return target.rates.memory * 1e3 * std::min(1.0, 0.55 + accessBytes / 32);
}

Estimate fusec::estimatePointwise(const Target &target, double bytes,
                                  double elements,
                                  PointwiseScheduleAttr schedule) {
  Overlap time(target);
  time.exposeClocks(memoryLatency);
  double perElement = elements ? bytes / elements : 0;
  time.add(TimeBound::Memory,
           bytes / streamingRate(
                       target,
                       std::min(16.0, perElement / 2 * schedule.getVector())));
  // An index, its bounds and a little arithmetic an access.
  double threads = elements / schedule.getVector();
  time.addClocks(TimeBound::Arithmetic,
                 threads * 40 / 128 / target.multiprocessors);
  return time.get();
}

Estimate fusec::estimateReduce(const Target &target, const RowSizes &sizes,
                               ReduceScheduleAttr schedule) {
  Overlap time(target);
  double threads = schedule.getScope() == ReduceScope::Thread ? 1
                   : schedule.getScope() == ReduceScope::Warp
                       ? 32
                       : schedule.getThreads();
  double resident = double(target.multiprocessors) * target.threads / threads;
  double waves = std::ceil(sizes.rows / resident);
  double vector = schedule.getVector();
  double steps = std::ceil(sizes.length / (threads * vector));
  // Loads of four steps are in flight together; partial results meet in a tree.
  double tree = std::log2(threads) * 30 +
                (schedule.getScope() == ReduceScope::Block ? 100 : 0);
  double walk = std::ceil(steps / 4) * memoryLatency + tree;
  time.addClocks(TimeBound::Latency, waves * sizes.passes * walk);
  // Threads that walk rows of their own touch a sector of 32 bytes each.
  bool scattered = (schedule.getScope() == ReduceScope::Thread) ==
                   (sizes.alongRow && sizes.length > 1);
  double waste =
      scattered ? std::min(32.0 / sizes.element, std::max(sizes.length, 1.0))
                : 1;
  // Later passes mostly hit L2, which is about twice as fast.
  double traffic = sizes.bytes * (1 + 0.5 * (sizes.passes - 1)) *
                   (scattered ? std::max(1.0, waste / 4) : 1);
  time.add(TimeBound::Memory,
           traffic /
               streamingRate(target, std::min(16.0, sizes.element * vector)));
  return time.get();
}

Estimate fusec::estimateChain(const Target &target, const ChainSizes &sizes,
                              ChainScheduleAttr schedule) {
  double rows = schedule.getRows(), threads = schedule.getThreads(),
         perThread = schedule.getPerThread();
  double tiles = std::ceil(sizes.rows / rows);
  double resident =
      std::max(1.0, double(schedule.getBlocks()) / target.multiprocessors);
  double blocks = std::min(tiles, double(schedule.getBlocks()));
  double together =
      std::min(resident, std::ceil(blocks / target.multiprocessors));
  // Of one tile: what its warps issue, and what one thread waits for.
  double issued = 0, waited = 0, code = 0;
  for (const ChainPhaseSizes &phase : sizes.phases) {
    double sums = std::ceil(std::min(rows, sizes.rows) / perThread) * phase.n;
    double rounds = std::ceil(sums / threads), steps = phase.k / 4;
    // A step of four ks: a vector of each row for all lanes, one of weights
    // for each lane, and the FMAs on four units.
    double loads = perThread + 4 * phase.accumulators;
    double math = perThread * phase.accumulators;
    issued += std::ceil(sums / 32) * steps * (loads + math);
    // The FMAs of one sum follow one another, behind loads and conversions;
    // fitted to 2048 rows of 256 - 64 - 16 in fp16 (11 us).
    waited += rounds * (steps * 3 * (12 + 4 * math) + 150) + 40;
    // Code is fetched once, like the weights; a thread's rows are unrolled.
    code += 40 + 40 * perThread * phase.accumulators;
  }
  double perUnit = std::ceil(tiles / target.multiprocessors);
  Overlap time(target);
  time.add(TimeBound::Memory, sizes.bytes / (target.rates.memory * 1e3 * 0.8));
  time.addClocks(TimeBound::Arithmetic, perUnit * issued);
  time.addClocks(TimeBound::Latency,
                 std::ceil(tiles / blocks) * waited +
                     (std::ceil(tiles / blocks) - 1) * memoryLatency);
  // One round trip before the first tile, and the weights of all blocks beside
  // each other.
  time.exposeClocks(memoryLatency + l2Latency + code +
                    together * sizes.copiedBytes / target.rates.l2);
  return time.get();
}
