// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rows the integers of a model's inputs stand for.

#include "compiler/Compiler.h"
#include "compiler/analysis/IndexRanges.h"
#include "gtest/gtest.h"

using namespace fusec;

namespace {
/// The ranges of the only input, ids of the type: "[begin, end) x columns",
/// before and after everything that rewrites models. `body` computes %r, a
/// tensor of the type `result`.
std::string find(const std::string &ids, const std::string &body,
                 const std::string &result) {
  std::string text = "fusec.model @main inputs [\"ids\"] outputs [\"r\"] {\n"
                     "^bb0(%ids: " +
                     ids + "):\n" + body + "fusec.output %r : " + result +
                     "\n}";
  auto compilation = llvm::cantFail(Compilation::parse(text, CompileOptions()));
  auto print = [&] {
    std::string printed;
    auto ranges = findIndexRanges(compilation->getModel());
    for (const format::IndexRange &range : ranges.at(0))
      printed += (printed.empty() ? "" : ", ") + std::string("[") +
                 std::to_string(range.begin) + ", " +
                 std::to_string(range.end) + ") x " +
                 std::to_string(range.columns);
    return printed;
  };
  std::string before = print();
  llvm::cantFail(compilation->advance(Stage::Fused));
  EXPECT_EQ(print(), before) << "by fusions";
  return before;
}

// A table of `rows` rows of four columns, a resource as large ones are.
std::string table(const std::string &name, int rows) {
  return "%" + name + " = fusec.constant dense<\"0x" +
         [&] {
           std::string hex;
           for (int i = 0; i != rows * 4; ++i)
             hex += (i % 2 ? "0000803F" : "00000040");
           return hex;
         }() +
         "\"> : tensor<" + std::to_string(rows) + "x4xf32>\n";
}

std::string gather(const std::string &to, const std::string &name, int rows,
                   const std::string &index, int count) {
  std::string n = std::to_string(count);
  return "%b" + to + " = fusec.broadcast %" + index + " [0] : tensor<" + n +
         "xi64> to tensor<" + n + "x4xi64>\n%" + to + " = fusec.gather %" +
         name + " [-1, 1] (%b" + to + ") flag : (tensor<" +
         std::to_string(rows) + "x4xf32>, tensor<" + n + "x4xi64>) -> tensor<" +
         n + "x4xf32>\n";
}
} // namespace

TEST(IndexRanges, OneTable) {
  EXPECT_EQ(find("tensor<8xi64>",
                 table("t", 50) + gather("r", "t", 50, "ids", 8),
                 "tensor<8x4xf32>"),
            "[0, 50) x 0");
}

TEST(IndexRanges, TheSmallestTableCounts) {
  EXPECT_EQ(find("tensor<8xi64>",
                 table("t", 50) + table("u", 20) +
                     gather("a", "t", 50, "ids", 8) +
                     gather("b", "u", 20, "ids", 8) +
                     "%r = fusec.add %a, %b : tensor<8x4xf32>\n",
                 "tensor<8x4xf32>"),
            "[0, 20) x 0");
}

TEST(IndexRanges, ConversionsAndShifts) {
  EXPECT_EQ(find("tensor<8xi32>",
                 table("t", 50) +
                     "%c = fusec.cast %ids : tensor<8xi32> to tensor<8xi64>\n"
                     "%s = fusec.splat 10 : i64 : tensor<8xi64>\n"
                     "%i = fusec.add %c, %s : tensor<8xi64>\n" +
                     gather("r", "t", 50, "i", 8),
                 "tensor<8x4xf32>"),
            "[0, 40) x 0");
  EXPECT_EQ(find("tensor<8xi64>",
                 table("t", 50) +
                     "%s = fusec.splat 3 : i64 : tensor<8xi64>\n"
                     "%i = fusec.sub %ids, %s : tensor<8xi64>\n" +
                     gather("r", "t", 50, "i", 8),
                 "tensor<8x4xf32>"),
            "[3, 53) x 0");
}

// A remainder of anything has a row; those below the divisor reach all.
TEST(IndexRanges, Remainders) {
  EXPECT_EQ(find("tensor<8xi64>",
                 table("t", 50) +
                     "%s = fusec.splat 1 : i64 : tensor<8xi64>\n"
                     "%i = fusec.add %ids, %s : tensor<8xi64>\n"
                     "%n = fusec.splat 40 : i64 : tensor<8xi64>\n"
                     "%m = fusec.mod %i, %n : tensor<8xi64>\n" +
                     gather("r", "t", 50, "m", 8),
                 "tensor<8x4xf32>"),
            "[0, 40) x 0");
}

TEST(IndexRanges, Clips) {
  EXPECT_EQ(find("tensor<8xi64>",
                 table("t", 50) +
                     "%a = fusec.splat 2 : i64 : tensor<8xi64>\n"
                     "%b = fusec.splat 29 : i64 : tensor<8xi64>\n"
                     "%l = fusec.max %ids, %a : tensor<8xi64>\n"
                     "%i = fusec.min %l, %b : tensor<8xi64>\n" +
                     gather("r", "t", 50, "i", 8),
                 "tensor<8x4xf32>"),
            "[2, 30) x 0");
}

// Each column has a table of its own, whose indices begin at 0.
TEST(IndexRanges, PartsOfOneTable) {
  EXPECT_EQ(
      find("tensor<8x3xi64>",
           table("t", 50) +
               "%o = fusec.constant dense<[0, 10, 15]> : tensor<3xi64>\n"
               "%ob = fusec.broadcast %o [1] : tensor<3xi64> to "
               "tensor<8x3xi64>\n"
               "%i = fusec.add %ids, %ob : tensor<8x3xi64>\n"
               "%b = fusec.broadcast %i [0, 1] : tensor<8x3xi64> to "
               "tensor<8x3x4xi64>\n"
               "%r = fusec.gather %t [-1, 2] (%b) flag : (tensor<50x4xf32>, "
               "tensor<8x3x4xi64>) -> tensor<8x3x4xf32>\n",
           "tensor<8x3x4xf32>"),
      "[0, 10) x 1, [0, 5) x 1, [0, 35) x 1");
}

TEST(IndexRanges, BagsAndLookups) {
  EXPECT_EQ(
      find("tensor<8x5xi64>",
           table("t", 50) + table("u", 20) +
               "%i = fusec.slice %ids offsets [#fusec.expr<0>, "
               "#fusec.expr<0>] steps [1, 1] : tensor<8x5xi64> to "
               "tensor<8x2xi64>\n"
               "%j = fusec.slice %ids offsets [#fusec.expr<0>, "
               "#fusec.expr<2>] steps [1, 1] : tensor<8x5xi64> to "
               "tensor<8x3xi64>\n"
               "%r = fusec.bag sum (%t, %u) at (%i, %j) flag scales [1.0, 1.0] "
               ": "
               "(tensor<50x4xf32>, tensor<20x4xf32>) at (tensor<8x2xi64>, "
               "tensor<8x3xi64>) -> tensor<8x8xf32>\n",
           "tensor<8x8xf32>"),
      "[0, 50) x 2, [0, 20) x 3");
  EXPECT_EQ(find("tensor<8x2xi64>",
                 table("t", 50) + table("u", 20) +
                     "%r = fusec.lookup(%t, %u) at %ids flag : "
                     "(tensor<50x4xf32>, tensor<20x4xf32>, tensor<8x2xi64>) -> "
                     "tensor<8x2x4xf32>\n",
                 "tensor<8x2x4xf32>"),
            "[0, 50) x 1, [0, 20) x 1");
}

// Two columns of one table stay one run, others of the same size do not join.
TEST(IndexRanges, ColumnsThatIndexNothing) {
  EXPECT_EQ(find("tensor<8x3xi64>",
                 table("t", 50) +
                     "%i = fusec.slice %ids offsets [#fusec.expr<0>, "
                     "#fusec.expr<0>] steps [1, 1] : tensor<8x3xi64> to "
                     "tensor<8x2xi64>\n"
                     "%r = fusec.bag sum (%t) at (%i) flag scales [1.0] : "
                     "(tensor<50x4xf32>) at (tensor<8x2xi64>) -> "
                     "tensor<8x4xf32>\n",
                 "tensor<8x4xf32>"),
            "[0, 50) x 2, [0, 0) x 1");
  EXPECT_EQ(find("tensor<8xi64>",
                 "%r = fusec.cast %ids : tensor<8xi64> to tensor<8xf32>\n",
                 "tensor<8xf32>"),
            "");
  EXPECT_EQ(find("tensor<8xi1>",
                 table("t", 50) +
                     "%i = fusec.cast %ids : tensor<8xi1> to tensor<8xi64>\n" +
                     gather("r", "t", 50, "i", 8),
                 "tensor<8x4xf32>"),
            "");
}
