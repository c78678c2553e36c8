// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_GEMM_H
#define FUSEC_COMPILER_KERNELS_GEMM_GEMM_H

#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/Family.h"

namespace fusec {

extern const KernelFamily gemmFamily;

llvm::SmallVector<VariantAttr>
chooseGemmVariants(StepOp step, const Target &target, Products products);
Estimates estimateGemmStep(StepOp step, const Target &target, Products products,
                           llvm::ArrayRef<int64_t> dims);
mlir::FailureOr<KernelSource> emitGemm(StepOp step, VariantAttr variant,
                                       llvm::StringRef symbol);

LaunchAttr getGemmLaunch(StepOp step, VariantAttr variant);

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
  bool farRows = false;    // whether each row of A lies in a page of its own
  bool areRanges = false;  // whether the batch is ranges of K
  /// Where an operand is made: bytes of an element of what it is made of, and
  /// instructions that one takes.
  struct Made {
    bool isRhs;
    double bytes; // of an element in memory
    double instructions = 0;
    bool readsAlongK = false;  // more than the matrix
    bool isConversion = false; // to fp16, and nothing else
  };
  std::optional<Made> made = {};
  /// Bytes that rows begin at multiples of, in the matrix whose rows do best:
  /// up to a line of L2.
  unsigned rowAlignment = 128;
};
Estimate estimateGemm(const Target &target, const GemmSizes &sizes,
                      GemmScheduleAttr schedule);

/// What the cost model knows of a matmul step where named dimensions are `dim`.
GemmSizes getGemmSizes(StepOp step, const Target &target,
                       const MatmulIteration &iteration, int64_t dim);

/// The variant of a matmul `step` with a schedule that computes `leading`, the
/// A of its last segment, in the same launch; behind it, where that needs more
/// guards, the variant itself. Only the latter where that is not possible or
/// not faster.
llvm::SmallVector<VariantAttr> leadVariant(StepOp leading, StepOp step,
                                           VariantAttr variant,
                                           const Target &target,
                                           Products products);

/// Reports each matmul with a constant size beyond `mostExtent`, which no
/// kernel counts; the launch checks sizes that are known later.
mlir::LogicalResult checkExtents(mlir::ModuleOp module);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_GEMM_H
