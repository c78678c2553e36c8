// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/pointwise/Pointwise.h"
#include <cmath>

using namespace fusec;

Estimate fusec::estimatePointwise(const Target &target, double bytes,
                                  double elements,
                                  PointwiseScheduleAttr schedule) {
  Overlap time(target);
  time.exposeClocks(target.rates.memoryLatency);
  double perElement = elements ? bytes / elements : 0;
  double threads = elements / schedule.getVector();
  double longer =
      addPlacing(time, target, std::ceil(threads / schedule.getThreads()),
                 schedule.getBlocks());
  time.add(
      TimeBound::Memory,
      longer * bytes /
          getStreamingRate(
              target, std::min(16.0, perElement / 2 * schedule.getVector())));
  time.addClocks(TimeBound::Arithmetic,
                 threads * target.pointwise.instructions / issuedThreads /
                     target.multiprocessors);
  return time.get();
}
