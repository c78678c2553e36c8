// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the text of a matmul root's kernel says of each tensor: the types and
// initialisers of compiler/device/gemm.h and epilogue.h.

#ifndef FUSEC_COMPILER_CODEGEN_GEMMDESCRIPTORS_H
#define FUSEC_COMPILER_CODEGEN_GEMMDESCRIPTORS_H

#include "compiler/codegen/Emitters.h"
#include "compiler/codegen/EpilogueMaps.h"

namespace fusec {

class GemmDescriptors {
public:
  /// `step`: whose region the iteration is of.
  GemmDescriptors(KernelWriter &writer, StepOp step, VariantAttr variant,
                  const MatmulIteration &iteration)
      : writer(writer), step(step), variant(variant), iteration(iteration),
        context(writer.getContext()) {}

  mlir::FailureOr<Descriptor> matrix(llvm::ArrayRef<MatrixAccess> accesses,
                                     Expr outerSize, Expr k,
                                     const MatrixCopy &copy);
  Descriptor operand(const TileOperand &operand, const EpilogueMaps &maps);
  Descriptor result(const TileStore &store, const EpilogueMaps &maps);

  /// Bytes that divide the base, the rows' and the batches' offsets of a tile.
  unsigned tileAlignment(BufferOp buffer, const TileAccess &access) {
    return alignment(buffer, {access.batch, access.rowStride});
  }

private:
  std::string print(Expr expr) { return writer.print(expr, {}); }
  unsigned alignment(BufferOp buffer, llvm::ArrayRef<Expr> offsets) {
    return getOffsetAlignment(writer, variant, buffer, offsets);
  }
  /// Where a tensor's first element is, the pointer, and how a batch index
  /// moves it. The constant part of the offset is the pointer's: a slice needs
  /// no text of its own.
  struct Address {
    std::string pointer;
    Descriptor batch;
  };
  Address address(BufferOp buffer, bool isConst, Expr offset);
  Descriptor batchMap(Expr offset);
  Descriptor pointerOperand(const TileOperand &operand);
  /// The descriptor of a tile that moves through a tensor map.
  Descriptor mapped(const Descriptor &descriptor, BufferOp buffer,
                    const MappedTile &tile);

  KernelWriter &writer;
  StepOp step;
  VariantAttr variant;
  const MatmulIteration &iteration;
  mlir::MLIRContext *context;
};

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_GEMMDESCRIPTORS_H
