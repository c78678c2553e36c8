// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Max, Mean, Min and Sum of any number of operands, and Clip.

#include "frontends/onnx/handlers/Handlers.h"

using namespace mlir;

namespace fusec::onnx {

template <typename Op> static FailureOr<Value> combineInputs(Node &node) {
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq(0u, node.getNumInputs()));
  if (failed(node.checkSameTypes(all)))
    return failure();
  auto operands = node.broadcastInputs(all);
  if (failed(operands))
    return failure();
  Value result = (*operands)[0];
  for (Value operand : llvm::drop_begin(*operands))
    result = node.b.binary<Op>(result, operand);
  return result;
}

template <typename Op> static LogicalResult importVariadic(Node &node) {
  auto result = combineInputs<Op>(node);
  return failed(result) ? failure() : node.setOutput(0, *result);
}

static LogicalResult importMean(Node &node) {
  auto sum = combineInputs<AddOp>(node);
  if (failed(sum))
    return failure();
  Value count = node.b.splatLike(node.getNumInputs(), *sum);
  return node.setOutput(0, node.b.binary<DivOp>(*sum, count));
}

static LogicalResult importClip(Node &node) {
  Value result = node.getInput(0);
  if (failed(node.checkSameTypes({0, 1, 2})))
    return failure();
  for (unsigned i : {1, 2}) {
    if (!node.hasInput(i))
      continue;
    // Upstream's tests also pass bounds of one element.
    if (node.getInputRank(i) > 0 &&
        !getElementCount(node.getInputSizes(i), node.b.getContext())
             .isConstant(1))
      return node.malformed("expected a scalar bound, got sizes " +
                            fusec::toString(node.getInputSizes(i)));
    Value bound = node.b.reshape(node.getInput(i), {});
    bound = node.b.broadcastTo(bound, getSizes(result));
    result = i == 1 ? node.b.binary<MaxOp>(result, bound)
                    : node.b.binary<MinOp>(result, bound);
  }
  return node.setOutput(0, result);
}

llvm::ArrayRef<Handler> getVariadicHandlers() {
  static constexpr Handler handlers[] = {
      {"Clip", 13, 1, 3, 1, Types::Number, importClip},
      {"Max", 13, 1, anyNumber, 1, Types::Number, importVariadic<MaxOp>},
      {"Mean", 13, 1, anyNumber, 1, Types::Float, importMean},
      {"Min", 13, 1, anyNumber, 1, Types::Number, importVariadic<MinOp>},
      {"Sum", 13, 1, anyNumber, 1, Types::Float, importVariadic<AddOp>},
  };
  return handlers;
}

} // namespace fusec::onnx
