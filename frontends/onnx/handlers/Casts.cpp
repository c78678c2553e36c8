// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cast and CastLike.

#include "frontends/onnx/handlers/Handlers.h"

using namespace mlir;

namespace fusec::onnx {

// Both attributes are about 8-bit floats only.
static void ignoreNarrowFloatAttrs(Node &node) {
  if (node.opset >= 19)
    node.ignoreAttr("saturate");
  if (node.opset >= 24)
    node.ignoreAttr("round_mode");
}

static LogicalResult importCast(Node &node) {
  ignoreNarrowFloatAttrs(node);
  if (!node.hasAttr("to"))
    return node.malformed("expected attribute 'to', got none");
  Type type = node.getTypeAttr("to", 0);
  return type ? node.setOutput(0, node.b.cast(node.getInput(0), type))
              : failure();
}

static LogicalResult importCastLike(Node &node) {
  ignoreNarrowFloatAttrs(node);
  return node.setOutput(0, node.b.cast(node.getInput(0), node.getInputType(1)));
}

llvm::ArrayRef<Handler> getCastHandlers() {
  static constexpr Handler handlers[] = {
      {"Cast", 13, 1, 1, 1, Types::Any, importCast,
       "strings, 8-bit and 4-bit types"},
      {"CastLike", 15, 2, 2, 1, Types::Any, importCastLike,
       "strings, 8-bit and 4-bit types"},
  };
  return handlers;
}

} // namespace fusec::onnx
