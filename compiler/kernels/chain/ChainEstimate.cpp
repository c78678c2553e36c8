// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/chain/Chain.h"
#include <cmath>

using namespace fusec;

Estimate fusec::estimateChain(const Target &target, const ChainSizes &sizes,
                              ChainScheduleAttr schedule) {
  const ChainCosts &costs = target.chain;
  double rows = schedule.getRows(), threads = schedule.getThreads(),
         perThread = schedule.getPerThread();
  double tiles = std::ceil(sizes.rows / rows);
  double blocks = std::min(tiles, double(schedule.getBlocks()));
  double turns = std::ceil(tiles / blocks);
  double tileRows = std::min(rows, sizes.rows);
  // Of one tile: what its warps issue, and what one thread waits for. Copies of
  // single elements follow one another.
  double issued = 0, code = 0;
  double waited =
      sizes.scatteredPerRow * tileRows / threads * costs.scatteredClocks;
  for (const ChainPhaseSizes &phase : sizes.phases) {
    double sums = std::ceil(tileRows / perThread) * phase.n;
    double rounds = std::ceil(sums / threads), steps = phase.k / 4;
    // A step of four ks: a vector of each row for all lanes, one of weights
    // for each lane, and the FMAs on four units.
    double loads = perThread + 4 * phase.accumulators;
    double math = perThread * phase.accumulators;
    issued += costs.issueClocks * std::ceil(sums / 32) * steps * (loads + math);
    // The FMAs of one sum follow one another, behind loads and conversions.
    waited += rounds * (steps * (costs.stepClocks + costs.fmaClocks * math) +
                        costs.roundClocks) +
              costs.phaseClocks;
    // Code is fetched once; a thread's rows are unrolled.
    code += costs.codePhaseClocks +
            costs.codeSumClocks * perThread * phase.accumulators;
  }
  double perUnit = std::ceil(tiles / target.multiprocessors);
  Overlap time(target);
  time.add(TimeBound::Memory,
           sizes.bytes / (target.rates.memory * 1e3 * costs.memoryPart));
  time.addClocks(TimeBound::Arithmetic, perUnit * issued);
  time.addClocks(TimeBound::Latency,
                 turns * waited + (turns - 1) * target.rates.memoryLatency);
  // Before the first tile all blocks fetch the same code and weights, which L2
  // hands to one after another.
  double filled = std::min(1.0, blocks / target.multiprocessors);
  time.expose(
      costs.startMicros +
      filled * (costs.fillMicros + sizes.copiedBytes * costs.copiedByteMicros));
  time.exposeClocks(code + sizes.scattered / threads * costs.scatteredClocks);
  return time.get();
}
