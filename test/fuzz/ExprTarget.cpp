// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/ExprTarget.h"
#include "compiler/bundle/ConvertExpr.h"
#include "ir/FusecDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "test/fuzz/FuzzTarget.h"

using namespace fusec;

static Expr parse(const std::string &text, mlir::MLIRContext &context) {
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
  auto attribute = mlir::parseAttribute("#fusec.expr<" + text + ">", &context);
  auto expr = llvm::dyn_cast_or_null<ExprAttr>(attribute);
  return expr ? Expr(expr) : Expr();
}

namespace {
/// Values of the leaves: small ones, and sizes at the edge of what fits.
struct Point {
  Expr expr;
  unsigned seed;

  std::optional<int64_t> operator()(Expr leaf) const {
    static constexpr int64_t sizes[] = {1, 2, 3, 7, 64, 4096, INT64_MAX};
    size_t hash = seed;
    if (leaf.getKind() == ExprKind::Symbol)
      for (char c : leaf.getName())
        hash = hash * 31 + static_cast<unsigned char>(c);
    if (leaf.getKind() == ExprKind::Symbol)
      return sizes[hash % (seed < 4 ? 6 : 7)];
    return leaf.getIndex() < 4 ? (seed + leaf.getIndex()) % 4 : 0;
  }
};
} // namespace

/// The manifest's form has the same value wherever both have one.
static void checkConverted(Expr expr) {
  ExprConverter converter;
  auto converted = converter.convert(expr);
  if (mlir::failed(converted))
    return;
  std::vector<std::string> names = converter.getDims();
  std::string unknown;
  if (!format::resolveDims(*converted, names, unknown))
    fuzz::fail("a dimension is not among those collected: " + unknown);
  if (format::toString(*converted).empty())
    fuzz::fail("an expression without text");
  for (unsigned seed = 0; seed < 8; ++seed) {
    Point point{expr, seed};
    std::vector<int64_t> dims;
    for (const std::string &name : names)
      dims.push_back(*point(Expr::symbol(expr.getContext(), name)));
    auto inFile = format::evaluate(*converted, dims.data());
    auto value = expr.evaluate(point);
    if (inFile && value && *inFile != *value)
      fuzz::fail("another value in the manifest: " + expr.str() + ": " +
                 std::to_string(*value) + ", " + std::to_string(*inFile));
  }
}

/// What ranges say holds for every point within them.
static void checkRanges(Expr expr) {
  mlir::MLIRContext *context = expr.getContext();
  // Point gives every index less than 4.
  llvm::SmallVector<Expr> sizes(4, Expr::constant(context, 4));
  ExprRanges ranges(sizes);
  Expr simple = ranges.simplify(expr);
  std::optional<int64_t> low = ranges.lowerBound(expr),
                         high = ranges.upperBound(expr);
  for (unsigned seed = 0; seed < 8; ++seed) {
    Point point{expr, seed};
    std::optional<int64_t> value = expr.evaluate(point),
                           after = simple.evaluate(point);
    if (!value)
      continue;
    if ((low && *value < *low) || (high && *value > *high))
      fuzz::fail("a bound does not hold: " + expr.str());
    if (after && *after != *value)
      fuzz::fail("another value when simplified: " + expr.str() + " became " +
                 simple.str());
  }
}

void fusec::fuzz::readExpr(std::string_view text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<FusecDialect>();
  Expr expr = parse(std::string(text), context);
  if (!expr)
    return;
  std::string printed = expr.str();
  Expr again = parse(printed, context);
  if (!again)
    fail("what was printed is refused: " + printed);
  if (again != expr)
    fail("another expression when read again: " + printed + " became " +
         again.str());
  if (Expr::compare(expr, again) != 0)
    fail("an expression that is not equal to itself: " + printed);
  checkConverted(expr);
  checkRanges(expr);
}
