// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/handlers/Handlers.h"

namespace fusec::onnx {

llvm::SmallVector<llvm::ArrayRef<Handler>> getHandlerFamilies() {
  return {getUnaryHandlers(),
          getBinaryHandlers(),
          getVariadicHandlers(),
          getActivationHandlers(),
          getCastHandlers(),
          getConstantHandlers(),
          getReshapeHandlers(),
          getViewHandlers(),
          getSliceHandlers(),
          getGatherHandlers(),
          getReductionHandlers(),
          getMatmulHandlers(),
          getNormalizationHandlers(),
          getBatchNormalizationHandlers(),
          getRotaryHandlers(),
          getQuantizationHandlers(),
          getPadHandlers()};
}

const Handler *findHandler(llvm::StringRef name, int64_t opset) {
  const Handler *best = nullptr;
  for (llvm::ArrayRef<Handler> family : getHandlerFamilies())
    for (const Handler &handler : family)
      if (handler.name == name && handler.sinceVersion <= opset &&
          (!best || handler.sinceVersion > best->sinceVersion))
        best = &handler;
  return best;
}

bool isKnownOperator(llvm::StringRef name) {
  return findHandler(name, newestOpset) != nullptr;
}

std::vector<OperatorDescription> describeOperators() {
  std::vector<OperatorDescription> result;
  for (llvm::ArrayRef<Handler> family : getHandlerFamilies())
    for (const Handler &handler : family)
      result.push_back({handler.name.str(), handler.sinceVersion,
                        toString(handler.types), handler.limits.str()});
  llvm::sort(result, [](auto &a, auto &b) {
    return std::tie(a.name, a.sinceVersion) < std::tie(b.name, b.sinceVersion);
  });
  return result;
}

} // namespace fusec::onnx
