// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the estimates of all kernel families share.

#ifndef FUSEC_COMPILER_SCHEDULE_OVERLAP_H
#define FUSEC_COMPILER_SCHEDULE_OVERLAP_H

#include "compiler/schedule/CostModel.h"

namespace fusec {

/// Clocks from a load to its value: from memory, and from L2.
constexpr double memoryLatency = 900, l2Latency = 500;

/// Parts of a kernel that overlap: the longest is what it takes, after what
/// nothing can hide.
class Overlap {
public:
  explicit Overlap(const Target &target)
      : launch(target.rates.launch),
        clocksPerMicrosecond(target.rates.clock * 1e3) {}
  void add(TimeBound bound, double microseconds) {
    if (microseconds > longest.microseconds)
      longest = {microseconds, bound};
  }
  void addClocks(TimeBound bound, double clocks) {
    add(bound, clocks / clocksPerMicrosecond);
  }
  void expose(double microseconds) { exposed += microseconds; }
  void exposeClocks(double clocks) { exposed += clocks / clocksPerMicrosecond; }
  Estimate get() const {
    TimeBound bound = longest.bound;
    if (longest.microseconds < launch + exposed)
      bound = exposed > launch ? TimeBound::Latency : TimeBound::Launch;
    return {launch + exposed + longest.microseconds, bound};
  }

private:
  double launch, clocksPerMicrosecond, exposed = 0;
  Estimate longest = {0, TimeBound::Launch};
};

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_OVERLAP_H
