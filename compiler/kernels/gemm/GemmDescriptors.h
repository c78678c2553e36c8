// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the text of a matmul root's kernel says of each tensor: the types and
// initialisers of compiler/kernels/gemm/device/gemm.h and epilogue.h.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_GEMMDESCRIPTORS_H
#define FUSEC_COMPILER_KERNELS_GEMM_GEMMDESCRIPTORS_H

#include "compiler/analysis/MappedMatrix.h"
#include "compiler/codegen/Emitters.h"

namespace fusec {

class GemmDescriptors {
public:
  /// `step`: whose region the iteration is of.
  GemmDescriptors(KernelWriter &writer, StepOp step,
                  const MatmulIteration &iteration)
      : writer(writer), step(step), iteration(iteration),
        context(writer.getContext()) {}

  /// `width`: elements that are read at once, as the plan lists them.
  mlir::FailureOr<Descriptor> matrix(llvm::ArrayRef<MatrixAccess> accesses,
                                     Expr outerSize, Expr k, int64_t width,
                                     CopyAttr copy);
  /// `map`: null for what is read or written by pointer.
  Descriptor operand(const TileOperand &operand, int64_t width,
                     TileMapAttr map);
  Descriptor result(const TileStore &store, int64_t width, TileMapAttr map);

private:
  std::string print(Expr expr) { return writer.print(expr, {}); }
  /// Where a tensor's first element is, the pointer, and how a batch index
  /// moves it. The constant part of the offset is the pointer's: a slice needs
  /// no text of its own.
  struct Address {
    std::string pointer;
    Descriptor batch;
  };
  Address address(BufferOp buffer, bool isConst, Expr offset);
  Descriptor batchMap(Expr offset);
  /// The same of a matrix, whose batches may be ranges of K.
  Address matrixAddress(const MatrixAccess &access, Expr k);
  /// How a row index moves the place of an element.
  Descriptor rowStep(const TileAccess &access);
  Descriptor pointerOperand(const TileOperand &operand, int64_t width);
  /// The descriptor of a tile that moves through a tensor map.
  Descriptor mapped(const Descriptor &descriptor, BufferOp buffer,
                    const TileAccess &access, TileMapAttr map);

  KernelWriter &writer;
  StepOp step;
  const MatmulIteration &iteration;
  mlir::MLIRContext *context;
};

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_GEMMDESCRIPTORS_H
