// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text round trips, verifiers' messages, index maps and shape rules.

#include "ir/FusecOps.h"
#include "ir/IndexMap.h"
#include "ir/ShapeRules.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace fusec;
using namespace mlir;

namespace {

class OpsTest : public ::testing::Test {
protected:
  OpsTest() {
    context.loadDialect<FusecDialect>();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
    });
  }
  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return parseSourceString<ModuleOp>(text, &context);
  }
  /// A model of the given arguments whose body is `body`.
  OwningOpRef<ModuleOp> model(const std::string &arguments, unsigned count,
                              const std::string &body) {
    std::string names;
    for (unsigned i = 0; i < count; ++i)
      names += (i ? ", \"x" : "\"x") + std::to_string(i) + "\"";
    return parse("fusec.model @m inputs [" + names + "] outputs [] {\n" +
                 (count ? "^bb0(" + arguments + "):\n" : "") + body +
                 "\nfusec.output\n}");
  }
  void expectRefused(const std::string &arguments, unsigned count,
                     const std::string &body, const std::string &message) {
    messages.clear();
    EXPECT_FALSE(model(arguments, count, body)) << body;
    EXPECT_NE(messages.find(message), std::string::npos) << messages;
  }
  /// The only op of the model's body before its output.
  static Operation *last(ModuleOp module) {
    ModelOp model = *module.getOps<ModelOp>().begin();
    return model.getBody().front().getTerminator()->getPrevNode();
  }
  static std::string str(const IndexMap &map) {
    std::string text;
    llvm::raw_string_ostream os(text);
    map.print(os);
    return text;
  }
  MLIRContext context;
  std::string messages;
};

TEST_F(OpsTest, RoundTrip) {
  std::string text = R"(
fusec.model @m inputs ["x", "ids", "t"] outputs ["y"] where [#fusec.constraint<batch = n, "why">] {
^bb0(%x: tensor<?x4xf32, #fusec.sizes<[batch, 4]>>, %ids: tensor<?x2xi64, #fusec.sizes<[batch, 2]>>, %t: tensor<9x4xf32>):
  %c = fusec.constant dense<1.0> : tensor<4xf32>
  %s = fusec.splat 2.0 : f32 : tensor<f32>
  %i = fusec.iota 1 : tensor<?x4xf32, #fusec.sizes<[batch, 4]>>
  %n = fusec.size_value <batch * 4> : tensor<i64>
  %b = fusec.broadcast %c [1] : tensor<4xf32> to tensor<?x4xf32, #fusec.sizes<[batch, 4]>>
  %0 = fusec.add %x, %b : tensor<?x4xf32, #fusec.sizes<[batch, 4]>>
  %1 = fusec.collapse %0 [[0, 1]] : tensor<?x4xf32, #fusec.sizes<[batch, 4]>> to tensor<?xf32, #fusec.sizes<[batch * 4]>>
  %2 = fusec.expand %1 [[0, 1]] : tensor<?xf32, #fusec.sizes<[batch * 4]>> to tensor<?x2xf32, #fusec.sizes<[batch * 2, 2]>>
  %3 = fusec.transpose %2 [1, 0] : tensor<?x2xf32, #fusec.sizes<[batch * 2, 2]>> to tensor<2x?xf32, #fusec.sizes<[2, batch * 2]>>
  %4 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<1>] steps [1, 2] : tensor<?x4xf32, #fusec.sizes<[batch, 4]>> to tensor<?x2xf32, #fusec.sizes<[batch, 2]>>
  %5 = fusec.concat %x, %0 axis 1 : tensor<?x4xf32, #fusec.sizes<[batch, 4]>>, tensor<?x4xf32, #fusec.sizes<[batch, 4]>> to tensor<?x8xf32, #fusec.sizes<[batch, 8]>>
  %6 = fusec.lookup (%t, %t) at %ids clamp : (tensor<9x4xf32>, tensor<9x4xf32>, tensor<?x2xi64, #fusec.sizes<[batch, 2]>>) -> tensor<?x2x4xf32, #fusec.sizes<[batch, 2, 4]>>
  %7 = fusec.gather %t [-1, -1] (%ids) zero : (tensor<9x4xf32>, tensor<?x2xi64, #fusec.sizes<[batch, 2]>>) -> tensor<?x2xf32, #fusec.sizes<[batch, 2]>>
  %8 = fusec.reduce max %0 axes [1] : tensor<?x4xf32, #fusec.sizes<[batch, 4]>> to tensor<?xf32, #fusec.sizes<[batch]>>
  %9 = fusec.arg_reduce min %0 axis 1 last : tensor<?x4xf32, #fusec.sizes<[batch, 4]>> to tensor<?xi64, #fusec.sizes<[batch]>>
  %10 = fusec.matmul %x, %t transposed : tensor<?x4xf32, #fusec.sizes<[batch, 4]>>, tensor<9x4xf32> to tensor<?x9xf32, #fusec.sizes<[batch, 9]>>
  %11 = fusec.less %x, %0 : tensor<?x4xf32, #fusec.sizes<[batch, 4]>>
  %12 = fusec.select %11, %x, %0 : tensor<?x4xi1, #fusec.sizes<[batch, 4]>>, tensor<?x4xf32, #fusec.sizes<[batch, 4]>>
  %13 = fusec.cast %12 : tensor<?x4xf32, #fusec.sizes<[batch, 4]>> to tensor<?x4xbf16, #fusec.sizes<[batch, 4]>>
  fusec.output %13 : tensor<?x4xbf16, #fusec.sizes<[batch, 4]>>
})";
  auto first = parse(text);
  ASSERT_TRUE(first) << messages;
  std::string printed, again;
  llvm::raw_string_ostream(printed) << *first;
  auto second = parse(printed);
  ASSERT_TRUE(second) << messages << printed;
  llvm::raw_string_ostream(again) << *second;
  EXPECT_EQ(printed, again);
}

TEST_F(OpsTest, VerifiersSayWhatTheyExpected) {
  expectRefused("%x: tensor<2x3xf32>, %y: tensor<4x2xf32>", 2,
                "%0 = fusec.matmul %x, %y : tensor<2x3xf32>, tensor<4x2xf32> "
                "to tensor<2x2xf32>",
                "expected equal inner sizes, got 3 and 4");
  expectRefused(
      "%x: tensor<2x3xf32>", 1,
      "%0 = fusec.reduce sum %x axes [2] : tensor<2x3xf32> to tensor<2xf32>",
      "expected distinct axes below rank 2, got axis 2");
  expectRefused(
      "%x: tensor<2x3xf32>", 1,
      "%0 = fusec.transpose %x [0, 0] : tensor<2x3xf32> to tensor<2x3xf32>",
      "expected a permutation of the 2 dimensions");
  expectRefused(
      "%x: tensor<2x3xf32>", 1,
      "%0 = fusec.collapse %x [[1, 0]] : tensor<2x3xf32> to tensor<6xf32>",
      "list the dimensions in order");
  expectRefused("%x: tensor<2x3xf32>", 1,
                "%0 = fusec.expand %x [[0], [1, 2]] : tensor<2x3xf32> to "
                "tensor<2x2x2xf32>",
                "expected an operand of sizes [2, 4]");
  expectRefused("%x: tensor<2x3xf32>", 1,
                "%0 = fusec.slice %x offsets [#fusec.expr<0>, #fusec.expr<2>] "
                "steps [1, 1] : tensor<2x3xf32> to tensor<2x2xf32>",
                "reads index 3 of dimension 1, whose size is 3");
  expectRefused("%x: tensor<2xf32>, %y: tensor<3xf32>", 2,
                "%0 = fusec.concat %x, %y axis 1 : tensor<2xf32>, "
                "tensor<3xf32> to tensor<5xf32>",
                "expected an axis below rank 1, got 1");
  expectRefused(
      "%x: tensor<2xf32>", 1,
      "%0 = fusec.broadcast %x [1] : tensor<2xf32> to tensor<2x3xf32>",
      "expected size 1 or 3 in dimension 0, got 2");
  expectRefused(
      "%x: tensor<2xi1>", 1,
      "%0 = fusec.reduce sum %x axes [0] : tensor<2xi1> to tensor<i1>",
      "expected max or min on bool");
  expectRefused("", 0, "%0 = fusec.splat 1 : i32 : tensor<2xf32>",
                "expected a value of type 'f32', got 'i32'");
  expectRefused("", 0, "%0 = fusec.iota 1 : tensor<2xf32>",
                "expected an axis below rank 1, got 1");
  expectRefused("%x: tensor<?xf32, #fusec.sizes<[a]>>", 1,
                "%0 = fusec.collapse %x [[0]] : tensor<?xf32, "
                "#fusec.sizes<[a]>> to tensor<?xf32, #fusec.sizes<[b]>>",
                "expected result type");
  expectRefused("%x: tensor<?xf32, #fusec.sizes<[3]>>", 1, "",
                "does not agree with the type's shape");
}

TEST_F(OpsTest, OutOfRangeAttributesAreRefused) {
  expectRefused("", 0, "%0 = fusec.iota -1 : tensor<2xf32>", "axis");
  expectRefused(
      "%x: tensor<2xf32>", 1,
      "%0 = fusec.arg_reduce max %x axis -1 : tensor<2xf32> to tensor<i64>",
      "axis");
  expectRefused(
      "%x: tensor<2xf32>, %i: tensor<2xi64>", 2,
      "%0 = fusec.gather %x [-2] (%i) flag : (tensor<2xf32>, tensor<2xi64>) -> "
      "tensor<2xf32>",
      "is neither a result dimension of its size nor an index operand");
  expectRefused(
      "%x: tensor<2xf32>, %i: tensor<2xi64>", 2,
      "%0 = fusec.gather %x [-9223372036854775808] (%i) flag : (tensor<2xf32>, "
      "tensor<2xi64>) -> tensor<2xf32>",
      "is neither a result dimension of its size nor an index operand");
}

TEST_F(OpsTest, IndexMaps) {
  auto mapOf = [&](const std::string &arguments, unsigned count,
                   const std::string &body, unsigned operand) {
    auto module = model(arguments, count, body);
    EXPECT_TRUE(module) << messages;
    return module ? str(cast<IndexedOpInterface>(last(*module))
                            .getOperandMap(operand))
                  : "";
  };
  EXPECT_EQ(
      mapOf(
          "%x: tensor<2x3xf32>", 1,
          "%0 = fusec.transpose %x [1, 0] : tensor<2x3xf32> to tensor<3x2xf32>",
          0),
      "(d1, d0)");
  EXPECT_EQ(
      mapOf(
          "%x: tensor<2x3xf32>", 1,
          "%0 = fusec.collapse %x [[0, 1]] : tensor<2x3xf32> to tensor<6xf32>",
          0),
      "(d0 floordiv 3, d0 - (d0 floordiv 3) * 3)");
  EXPECT_EQ(
      mapOf("%x: tensor<6xf32>", 1,
            "%0 = fusec.expand %x [[0, 1]] : tensor<6xf32> to tensor<2x3xf32>",
            0),
      "(d0 * 3 + d1)");
  EXPECT_EQ(mapOf("%x: tensor<2x3xf32>", 1,
                  "%0 = fusec.reduce sum %x axes [0] : tensor<2x3xf32> to "
                  "tensor<3xf32>",
                  0),
            "(d1, d0)");
  std::string arguments = "%x: tensor<2x3xf32>, %y: tensor<2x4xf32>";
  std::string concat = "%0 = fusec.concat %x, %y axis 1 : tensor<2x3xf32>, "
                       "tensor<2x4xf32> to tensor<2x7xf32>";
  EXPECT_EQ(mapOf(arguments, 2, concat, 0), "(d0, d1) if 0 <= d1 < 3");
  EXPECT_EQ(mapOf(arguments, 2, concat, 1), "(d0, d1 - 3) if 3 <= d1 < 7");
  EXPECT_EQ(mapOf("%x: tensor<9x4xf32>, %i: tensor<5x4xi64>", 2,
                  "%0 = fusec.gather %x [-1, 1] (%i) flag : (tensor<9x4xf32>, "
                  "tensor<5x4xi64>) -> tensor<5x4xf32>",
                  0),
            "(i0, d1)");
  EXPECT_EQ(mapOf("%x: tensor<2x3xf32>, %y: tensor<4x3xf32>", 2,
                  "%0 = fusec.matmul %x, %y transposed : tensor<2x3xf32>, "
                  "tensor<4x3xf32> to tensor<2x4xf32>",
                  1),
            "(d1, d2)");
}

TEST_F(OpsTest, DimCoefficients) {
  auto d = [&](unsigned i) { return Expr::dim(&context, i); };
  Expr n = Expr::symbol(&context, "n");
  EXPECT_EQ(getDimCoefficient(d(0) * n + d(1) * 2 + 5, 0), n);
  EXPECT_EQ(getDimCoefficient(d(0) * n + d(1) * 2 + 5, 1),
            Expr::constant(&context, 2));
  EXPECT_EQ(getDimCoefficient(d(0) + 1, 2), Expr::constant(&context, 0));
  EXPECT_FALSE(getDimCoefficient(d(0).floorDiv(n), 0));
  EXPECT_FALSE(getDimCoefficient(d(0) * d(0), 0));
  EXPECT_EQ(getDimCoefficient(d(0) * d(1), 0), d(1));
}

TEST_F(OpsTest, ComposedMapsCancel) {
  // Splitting [a, b] -> [a * b] and joining again reads at the index itself.
  Expr n = Expr::symbol(&context, "n");
  llvm::SmallVector<Expr> sizes = {n, Expr::constant(&context, 8)};
  Expr joined = Expr::dim(&context, 0) * 8 + Expr::dim(&context, 1);
  IndexMap split;
  split.results = {Expr::dim(&context, 0).floorDiv(Expr::constant(&context, 8)),
                   Expr::dim(&context, 0).mod(Expr::constant(&context, 8))};
  IndexMap map = split.compose({joined}).simplify(ExprRanges(sizes));
  EXPECT_EQ(str(map), "(d0, d1)");
}

} // namespace
