// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the text of a kernel says of each tensor that an epilogue reads or
// writes: the types and initialisers of compiler/device/epilogue.h.

#ifndef FUSEC_COMPILER_CODEGEN_EPILOGUEDESCRIPTORS_H
#define FUSEC_COMPILER_CODEGEN_EPILOGUEDESCRIPTORS_H

#include "compiler/codegen/Emitters.h"

namespace fusec {

class EpilogueDescriptors {
public:
  /// `step`: whose region the epilogue is of.
  EpilogueDescriptors(KernelWriter &writer, StepOp step,
                      const TileEpilogue &epilogue)
      : writer(writer), step(step), context(writer.getContext()),
        epilogue(epilogue) {}

  /// `width`: elements that are read or written at once, as far as alignment
  /// goes.
  Descriptor operand(const TileOperand &operand, int64_t width);
  Descriptor result(const TileStore &store, int64_t width);

protected:
  std::string print(Expr expr) { return writer.print(expr, {}); }
  /// Where a tensor's first element is, the pointer, and how a batch index
  /// moves it. The constant part of the offset is the pointer's: a slice needs
  /// no text of its own.
  struct Address {
    std::string pointer;
    Descriptor batch;
  };
  Address address(BufferOp buffer, bool isConst, Expr offset);

  KernelWriter &writer;
  StepOp step;
  mlir::MLIRContext *context;

private:
  Descriptor batchMap(Expr offset);
  /// How a row index moves the place of an element.
  Descriptor rowStep(const TileAccess &access);

  const TileEpilogue &epilogue;
};

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_EPILOGUEDESCRIPTORS_H
