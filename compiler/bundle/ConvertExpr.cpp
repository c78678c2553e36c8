// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/bundle/ConvertExpr.h"

using namespace mlir;
using namespace fusec;

static format::Expr::Op getOp(ExprKind kind) {
  switch (kind) {
  case ExprKind::Mul:
    return format::Expr::Op::Mul;
  case ExprKind::FloorDiv:
    return format::Expr::Op::FloorDiv;
  case ExprKind::Min:
    return format::Expr::Op::Min;
  case ExprKind::Max:
    return format::Expr::Op::Max;
  default:
    return format::Expr::Op::Add;
  }
}

/// Operands of a minimum or maximum, whose operands are often such themselves:
/// one flat list in the manifest.
static SmallVector<Expr> getFlatOperands(Expr expr) {
  ExprKind kind = expr.getKind();
  if (kind != ExprKind::Min && kind != ExprKind::Max)
    return SmallVector<Expr>(expr.getOperands());
  SmallVector<Expr> operands;
  for (Expr operand : expr.getOperands())
    for (Expr part : operand.getKind() == kind ? getFlatOperands(operand)
                                               : SmallVector<Expr>{operand})
      if (!llvm::is_contained(operands, part))
        operands.push_back(part);
  return operands;
}

FailureOr<format::Expr> ExprConverter::convert(Expr expr) {
  switch (expr.getKind()) {
  case ExprKind::Constant:
    return format::Expr::constant(expr.getValue());
  case ExprKind::Symbol:
    dims.insert(expr.getName().str());
    return format::Expr::dim(expr.getName().str());
  case ExprKind::Dim:
  case ExprKind::Indirect:
    return failure();
  default:
    break;
  }
  FailureOr<std::vector<format::Expr>> operands =
      convert(getFlatOperands(expr));
  if (failed(operands))
    return failure();
  return format::Expr::make(getOp(expr.getKind()), std::move(*operands));
}

FailureOr<std::vector<format::Expr>>
ExprConverter::convert(ArrayRef<Expr> exprs) {
  std::vector<format::Expr> result;
  for (Expr expr : exprs) {
    FailureOr<format::Expr> converted = convert(expr);
    if (failed(converted))
      return failure();
    result.push_back(std::move(*converted));
  }
  return result;
}

std::optional<format::DType> fusec::convertElementType(Type type) {
  using format::DType;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return DType::Bool;
  case 8:
    return isUnsigned ? DType::U8 : DType::I8;
  case 16:
    return isUnsigned ? DType::U16 : DType::I16;
  case 32:
    return isUnsigned ? DType::U32 : DType::I32;
  case 64:
    return isUnsigned ? DType::U64 : DType::I64;
  default:
    return std::nullopt;
  }
}
