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

/// Vectors that a thread takes one after another reach so much of the memory's
/// rate; measured on an H200 with RoPE and other kernels that only stream.
constexpr double strideEfficiency = 0.97;

/// Adds what placing a grid of `blocks` takes under a schedule's limit. Returns
/// by how much longer memory takes where there is more than the limit.
static double addPlacing(Overlap &time, const Target &target, double blocks,
                         int64_t limit) {
  bool strides = limit && blocks > limit;
  time.add(TimeBound::Launch, (strides ? limit : blocks) * target.rates.place);
  return strides ? 1 / strideEfficiency : 1;
}

Estimate fusec::estimatePointwise(const Target &target, double bytes,
                                  double elements,
                                  PointwiseScheduleAttr schedule) {
  Overlap time(target);
  time.exposeClocks(memoryLatency);
  double perElement = elements ? bytes / elements : 0;
  double threads = elements / schedule.getVector();
  double longer =
      addPlacing(time, target, std::ceil(threads / schedule.getThreads()),
                 schedule.getBlocks());
  time.add(TimeBound::Memory,
           longer * bytes /
               streamingRate(target, std::min(16.0, perElement / 2 *
                                                        schedule.getVector())));
  // An index, its bounds and a little arithmetic an access.
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
  // A row of its own keeps whoever reduces it busy, so that striding over rows
  // is as fast as a block each.
  addPlacing(time, target, std::ceil(sizes.rows / schedule.getRowsAtOnce()),
             schedule.getBlocks());
  // Later passes mostly hit L2, which is about twice as fast.
  double traffic = sizes.bytes * (1 + 0.5 * (sizes.passes - 1)) *
                   (scattered ? std::max(1.0, waste / 4) : 1);
  time.add(TimeBound::Memory,
           traffic /
               streamingRate(target, std::min(16.0, sizes.element * vector)));
  return time.get();
}

double fusec::estimateOverlap(const Target &target) {
  return target.major >= 9 ? 1.2 : 0;
}

/// What a thread waits for an element of 1 or 2 bytes that it copies alone, in
/// clocks: such copies follow one another.
constexpr double scatteredClocks = 570;

// Fitted to chains of 8 shapes with 1 to 65536 rows on an H200: 7% off on
// average up to 8192 rows.
Estimate fusec::estimateChain(const Target &target, const ChainSizes &sizes,
                              ChainScheduleAttr schedule) {
  double rows = schedule.getRows(), threads = schedule.getThreads(),
         perThread = schedule.getPerThread();
  double tiles = std::ceil(sizes.rows / rows);
  double blocks = std::min(tiles, double(schedule.getBlocks()));
  double turns = std::ceil(tiles / blocks);
  double tileRows = std::min(rows, sizes.rows);
  // Of one tile: what its warps issue, and what one thread waits for.
  double issued = 0, code = 0;
  double waited = sizes.scatteredPerRow * tileRows / threads * scatteredClocks;
  for (const ChainPhaseSizes &phase : sizes.phases) {
    double sums = std::ceil(tileRows / perThread) * phase.n;
    double rounds = std::ceil(sums / threads), steps = phase.k / 4;
    // A step of four ks: a vector of each row for all lanes, one of weights
    // for each lane, and the FMAs on four units.
    double loads = perThread + 4 * phase.accumulators;
    double math = perThread * phase.accumulators;
    issued += 1.3 * std::ceil(sums / 32) * steps * (loads + math);
    // The FMAs of one sum follow one another, behind loads and conversions.
    waited += rounds * (steps * 3 * (12 + 4 * math) + 150) + 40;
    // Code is fetched once; a thread's rows are unrolled.
    code += 40 + 40 * perThread * phase.accumulators;
  }
  double perUnit = std::ceil(tiles / target.multiprocessors);
  Overlap time(target);
  time.add(TimeBound::Memory, sizes.bytes / (target.rates.memory * 1e3 * 0.8));
  time.addClocks(TimeBound::Arithmetic, perUnit * issued);
  time.addClocks(TimeBound::Latency,
                 turns * waited + (turns - 1) * memoryLatency);
  // Before the first tile all blocks fetch the same code and weights, which L2
  // hands to one after another.
  double filled = std::min(1.0, blocks / target.multiprocessors);
  time.expose(0.4 + filled * (1.3 + sizes.copiedBytes * 2e-5));
  time.exposeClocks(code + sizes.scattered / threads * scatteredClocks);
  return time.get();
}
