// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonical forms of expressions, what ranges prove, and random expressions:
// building, replacing and simplifying must not change a value.

#include "ir/Expr.h"
#include "ir/FusecAttributes.h"
#include "ir/FusecDialect.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <random>

using namespace fusec;

namespace {

class ExprTest : public ::testing::Test {
protected:
  ExprTest() { context.loadDialect<FusecDialect>(); }
  Expr c(int64_t value) { return Expr::constant(&context, value); }
  Expr s(const char *name) { return Expr::symbol(&context, name); }
  Expr d(unsigned index) { return Expr::dim(&context, index); }
  Expr parse(const std::string &text) {
    auto attr = mlir::parseAttribute("#fusec.expr<" + text + ">", &context);
    return attr ? Expr(mlir::cast<ExprAttr>(attr)) : Expr();
  }
  mlir::MLIRContext context;
};

TEST_F(ExprTest, SumsAndProductsAreCanonical) {
  Expr a = s("a"), b = s("b");
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ(a * b, b * a);
  EXPECT_EQ((a + b) * (a - b), a * a - b * b);
  EXPECT_EQ(a + a, a * 2);
  EXPECT_EQ(a - a, c(0));
  EXPECT_EQ((a + 3) * 2, a * 2 + 6);
  EXPECT_EQ(a * 0, c(0));
  EXPECT_EQ((a + b + 1) - (b + 1), a);
}

TEST_F(ExprTest, Divisions) {
  Expr a = s("a"), b = s("b");
  EXPECT_EQ((a * 6).floorDiv(c(3)), a * 2);
  EXPECT_EQ((a * 6 + 3).floorDiv(c(3)), a * 2 + 1);
  EXPECT_EQ((a * 6 + 4).floorDiv(c(4)), (a * 3).floorDiv(c(2)) + 1);
  EXPECT_EQ(a.floorDiv(c(2)).floorDiv(c(3)), a.floorDiv(c(6)));
  EXPECT_EQ((a * b).floorDiv(b), a);
  EXPECT_EQ((a * 4).mod(c(4)), c(0));
  EXPECT_EQ(c(-7).floorDiv(c(2)), c(-4));
  EXPECT_EQ(c(-7).mod(c(4)), c(1));
  EXPECT_EQ(c(7).ceilDiv(c(4)), c(2));
  // Splitting an index and putting it together again.
  EXPECT_EQ(a.floorDiv(c(8)) * 8 + a.mod(c(8)), a);
}

TEST_F(ExprTest, Extremes) {
  Expr a = s("a"), b = s("b");
  EXPECT_EQ(Expr::min(a, a + 1), a);
  EXPECT_EQ(Expr::max(a, a + 1), a + 1);
  EXPECT_EQ(Expr::max(a, b), Expr::max(b, a));
}

TEST_F(ExprTest, TextRoundTrip) {
  for (const char *text :
       {"batch * 13 + 4", "(batch + 7) floordiv 8", "a * b + a * 2 - 1",
        "min(a, b)", "max(a, b) * 3", "d0 * 4 + d1", "i0 + d2", "\"a.b\" + 1",
        "a * -1", "(a floordiv 2) * b", "(a floordiv b) * -1", "0", "-5",
        "-9223372036854775807", "a - b", "a * b * -1 + 3",
        "((a + b) floordiv 3) floordiv b"}) {
    Expr expr = parse(text);
    ASSERT_TRUE(expr) << text;
    EXPECT_EQ(parse(expr.str()), expr) << text << " prints as " << expr.str();
  }
}

TEST_F(ExprTest, EvaluationReportsWhatHasNoValue) {
  auto none = [](Expr) { return std::nullopt; };
  EXPECT_FALSE(s("a").evaluate(none));
  auto big = [](Expr) -> std::optional<int64_t> { return INT64_MAX; };
  EXPECT_FALSE((s("a") + 1).evaluate(big));
  EXPECT_FALSE((s("a") * s("a")).evaluate(big));
  auto zero = [](Expr) -> std::optional<int64_t> { return 0; };
  EXPECT_FALSE(c(1).floorDiv(s("a")).evaluate(zero));
  auto lowest = [](Expr leaf) -> std::optional<int64_t> {
    return leaf.getName() == "a" ? INT64_MIN : -1;
  };
  // The quotient is 2^63.
  EXPECT_FALSE(s("a").floorDiv(s("b")).evaluate(lowest));
}

TEST_F(ExprTest, Ranges) {
  Expr batch = s("batch");
  llvm::SmallVector<Expr> sizes = {batch, c(13), c(1)};
  ExprRanges ranges(sizes);
  EXPECT_EQ(ranges.upperBound(d(1)), 12);
  EXPECT_EQ(ranges.lowerBound(d(0) + 2), 2);
  EXPECT_TRUE(ranges.isNonNegative(d(0) * 13 + d(1)));
  EXPECT_FALSE(ranges.isNonNegative(d(0) - d(1)));
  EXPECT_TRUE(ranges.isLess(d(0), batch));
  EXPECT_TRUE(ranges.isLess(d(0) * 13 + d(1), batch * 13));
  EXPECT_FALSE(ranges.isLess(d(0) + 1, batch));
  EXPECT_EQ(ranges.simplify(d(2)), c(0));
  EXPECT_EQ(ranges.simplify(d(1).floorDiv(c(13))), c(0));
  EXPECT_EQ(ranges.simplify((d(0) * 13 + d(1)).floorDiv(c(13))), d(0));
  EXPECT_EQ(ranges.simplify((d(0) * 13 + d(1)).mod(c(13))), d(1));
  EXPECT_EQ(ranges.simplify((d(0) * 26 + d(1)).floorDiv(c(13))), d(0) * 2);
}

/// A random expression, and its value computed beside it without Expr.
class Generator {
public:
  Generator(mlir::MLIRContext &context, unsigned seed)
      : context(context), random(seed) {}

  struct Point {
    llvm::SmallVector<int64_t> symbols, dims;
  };
  /// Mirrors an Expr as a closure over points; nullopt where there is no value.
  struct Pair {
    Expr expr;
    std::function<std::optional<int64_t>(const Point &)> value;
  };

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  Pair make(unsigned depth, unsigned symbols, unsigned dims) {
    if (depth == 0 || pick(0, 5) == 0) {
      switch (pick(0, 2)) {
      case 0: {
        int64_t value = pick(-12, 12);
        return {Expr::constant(&context, value),
                [=](const Point &) { return value; }};
      }
      case 1: {
        unsigned i = pick(0, symbols - 1);
        return {Expr::symbol(&context, std::string(1, 'p' + i)),
                [=](const Point &p) { return p.symbols[i]; }};
      }
      default: {
        unsigned i = pick(0, dims - 1);
        return {Expr::dim(&context, i),
                [=](const Point &p) { return p.dims[i]; }};
      }
      }
    }
    Pair a = make(depth - 1, symbols, dims), b = make(depth - 1, symbols, dims);
    switch (pick(0, 7)) {
    case 0:
    case 1:
      return combine(a.expr + b.expr, a, b,
                     [](int64_t x, int64_t y) { return x + y; });
    case 2:
      return combine(a.expr - b.expr, a, b,
                     [](int64_t x, int64_t y) { return x - y; });
    case 3:
      return combine(a.expr * b.expr, a, b,
                     [](int64_t x, int64_t y) { return x * y; });
    case 4: {
      // Divisors in maps are sizes: positive.
      int64_t divisor = pick(1, 9);
      b = {Expr::constant(&context, divisor),
           [=](const Point &) { return divisor; }};
      return combine(a.expr.floorDiv(b.expr), a, b, floorDivide);
    }
    case 5: {
      int64_t divisor = pick(1, 9);
      b = {Expr::constant(&context, divisor),
           [=](const Point &) { return divisor; }};
      return combine(a.expr.mod(b.expr), a, b, [](int64_t x, int64_t y) {
        return x - y * floorDivide(x, y);
      });
    }
    case 6:
      return combine(Expr::min(a.expr, b.expr), a, b,
                     [](int64_t x, int64_t y) { return std::min(x, y); });
    default: {
      // By a symbol, which may be any positive size here.
      unsigned i = pick(0, symbols - 1);
      b = {Expr::symbol(&context, std::string(1, 'p' + i)),
           [=](const Point &p) { return p.symbols[i]; }};
      return combine(a.expr.floorDiv(b.expr), a, b, floorDivide);
    }
    }
  }

private:
  static int64_t floorDivide(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  }
  template <typename F>
  Pair combine(Expr expr, const Pair &a, const Pair &b, F f) {
    return {expr,
            [x = a.value, y = b.value,
             f](const Point &p) -> std::optional<int64_t> {
              auto u = x(p), v = y(p);
              if (!u || !v)
                return std::nullopt;
              return f(*u, *v);
            }};
  }
  mlir::MLIRContext &context;
  std::mt19937 random;
};

TEST_F(ExprTest, RandomExpressionsKeepTheirValue) {
  Generator generator(context, 1);
  // Dims 0 and 1 have constant sizes, dim 2 that of a symbol, dim 3 a product.
  llvm::SmallVector<Expr> sizes = {c(5), c(1), s("p"), s("q") * 3};
  ExprRanges ranges(sizes);
  for (unsigned i = 0; i < 20000; ++i) {
    auto [expr, value] = generator.make(4, 2, 4);
    Expr simple = ranges.simplify(expr);
    Expr parsed = i % 16 == 0 ? parse(expr.str()) : expr;
    ASSERT_EQ(parsed, expr) << expr.str();
    for (unsigned k = 0; k < 8; ++k) {
      Generator::Point point;
      for (unsigned n = 0; n < 2; ++n)
        point.symbols.push_back(generator.pick(1, 7));
      for (int64_t size :
           {int64_t(5), int64_t(1), point.symbols[0], point.symbols[1] * 3})
        point.dims.push_back(generator.pick(0, size - 1));
      auto bind = [&](Expr leaf) -> std::optional<int64_t> {
        if (leaf.getKind() == ExprKind::Dim)
          return point.dims[leaf.getIndex()];
        return point.symbols[leaf.getName()[0] - 'p'];
      };
      auto expected = value(point);
      ASSERT_TRUE(expected);
      ASSERT_EQ(expr.evaluate(bind), expected) << expr.str();
      ASSERT_EQ(simple.evaluate(bind), expected)
          << expr.str() << " became " << simple.str();
      ASSERT_LE(*expected, ranges.upperBound(expr).value_or(INT64_MAX))
          << expr.str();
      ASSERT_GE(*expected, ranges.lowerBound(expr).value_or(INT64_MIN))
          << expr.str();
    }
  }
}

// Beside dimensions of 2^63 - 1 nothing wraps around; what has no value is
// still an expression.
TEST_F(ExprTest, NumbersAtTheEnds) {
  const int64_t ends[] = {
      INT64_MIN,         INT64_MIN + 1, -1,       0, 1, 2, 6,
      INT64_MAX / 2 + 1, INT64_MAX - 1, INT64_MAX};
  std::mt19937 random(12);
  auto number = [&] { return ends[random() % std::size(ends)]; };
  for (int round = 0; round < 3000; ++round) {
    std::vector<Expr> pool = {s("a"), s("b"), d(0), d(1)};
    std::vector<Expr> sizes = {c(number()), s("a") * number()};
    ExprRanges ranges(sizes);
    for (int i = 0; i < 8; ++i) {
      Expr x = pool[random() % pool.size()];
      Expr y = random() % 2 ? c(number()) : pool[random() % pool.size()];
      if (random() % 4 == 0)
        std::swap(x, y);
      Expr results[] = {x + y,           x - y,          x * y,
                        x.floorDiv(y),   x.mod(y),       x.ceilDiv(y),
                        Expr::min(x, y), Expr::max(x, y)};
      Expr result = ranges.simplify(results[random() % std::size(results)]);
      EXPECT_FALSE(result.str().empty());
      EXPECT_GE(getAlignment(result, 16, number()), 1);
      (void)ranges.isLess(result, x);
      (void)ranges.upperBound(result);
      int64_t a = number(), b = number();
      (void)result.evaluate([&](Expr leaf) -> std::optional<int64_t> {
        return leaf == s("a") || leaf == d(0) ? a : b;
      });
      if (getTerms(result).size() < 8)
        pool.push_back(result);
    }
  }
}

TEST_F(ExprTest, RandomComparisonsAreSound) {
  Generator generator(context, 2);
  llvm::SmallVector<Expr> sizes = {c(5), c(1), s("p"), s("q") * 3};
  ExprRanges ranges(sizes);
  unsigned proved = 0;
  for (unsigned i = 0; i < 20000; ++i) {
    auto a = generator.make(2, 2, 4), b = generator.make(2, 2, 4);
    if (!ranges.isLess(a.expr, b.expr))
      continue;
    ++proved;
    for (unsigned k = 0; k < 16; ++k) {
      Generator::Point point;
      for (unsigned n = 0; n < 2; ++n)
        point.symbols.push_back(generator.pick(1, 7));
      for (int64_t size :
           {int64_t(5), int64_t(1), point.symbols[0], point.symbols[1] * 3})
        point.dims.push_back(generator.pick(0, size - 1));
      ASSERT_LT(*a.value(point), *b.value(point))
          << a.expr.str() << " < " << b.expr.str();
    }
  }
  EXPECT_GT(proved, 100u);
}

} // namespace
