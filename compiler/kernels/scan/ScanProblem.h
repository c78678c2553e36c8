// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What schedules of a cumulative sum depend on.

#ifndef FUSEC_COMPILER_KERNELS_SCAN_SCANPROBLEM_H
#define FUSEC_COMPILER_KERNELS_SCAN_SCANPROBLEM_H

#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/scan/Scan.h"

namespace fusec {

/// What a kernel has of shared memory without asking for more.
inline constexpr int64_t mostHeldBytes = 48 << 10;

struct ScanProblem {
  ScanIteration iteration;
  VectorAccesses accesses;
  VectorAccesses ofHeld = {};  // where rows can be held
  VectorAccesses ofRun = {};   // where parts of columns can be runs
  VectorAccesses ofSpans = {}; // where rows can be spans

  double sample(Expr size, int64_t dim) const {
    return double(getSampledValue(size, dim));
  }
  Estimate estimate(StepOp step, const Target &target,
                    ReduceScheduleAttr schedule, int64_t dim) const;
  Estimate estimateParts(StepOp step, const Target &target,
                         ReduceScheduleAttr schedule, int64_t dim) const;
  Estimate estimateHeld(StepOp step, const Target &target,
                        ReduceScheduleAttr schedule, int64_t dim) const;
  Estimate estimateCluster(StepOp step, const Target &target,
                           ReduceScheduleAttr schedule, int64_t dim) const;
  /// Of what a schedule was chosen by: of many bytes, other blocks hide most of
  /// what one waits for, whichever it has.
  double getShownMicros(StepOp step, const Target &target, double micros,
                        int64_t dim) const;
  double getMemoryMicros(const Target &target, StepBytes bytes,
                         int64_t vector) const;
  int64_t getKeptBytes(ReduceScheduleAttr schedule) const;
  int64_t getHeldBytes(int64_t threads) const;
  llvm::SmallVector<ReduceScheduleAttr>
  getSchedules(mlir::MLIRContext *context, int64_t vector, int64_t bits) const;
  llvm::SmallVector<ReduceScheduleAttr>
  getSchedulesOfClusters(mlir::MLIRContext *context, const Target &target,
                         int64_t vector, int64_t bits) const;
  llvm::SmallVector<ReduceScheduleAttr>
  getSchedulesOfParts(mlir::MLIRContext *context, int64_t vector,
                      bool isAligned, int64_t bits) const;
  int64_t getRunBytes(ReduceScheduleAttr schedule) const;
  llvm::SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                             bool isAligned, int64_t bits,
                                             int64_t dim) const;
};

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_SCAN_SCANPROBLEM_H
