// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of two operands with numpy's broadcasting.

#include "frontends/onnx/handlers/Handlers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

static FailureOr<SmallVector<Value>> getOperands(Node &node) {
  if (failed(node.checkSameTypes({0, 1})))
    return failure();
  return node.broadcastInputs({0, 1});
}

template <typename Op> static LogicalResult importBinary(Node &node) {
  auto operands = getOperands(node);
  if (failed(operands))
    return failure();
  return node.setOutput(0, node.b.binary<Op>((*operands)[0], (*operands)[1]));
}

enum class Order { AsGiven, Swapped };

template <typename Op, Order order = Order::AsGiven>
static LogicalResult importCompare(Node &node) {
  auto operands = getOperands(node);
  if (failed(operands))
    return failure();
  Value a = (*operands)[0], b = (*operands)[1];
  if (order == Order::Swapped)
    std::swap(a, b);
  return node.setOutput(0, node.b.compare<Op>(a, b));
}

static LogicalResult importMod(Node &node) {
  bool isFmod = node.getBool("fmod", false);
  if (!isFmod && isa<FloatType>(node.getInputType(0)))
    return node.malformed(fmt::format(
        "expected attribute 'fmod' to be 1 for elements of type {}, got 0",
        toString(node.getInputType(0))));
  return isFmod ? importBinary<RemainderOp>(node) : importBinary<ModOp>(node);
}

/// Whether all elements are integers that fp32 holds exactly.
static bool isExactInFloat(Node &node, Value value) {
  auto known = node.getKnown(value);
  return known && llvm::all_of(*known, [](Expr e) {
           auto number = e.getConstant();
           return number && *number >= -(1 << 24) && *number <= 1 << 24;
         });
}

/// The type in which a power of mixed types is computed: one that holds both.
static Type getPowType(Node &node) {
  Type base = node.getInputType(0), exponent = node.getInputType(1);
  TensorBuilder &b = node.b;
  if (base == exponent)
    return base;
  bool floatBase = isa<FloatType>(base),
       floatExponent = isa<FloatType>(exponent);
  unsigned widest =
      std::max(base.getIntOrFloatBitWidth(), exponent.getIntOrFloatBitWidth());
  if (floatBase && floatExponent)
    return widest == 64 ? b.getF64Type() : b.getF32Type();
  if (floatBase) {
    bool exact = exponent.getIntOrFloatBitWidth() <= 16 ||
                 isExactInFloat(node, node.getInput(1));
    return base.isF64() || !exact ? b.getF64Type() : b.getF32Type();
  }
  if (floatExponent)
    return b.getF64Type();
  return b.getI64Type();
}

static LogicalResult importPow(Node &node) {
  if (failed(node.checkTypes(1, Types::Number)))
    return failure();
  Type type = getPowType(node);
  auto operands = node.broadcastInputs({0, 1});
  if (failed(operands))
    return failure();
  Value power = node.b.binary<PowOp>(node.b.cast((*operands)[0], type),
                                     node.b.cast((*operands)[1], type));
  return node.setOutput(0, node.b.cast(power, node.getInputType(0)));
}

static LogicalResult importPRelu(Node &node) {
  if (failed(node.checkSameTypes({0, 1})))
    return failure();
  Value x = node.getInput(0);
  auto slope = node.broadcastInput(1, getSizes(x));
  if (failed(slope))
    return failure();
  Value negative = node.b.compare<LessOp>(x, node.b.splatLike(0, x));
  return node.setOutput(
      0, node.b.select(negative, node.b.binary<MulOp>(x, *slope), x));
}

static LogicalResult importWhere(Node &node) {
  if (failed(node.checkSameTypes({1, 2})))
    return failure();
  auto operands = node.broadcastInputs({0, 1, 2});
  if (failed(operands))
    return failure();
  return node.setOutput(
      0, node.b.select((*operands)[0], (*operands)[1], (*operands)[2]));
}

llvm::ArrayRef<Handler> getBinaryHandlers() {
  static constexpr Handler handlers[] = {
      {"Add", 13, 2, 2, 1, Types::Number, importBinary<AddOp>},
      {"And", 13, 2, 2, 1, Types::Bool, importBinary<AndOp>},
      {"Div", 13, 2, 2, 1, Types::Number, importBinary<DivOp>},
      {"Equal", 13, 2, 2, 1, Types::Any, importCompare<EqualOp>, "strings"},
      {"Greater", 13, 2, 2, 1, Types::Number,
       importCompare<LessOp, Order::Swapped>},
      {"GreaterOrEqual", 13, 2, 2, 1, Types::Number,
       importCompare<LessOrEqualOp, Order::Swapped>},
      {"Less", 13, 2, 2, 1, Types::Number, importCompare<LessOp>},
      {"LessOrEqual", 13, 2, 2, 1, Types::Number, importCompare<LessOrEqualOp>},
      {"Mod", 13, 2, 2, 1, Types::Number, importMod},
      {"Mul", 13, 2, 2, 1, Types::Number, importBinary<MulOp>},
      {"Or", 13, 2, 2, 1, Types::Bool, importBinary<OrOp>},
      {"Pow", 13, 2, 2, 1, Types::Number, importPow},
      {"PRelu", 13, 2, 2, 1, Types::Number, importPRelu},
      {"Sub", 13, 2, 2, 1, Types::Number, importBinary<SubOp>},
      {"Where", 13, 3, 3, 1, Types::Bool, importWhere, "strings"},
      {"Xor", 13, 2, 2, 1, Types::Bool, importBinary<XorOp>},
  };
  return handlers;
}

} // namespace fusec::onnx
