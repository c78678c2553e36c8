// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What integer tensors hold, as far as it can be told when importing: numbers
// and sizes. Exporters compute the shape operands of Reshape, Slice and others
// from Shape; their elements must be known here. The evaluation runs over the
// ops built, so that no handler needs a second form of itself.

#ifndef FUSEC_FRONTENDS_ONNX_KNOWNVALUES_H
#define FUSEC_FRONTENDS_ONNX_KNOWNVALUES_H

#include "ir/FusecOps.h"
#include "llvm/ADT/DenseMap.h"

namespace fusec::onnx {

class KnownValues {
public:
  explicit KnownValues(mlir::Block &block) : block(block) {}

  /// The elements in row-major order, or nothing where one of them is unknown.
  std::optional<llvm::SmallVector<Expr>> get(mlir::Value value);

private:
  /// Looks at the ops that were built since the last time.
  void catchUp();
  void evaluate(mlir::Operation *op);

  mlir::Block &block;
  mlir::Operation *last = nullptr;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Expr>> known;
  int64_t work = 0;
};

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_KNOWNVALUES_H
