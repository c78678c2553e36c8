// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions as people write them: batch * 13 + 4.

#include "ir/Expr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace fusec {

static void printOperand(raw_ostream &os, Expr expr) {
  bool atom =
      expr.getOperands().empty() && !(expr.isConstant() && expr.getValue() < 0);
  if (atom)
    return expr.print(os);
  os << '(';
  expr.print(os);
  os << ')';
}

static bool isPlainName(StringRef name) {
  if (name.empty() ||
      !(isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_'))
    return false;
  if (!llvm::all_of(name, [](char c) {
        return isalnum(static_cast<unsigned char>(c)) || c == '_';
      }))
    return false;
  if (name == "floordiv" || name == "ceildiv" || name == "mod" ||
      name == "min" || name == "max")
    return false;
  // d0 and i0 are iteration indices and indirect terms.
  return !((name[0] == 'd' || name[0] == 'i') && name.size() > 1 &&
           llvm::all_of(name.drop_front(), llvm::isDigit));
}

void Expr::print(raw_ostream &os) const {
  switch (getKind()) {
  case ExprKind::Constant:
    os << getValue();
    return;
  case ExprKind::Symbol:
    if (isPlainName(getName())) {
      os << getName();
    } else {
      os << '"';
      llvm::printEscapedString(getName(), os);
      os << '"';
    }
    return;
  case ExprKind::Dim:
    os << 'd' << getIndex();
    return;
  case ExprKind::Indirect:
    os << 'i' << getIndex();
    return;
  case ExprKind::Add: {
    bool first = true;
    for (Expr term : getOperands()) {
      auto [coefficient, rest] = splitCoefficient(term);
      if (!first && coefficient < 0 && coefficient != INT64_MIN) {
        os << " - ";
        (rest * -coefficient).print(os);
      } else {
        if (!first)
          os << " + ";
        term.print(os);
      }
      first = false;
    }
    return;
  }
  case ExprKind::Mul: {
    // Factors first, the coefficient last: batch * 13.
    ArrayRef<Expr> factors = getOperands();
    bool coefficient = factors[0].isConstant();
    llvm::interleave(
        factors.drop_front(coefficient), os,
        [&](Expr factor) { printOperand(os, factor); }, " * ");
    if (coefficient)
      os << " * " << factors[0].getValue();
    return;
  }
  case ExprKind::FloorDiv:
    printOperand(os, getOperands()[0]);
    os << " floordiv ";
    printOperand(os, getOperands()[1]);
    return;
  case ExprKind::Min:
  case ExprKind::Max:
    os << (getKind() == ExprKind::Min ? "min(" : "max(");
    llvm::interleaveComma(getOperands(), os);
    os << ')';
    return;
  }
}

std::string Expr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

} // namespace fusec
