// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/chain/Chain.h"
#include <cmath>

using namespace fusec;

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
