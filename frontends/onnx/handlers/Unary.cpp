// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of one operand that are one op.

#include "frontends/onnx/handlers/Handlers.h"

using namespace mlir;

namespace fusec::onnx {

template <typename Op> static LogicalResult importUnary(Node &node) {
  return node.setOutput(0, node.b.unary<Op>(node.getInput(0)));
}

// Erf is defined on integers, too: computed on the number, cut to an integer.
static LogicalResult importErf(Node &node) {
  Value x = node.getInput(0);
  Type type = node.getInputType(0);
  if (!isa<FloatType>(type))
    x = node.b.cast(x, node.b.getF64Type());
  return node.setOutput(0, node.b.cast(node.b.unary<ErfOp>(x), type));
}

static LogicalResult importIdentity(Node &node) {
  return node.setOutput(0, node.getInput(0));
}

// Outside training nothing is dropped, whatever the ratio.
static LogicalResult importDropout(Node &node) {
  node.ignoreAttr("seed");
  if (node.hasInput(2)) {
    auto training = node.getKnown(node.getInput(2));
    if (!training || training->size() != 1 || !training->front().isConstant(0))
      return node.unsupported(
          "expected training_mode to be a constant false",
          "export the model for inference, or give --const");
  }
  if (node.wantsOutput(1) &&
      failed(node.setOutput(
          1, node.b.splat(1, node.getInputSizes(0), node.b.getI1Type()))))
    return failure();
  return node.setOutput(0, node.getInput(0));
}

llvm::ArrayRef<Handler> getUnaryHandlers() {
  static constexpr Handler handlers[] = {
      {"Abs", 13, 1, 1, 1, Types::Number, importUnary<AbsOp>},
      {"Ceil", 13, 1, 1, 1, Types::Float, importUnary<CeilOp>},
      {"Cos", 13, 1, 1, 1, Types::Float, importUnary<CosOp>},
      {"Cosh", 13, 1, 1, 1, Types::Float, importUnary<CoshOp>},
      {"Dropout", 13, 1, 3, 2, Types::Float, importDropout,
       "training_mode other than a constant false"},
      {"Erf", 13, 1, 1, 1, Types::Number, importErf},
      {"Exp", 13, 1, 1, 1, Types::Float, importUnary<ExpOp>},
      {"Floor", 13, 1, 1, 1, Types::Float, importUnary<FloorOp>},
      {"Identity", 13, 1, 1, 1, Types::Any, importIdentity,
       "sequences and optionals"},
      {"Log", 13, 1, 1, 1, Types::Float, importUnary<LogOp>},
      {"Neg", 13, 1, 1, 1, Types::Number, importUnary<NegOp>},
      {"Not", 13, 1, 1, 1, Types::Bool, importUnary<NotOp>},
      {"Reciprocal", 13, 1, 1, 1, Types::Float, importUnary<ReciprocalOp>},
      {"Relu", 13, 1, 1, 1, Types::Number, importUnary<ReluOp>},
      {"Round", 13, 1, 1, 1, Types::Float, importUnary<RoundOp>},
      {"Sigmoid", 13, 1, 1, 1, Types::Float, importUnary<SigmoidOp>},
      {"Sign", 13, 1, 1, 1, Types::Number, importUnary<SignOp>},
      {"Sin", 13, 1, 1, 1, Types::Float, importUnary<SinOp>},
      {"Sinh", 13, 1, 1, 1, Types::Float, importUnary<SinhOp>},
      {"Softplus", 13, 1, 1, 1, Types::Float, importUnary<SoftplusOp>},
      {"Sqrt", 13, 1, 1, 1, Types::Float, importUnary<SqrtOp>},
      {"Tan", 13, 1, 1, 1, Types::Float, importUnary<TanOp>},
      {"Tanh", 13, 1, 1, 1, Types::Float, importUnary<TanhOp>},
  };
  return handlers;
}

} // namespace fusec::onnx
