// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The guards of variants as the library checks them.

#include "compiler/bundle/ManifestBuilder.h"

using namespace mlir;
using namespace fusec;

static format::Condition::Kind getConditionKind(GuardKind kind) {
  using To = format::Condition::Kind;
  switch (kind) {
  case GuardKind::Le:
    return To::Le;
  case GuardKind::Lt:
    return To::Lt;
  case GuardKind::Ge:
    return To::Ge;
  case GuardKind::Gt:
    return To::Gt;
  case GuardKind::Eq:
    return To::Eq;
  case GuardKind::Ne:
    return To::Ne;
  case GuardKind::Aligned:
    break;
  }
  return To::Aligned;
}

LogicalResult
ManifestBuilder::addGuard(GuardAttr guard, StepOp step, const Places &places,
                          std::vector<format::Condition> &conditions) {
  if (guard.getKind() != GuardKind::Aligned) {
    FailureOr<format::Expr> lhs = exprs.convert(guard.getLhs());
    FailureOr<format::Expr> rhs = exprs.convert(guard.getRhs());
    if (failed(lhs) || failed(rhs))
      return step.emitOpError("has a guard that is not about sizes: ") << guard;
    conditions.push_back(format::Condition::compare(
        getConditionKind(guard.getKind()), std::move(*lhs), std::move(*rhs)));
    return success();
  }
  auto it = places.find(guard.getBuffer().getValue());
  std::optional<int64_t> bytes = Expr(guard.getRhs()).getConstant();
  if (it == places.end() || !bytes || *bytes <= 0)
    return step.emitOpError("has a guard on the alignment of no buffer: ")
           << guard;
  const Place &place = it->second;
  // The start of a user's tensor is checked at run time, as all others are
  // aligned to 256 bytes; the offset from it is an expression.
  bool isUsers = place.kind == format::Pointer::Kind::Input ||
                 place.kind == format::Pointer::Kind::Output;
  if (isUsers)
    conditions.push_back(
        format::Condition::aligned(place.kind, place.index, *bytes));
  Expr rest = Expr(BufferOp(place.op).getOffset())
                  .mod(Expr::constant(step.getContext(), *bytes));
  if (rest.isConstant(0))
    return success();
  FailureOr<format::Expr> converted = exprs.convert(rest);
  if (failed(converted))
    return step.emitOpError("has a guard on a buffer without a known place: ")
           << guard;
  conditions.push_back(format::Condition::compare(
      format::Condition::Kind::Eq, std::move(*converted), format::Expr(0)));
  return success();
}

LogicalResult
ManifestBuilder::addGuards(VariantAttr variant, StepOp step,
                           const Places &places,
                           std::vector<format::Condition> &conditions) {
  for (GuardAttr guard : variant.getGuards())
    if (failed(addGuard(guard, step, places, conditions)))
      return failure();
  return success();
}
