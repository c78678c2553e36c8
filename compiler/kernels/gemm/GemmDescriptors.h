// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the text of a matmul root's kernel says of each tensor: the types and
// initialisers of compiler/kernels/gemm/device/gemm.h and epilogue.h.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_GEMMDESCRIPTORS_H
#define FUSEC_COMPILER_KERNELS_GEMM_GEMMDESCRIPTORS_H

#include "compiler/analysis/MappedMatrix.h"
#include "compiler/codegen/EpilogueDescriptors.h"

namespace fusec {

class GemmDescriptors : public EpilogueDescriptors {
public:
  /// `step`: whose region the iteration is of.
  GemmDescriptors(KernelWriter &writer, StepOp step,
                  const MatmulIteration &iteration)
      : EpilogueDescriptors(writer, step, iteration), iteration(iteration) {}

  /// `width`: elements that are read at once, as the plan lists them.
  mlir::FailureOr<Descriptor> matrix(llvm::ArrayRef<MatrixAccess> accesses,
                                     Expr outerSize, Expr k, int64_t width,
                                     CopyAttr copy);
  /// `map`: null for what is read or written by pointer.
  Descriptor operand(const TileOperand &operand, int64_t width,
                     TileMapAttr map);
  Descriptor result(const TileStore &store, int64_t width, TileMapAttr map);

private:
  /// The address of a matrix, whose batches may be ranges of K.
  Address matrixAddress(const MatrixAccess &access, Expr k, CopyAttr copy);
  /// The descriptor of a tile that moves through a tensor map.
  Descriptor mapped(const Descriptor &descriptor, BufferOp buffer,
                    const TileAccess &access, TileMapAttr map);

  const MatmulIteration &iteration;
};

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_GEMMDESCRIPTORS_H
