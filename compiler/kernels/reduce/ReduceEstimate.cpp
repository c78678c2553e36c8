// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/reduce/Reduce.h"
#include <cmath>

using namespace fusec;

Estimate fusec::estimateReduce(const Target &target, const RowSizes &sizes,
                               ReduceScheduleAttr schedule) {
  const ReduceCosts &costs = target.reduce;
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
  double tree =
      std::log2(threads) * costs.treeClocks +
      (schedule.getScope() == ReduceScope::Block ? costs.blockClocks : 0);
  double walk = std::ceil(steps / 4) * target.rates.memoryLatency + tree;
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
  double traffic = sizes.bytes * (1 + costs.laterPass * (sizes.passes - 1)) *
                   (scattered ? std::max(1.0, waste / costs.sectorReuse) : 1);
  time.add(TimeBound::Memory,
           traffic / getStreamingRate(target,
                                      std::min(16.0, sizes.element * vector)));
  return time.get();
}
