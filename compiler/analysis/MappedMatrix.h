// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices as the copy engine of sm_90 reads them, by tensor map: which ones it
// can read, under which guards, and what their maps say. The scheduler asks,
// the emitter prints.

#ifndef FUSEC_COMPILER_ANALYSIS_MAPPEDMATRIX_H
#define FUSEC_COMPILER_ANALYSIS_MAPPEDMATRIX_H

#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/TensorMapShape.h"
#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_config.h"

namespace fusec {

/// A matrix of rows that lie along K or along the outer axis. In elements.
struct MappedMatrix {
  bool alongK;
  Expr offset, stride;
  /// One stride over all batch dims; nothing where the offset varies with none
  /// of them and there is nothing to add.
  std::optional<Expr> batchStride;
  /// K of the matrix whose ranges the batches are. The kernel adds where they
  /// begin: behind the last must be nothing, not the next row.
  std::optional<Expr> wholeK = {};
};

/// Fails where strides are none that a tensor map can say, whatever the sizes.
mlir::FailureOr<MappedMatrix> analyzeMapped(const MatrixAccess &access,
                                            llvm::ArrayRef<Expr> batchSizes);

/// Adds the conditions on sizes under which base and strides are multiples of
/// 16 bytes; fails where they never are. The alignment of a user's tensor is a
/// guard of its own.
mlir::LogicalResult addMapGuards(const MappedMatrix &matrix, BufferOp buffer,
                                 llvm::SmallVectorImpl<GuardAttr> &guards);

/// Adds the condition under which there is anything to sum over the segments of
/// K; fails where there never is. The kernels that read by tensor map take it
/// for granted: the first product of a tile overwrites the accumulators.
mlir::LogicalResult addDepthGuard(llvm::ArrayRef<Expr> k,
                                  llvm::SmallVectorImpl<GuardAttr> &guards);

/// The map of a matrix of `outer` by `k`.
TensorMapShape getMapShape(const MappedMatrix &matrix, mlir::Type element,
                           Expr outer, Expr k, Expr batch, CopyAttr copy);

/// A tile of the epilogue, an operand or a result, of `m` by `n` elements,
/// whose rows, or columns where it lies along rows, are known to begin at
/// multiples of `alignment` bytes. Fails where the copy engine cannot move it:
/// it moves whole units of 16 bytes.
mlir::FailureOr<MappedMatrix>
analyzeMappedTile(const TileAccess &access, mlir::Type element, Expr m, Expr n,
                  llvm::ArrayRef<Expr> batchSizes, int64_t alignment);
TensorMapShape getTileMapShape(const MappedMatrix &tile, mlir::Type element,
                               Expr m, Expr n, Expr batch, TileMapAttr map);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_MAPPEDMATRIX_H
