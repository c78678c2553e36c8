// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activation functions with parameters, by their definitions.

#include "frontends/onnx/handlers/Handlers.h"

using namespace mlir;

namespace fusec::onnx {

namespace {
/// The operand of an activation, with constants of its type and sizes.
struct Activation {
  explicit Activation(Node &node) : b(node.b), x(node.getInput(0)) {}
  TensorBuilder &b;
  Value x;
  Value constant(double value) { return b.splatLike(value, x); }
  Value scaled(Value v, double factor) {
    return factor == 1 ? v : b.binary<MulOp>(v, constant(factor));
  }
  Value shifted(Value v, double offset) {
    return offset == 0 ? v : b.binary<AddOp>(v, constant(offset));
  }
  /// v where x < 0, else w.
  Value whereNegative(Value v, Value w) {
    return b.select(b.compare<LessOp>(x, constant(0)), v, w);
  }
  /// max(0, min(1, v)).
  Value unit(Value v) {
    return b.binary<MaxOp>(constant(0), b.binary<MinOp>(constant(1), v));
  }
};
} // namespace

static LogicalResult importElu(Node &node) {
  Activation a(node);
  Value below = a.scaled(a.b.unary<Expm1Op>(a.x), node.getFloat("alpha", 1.0f));
  return node.setOutput(0, a.whereNegative(below, a.x));
}

static LogicalResult importSelu(Node &node) {
  Activation a(node);
  double alpha = node.getFloat("alpha", 1.67326319217681884765625f);
  double gamma = node.getFloat("gamma", 1.05070102214813232421875f);
  Value below = a.scaled(a.b.unary<Expm1Op>(a.x), alpha);
  return node.setOutput(0, a.scaled(a.whereNegative(below, a.x), gamma));
}

// max(0, x) + min(0, alpha * (exp(x / alpha) - 1))
static LogicalResult importCelu(Node &node) {
  Activation a(node);
  double alpha = node.getFloat("alpha", 1.0f);
  Value ratio = alpha == 1 ? a.x : a.b.binary<DivOp>(a.x, a.constant(alpha));
  Value below = a.scaled(a.b.unary<Expm1Op>(ratio), alpha);
  below = a.b.binary<MinOp>(a.constant(0), below);
  return node.setOutput(0, a.b.binary<AddOp>(a.b.unary<ReluOp>(a.x), below));
}

static LogicalResult importLeakyRelu(Node &node) {
  Activation a(node);
  return node.setOutput(
      0, a.whereNegative(a.scaled(a.x, node.getFloat("alpha", 0.01f)), a.x));
}

static LogicalResult importHardSigmoid(Node &node) {
  Activation a(node);
  double alpha = node.getFloat("alpha", 0.2f),
         beta = node.getFloat("beta", 0.5f);
  return node.setOutput(0, a.unit(a.shifted(a.scaled(a.x, alpha), beta)));
}

static LogicalResult importHardSwish(Node &node) {
  Activation a(node);
  Value gate = a.unit(a.shifted(a.scaled(a.x, 1.0 / 6), 0.5));
  return node.setOutput(0, a.b.binary<MulOp>(a.x, gate));
}

static LogicalResult importThresholdedRelu(Node &node) {
  Activation a(node);
  Value threshold = a.constant(node.getFloat("alpha", 1.0f));
  Value above = a.b.compare<LessOp>(threshold, a.x);
  return node.setOutput(0, a.b.select(above, a.x, a.constant(0)));
}

static LogicalResult importShrink(Node &node) {
  Activation a(node);
  Value bias = a.constant(node.getFloat("bias", 0.0f));
  Value lambda = a.constant(node.getFloat("lambd", 0.5f));
  Value below = a.b.compare<LessOp>(a.x, a.b.unary<NegOp>(lambda));
  Value above = a.b.compare<LessOp>(lambda, a.x);
  Value result = a.b.select(above, a.b.binary<SubOp>(a.x, bias), a.constant(0));
  return node.setOutput(
      0, a.b.select(below, a.b.binary<AddOp>(a.x, bias), result));
}

static LogicalResult importSoftsign(Node &node) {
  Activation a(node);
  Value divisor = a.shifted(a.b.unary<AbsOp>(a.x), 1);
  return node.setOutput(0, a.b.binary<DivOp>(a.x, divisor));
}

static LogicalResult importMish(Node &node) {
  Activation a(node);
  Value gate = a.b.unary<TanhOp>(a.b.unary<SoftplusOp>(a.x));
  return node.setOutput(0, a.b.binary<MulOp>(a.x, gate));
}

static LogicalResult importGelu(Node &node) {
  Activation a(node);
  std::string approximate = node.getString("approximate", "none");
  if (approximate == "tanh")
    return node.setOutput(0, a.b.unary<GeluTanhOp>(a.x));
  if (approximate != "none")
    return node.malformed(
        "expected attribute 'approximate' to be 'none' or 'tanh', got " +
        quoted(approximate));
  return node.setOutput(0, a.b.unary<GeluOp>(a.x));
}

static LogicalResult importSwish(Node &node) {
  Activation a(node);
  double alpha = node.getFloat("alpha", 1.0f);
  if (alpha == 1)
    return node.setOutput(0, a.b.unary<SiluOp>(a.x));
  Value gate = a.b.unary<SigmoidOp>(a.scaled(a.x, alpha));
  return node.setOutput(0, a.b.binary<MulOp>(a.x, gate));
}

llvm::ArrayRef<Handler> getActivationHandlers() {
  static constexpr Handler handlers[] = {
      {"Celu", 13, 1, 1, 1, Types::Float, importCelu},
      {"Elu", 13, 1, 1, 1, Types::Float, importElu},
      {"Gelu", 20, 1, 1, 1, Types::Float, importGelu},
      {"HardSigmoid", 13, 1, 1, 1, Types::Float, importHardSigmoid},
      {"HardSwish", 14, 1, 1, 1, Types::Float, importHardSwish},
      {"LeakyRelu", 13, 1, 1, 1, Types::Float, importLeakyRelu},
      {"Mish", 18, 1, 1, 1, Types::Float, importMish},
      {"Selu", 13, 1, 1, 1, Types::Float, importSelu},
      {"Shrink", 13, 1, 1, 1, Types::Number, importShrink},
      {"Softsign", 13, 1, 1, 1, Types::Float, importSoftsign},
      {"Swish", 24, 1, 1, 1, Types::Float, importSwish},
      {"ThresholdedRelu", 13, 1, 1, 1, Types::Float, importThresholdedRelu},
  };
  return handlers;
}

} // namespace fusec::onnx
