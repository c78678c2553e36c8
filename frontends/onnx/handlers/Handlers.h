// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of operators: one entry for each form that an operator has had
// since the oldest opset read. Each family lists its own in its file.

#ifndef FUSEC_FRONTENDS_ONNX_HANDLERS_HANDLERS_H
#define FUSEC_FRONTENDS_ONNX_HANDLERS_HANDLERS_H

#include "frontends/onnx/Node.h"

namespace fusec::onnx {

constexpr int anyNumber = -1;

struct Handler {
  llvm::StringRef name;
  int sinceVersion;
  int minInputs, maxInputs; // maxInputs may be anyNumber
  int maxOutputs;
  /// Element types of the first input.
  Types types;
  llvm::LogicalResult (*import)(Node &);
  /// For the documentation: what of the operator is refused.
  llvm::StringRef limits = "";
};

llvm::ArrayRef<Handler> getUnaryHandlers();
llvm::ArrayRef<Handler> getBinaryHandlers();
llvm::ArrayRef<Handler> getVariadicHandlers();
llvm::ArrayRef<Handler> getActivationHandlers();
llvm::ArrayRef<Handler> getCastHandlers();
llvm::ArrayRef<Handler> getConstantHandlers();
llvm::ArrayRef<Handler> getReshapeHandlers();
llvm::ArrayRef<Handler> getViewHandlers();
llvm::ArrayRef<Handler> getSliceHandlers();
llvm::ArrayRef<Handler> getPadHandlers();
llvm::ArrayRef<Handler> getGatherHandlers();
llvm::ArrayRef<Handler> getReductionHandlers();
llvm::ArrayRef<Handler> getMatmulHandlers();
llvm::ArrayRef<Handler> getNormalizationHandlers();
llvm::ArrayRef<Handler> getBatchNormalizationHandlers();
llvm::ArrayRef<Handler> getRotaryHandlers();
llvm::ArrayRef<Handler> getQuantizationHandlers();

/// In which what is composed of several reductions of the first input is
/// computed.
mlir::Type getWideType(Node &node);

/// All families.
llvm::SmallVector<llvm::ArrayRef<Handler>> getHandlerFamilies();

/// The newest form not above the opset; null where the operator has none.
const Handler *findHandler(llvm::StringRef name, int64_t opset);
/// Whether the operator has a handler for any opset.
bool isKnownOperator(llvm::StringRef name);

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_HANDLERS_HANDLERS_H
