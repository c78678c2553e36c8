// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long a kernel will take: a roofline a kernel, with the costs that decide
// between schedules of one kernel: waves, padding, the latency that too few
// loads in flight leave exposed. Predictions rank candidates and tell a user
// what bounds a kernel; they are not a simulation.

#ifndef FUSEC_COMPILER_KERNELS_ESTIMATE_H
#define FUSEC_COMPILER_KERNELS_ESTIMATE_H

#include "compiler/schedule/Targets.h"
#include "ir/FusecOps.h"

namespace fusec {

struct Estimate {
  double microseconds;
  TimeBound bound;
};
/// The fastest schedule's time where named dimensions are each of some sizes;
/// nothing where the region is not of the family's form, or fits on no block.
using Estimates = llvm::SmallVector<std::optional<Estimate>>;

/// The target that the step's plan is named after; `ptx` where there is none of
/// the name.
const Target &getTarget(StepOp step);

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

/// Microseconds by which two kernels in a row take less than each alone: from
/// sm_90 on, a short one is placed while the one before drains. Measured on an
/// H200 with pairs of narrow matmuls.
double estimateOverlap(const Target &target);
/// Bytes a microsecond, of accesses of so many bytes: narrow ones leave fewer
/// in flight.
double getStreamingRate(const Target &target, double accessBytes);
/// Adds what memory takes and what latencies of rows do, which hide one another
/// in part.
void addExposed(Overlap &time, const Target &target, double memory,
                double latency);
/// Exposes a part of what threads that run at once move, of `bytes` in all:
/// nothing that others do hides it.
void exposeFirstTurn(Overlap &time, const Target &target, double bytes);
/// Adds what placing a grid of `blocks` takes under a schedule's limit. Returns
/// by how much longer memory takes where there is more than the limit.
double addPlacing(Overlap &time, const Target &target, double blocks,
                  int64_t limit);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_ESTIMATE_H
