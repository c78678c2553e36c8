// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/KnownArithmetic.h"
#include "frontends/onnx/SizeAgreement.h"
#include "ir/ReferenceScalars.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace fusec::onnx {

bool isSameOnWholeFloats(Operation *op) {
  return isa<AddOp, SubOp, MulOp, MaxOp, MinOp, NegOp, CastOp, FloorOp, CeilOp,
             RoundOp>(op);
}

/// a / b rounded towards zero, where that is an expression.
static std::optional<Expr> divideTruncating(Expr a, Expr b) {
  auto x = a.getConstant(), y = b.getConstant();
  if (x && y)
    return Expr::constant(a.getContext(), reference::intDiv(*x, *y));
  Expr quotient = a.floorDiv(b);
  bool exact = !b.isConstant(0) && quotient * b == a;
  bool positive = y && *y > 0 && isProvedNonNegative(a);
  if (exact || positive)
    return quotient;
  return std::nullopt;
}

std::optional<Expr> fitting(std::optional<Expr> value, Type type) {
  if (!value || isTooLarge(*value))
    return std::nullopt;
  auto constant = value->getConstant();
  if (auto floatType = dyn_cast<FloatType>(type)) {
    // Every whole number below this is a float, so that no rounding happens.
    int64_t limit = int64_t(1) << floatType.getFPMantissaWidth();
    if (!constant || *constant < -limit || *constant > limit)
      return std::nullopt;
  } else if (constant && !type.isInteger(1) &&
             !llvm::isIntN(type.getIntOrFloatBitWidth(), *constant)) {
    return std::nullopt;
  }
  return value;
}

std::optional<Expr> applyBinary(Operation *op, Expr a, Expr b) {
  auto x = a.getConstant(), y = b.getConstant();
  MLIRContext *context = a.getContext();
  auto checked = [&](auto overflows, auto symbolic) -> std::optional<Expr> {
    int64_t result;
    if (!x || !y)
      return symbolic();
    if (overflows(*x, *y, result))
      return std::nullopt;
    return Expr::constant(context, result);
  };
  auto truth = [&](bool value) { return Expr::constant(context, value); };
  ExprRanges ranges({});
  using Result = std::optional<Expr>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<AddOp>([&](auto) {
        return checked(
            [](auto p, auto q, auto &r) { return llvm::AddOverflow(p, q, r); },
            [&] { return Result(a + b); });
      })
      .Case<SubOp>([&](auto) {
        return checked(
            [](auto p, auto q, auto &r) { return llvm::SubOverflow(p, q, r); },
            [&] { return Result(a - b); });
      })
      .Case<MulOp>([&](auto) {
        return checked(
            [](auto p, auto q, auto &r) { return llvm::MulOverflow(p, q, r); },
            [&]() -> Result {
              if (countTerms(a) * countTerms(b) > maxTerms)
                return std::nullopt;
              return a * b;
            });
      })
      .Case<DivOp>([&](auto) { return divideTruncating(a, b); })
      .Case<ModOp, RemainderOp>([&](Operation *) -> Result {
        if (x && y)
          return Expr::constant(context, isa<ModOp>(op)
                                             ? reference::intFloorMod(*x, *y)
                                             : reference::intRemainder(*x, *y));
        if (y && *y > 0 && isProvedNonNegative(a))
          return a.mod(b);
        return std::nullopt;
      })
      .Case<PowOp>([&](auto) -> Result {
        if (x && y)
          return Expr::constant(context, reference::intPow(*x, *y));
        return std::nullopt;
      })
      .Case<MaxOp>([&](auto) { return Result(Expr::max(a, b)); })
      .Case<MinOp>([&](auto) { return Result(Expr::min(a, b)); })
      .Case<EqualOp>([&](auto) -> Result {
        if (a == b)
          return truth(true);
        auto lower = ranges.lowerBound(a - b), upper = ranges.upperBound(a - b);
        if ((lower && *lower > 0) || (upper && *upper < 0))
          return truth(false);
        return std::nullopt;
      })
      .Case<LessOp, LessOrEqualOp>([&](Operation *) -> Result {
        Expr difference = a - b + (isa<LessOp>(op) ? 1 : 0); // true if <= 0
        auto lower = ranges.lowerBound(difference),
             upper = ranges.upperBound(difference);
        if (upper && *upper <= 0)
          return truth(true);
        if (lower && *lower > 0)
          return truth(false);
        return std::nullopt;
      })
      .Case<AndOp>(
          [&](auto) { return x && y ? Result(truth(*x && *y)) : Result(); })
      .Case<OrOp>(
          [&](auto) { return x && y ? Result(truth(*x || *y)) : Result(); })
      .Case<XorOp>(
          [&](auto) { return x && y ? Result(truth(*x != *y)) : Result(); })
      .Default([](auto) { return Result(); });
}

std::optional<Expr> applyUnary(Operation *op, Expr a) {
  auto x = a.getConstant();
  bool nonNegative = isProvedNonNegative(a);
  using Result = std::optional<Expr>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<NegOp>([&](auto) { return Result(a * -1); })
      .Case<AbsOp, ReluOp>([&](Operation *) -> Result {
        if (nonNegative)
          return a;
        if (isa<ReluOp>(op))
          return Expr::max(a, Expr::constant(a.getContext(), 0));
        return Expr::max(a, a * -1);
      })
      .Case<FloorOp, CeilOp, RoundOp>([&](Operation *) { return Result(a); })
      .Case<NotOp>([&](auto) -> Result {
        return x ? Result(Expr::constant(a.getContext(), !*x)) : Result();
      })
      .Case<CastOp>([&](CastOp cast) -> Result {
        if (!getElementType(cast.getResult()).isInteger(1))
          return a;
        return x ? Result(Expr::constant(a.getContext(), *x != 0)) : Result();
      })
      .Default([](auto) { return Result(); });
}

} // namespace fusec::onnx
