// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long a kernel will take: a roofline a kernel, with the costs that decide
// between schedules of one kernel: waves, padding, the latency that too few
// loads in flight leave exposed. Predictions rank candidates and tell a user
// what bounds a kernel; they are not a simulation.

#ifndef FUSEC_COMPILER_SCHEDULE_COSTMODEL_H
#define FUSEC_COMPILER_SCHEDULE_COSTMODEL_H

#include "compiler/schedule/Targets.h"
#include "ir/FusecOps.h"

namespace fusec {

struct Estimate {
  double microseconds;
  TimeBound bound;
};

/// Every element on its own. `bytes`: read and written; `vector`: elements of
/// an access.
Estimate estimatePointwise(const Target &target, double bytes, double elements,
                           PointwiseScheduleAttr schedule);

/// `rows` reductions of `length` elements each.
struct RowSizes {
  double rows, length;
  double bytes;     // read and written by the kernel
  unsigned passes;  // how often a row is walked
  bool alongRow;    // whether neighbours in memory are neighbours of a row
  unsigned element; // bytes of what is read most
};
Estimate estimateReduce(const Target &target, const RowSizes &sizes,
                        ReduceScheduleAttr schedule);

/// Accumulators times K-segments.
struct GemmSizes {
  int64_t m, n, batch;
  llvm::SmallVector<int64_t> k; // a segment
  int64_t accumulators;
  unsigned element;        // bytes of an operand's element
  double bytes;            // read and written by the kernel
  double written;          // of these
  bool wideAlongK = false; // gemv: whether the wide operand's rows lie along K
  bool wideCopies = true;  // mma: whether matrices are read 16 bytes at a time
  unsigned reductions = 0; // of rows, in the epilogue
};
Estimate estimateGemm(const Target &target, const GemmSizes &sizes,
                      GemmScheduleAttr schedule);
/// Microseconds by which a leading product makes the launch longer.
double estimateLead(const Target &target, const GemmSizes &sizes,
                    const GemmSizes &lead, GemmScheduleAttr schedule);

/// Narrow products that follow one another within tiles of rows.
struct ChainPhaseSizes {
  double n, k; // k: of all segments
  double accumulators;
};
struct ChainSizes {
  double rows;
  llvm::SmallVector<ChainPhaseSizes> phases;
  double bytes;       // read and written by the kernel
  double copiedBytes; // to shared memory once a block: weights
  /// Elements that are copied one by one, since rows are not whole words: of
  /// weights, and of a row.
  double scattered, scatteredPerRow;
};
/// Microseconds by which two kernels in a row take less than each alone: from
/// sm_90 on, a short one is placed while the one before drains. Measured on an
/// H200 with pairs of narrow matmuls.
double estimateOverlap(const Target &target);
Estimate estimateChain(const Target &target, const ChainSizes &sizes,
                       ChainScheduleAttr schedule);

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_COSTMODEL_H
