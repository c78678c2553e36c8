// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans over the arena: what a right plan gives, and which wrong ones are
// found.

#include "EvaluationTest.h"
#include "ir/reference/EvaluatePlan.h"

using namespace fusec;
using namespace fusec::reference;

class Plans : public EvaluationTest {
protected:
  /// Two negations: one of x into buffer `produced`, one of buffer `consumed`
  /// into `output`.
  Tensors runPlan(const std::string &slotBytes, const std::string &buffers,
                  const std::string &produced = "t",
                  const std::string &consumed = "t",
                  const std::string &output = "y") {
    std::string text = R"(
fusec.model @main inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<?x2xf32, #fusec.sizes<[n, 2]>>):
  fusec.output %x : tensor<?x2xf32, #fusec.sizes<[n, 2]>>
}
fusec.plan @sm_80 of @main slots [#fusec.expr<)" +
                       slotBytes + R"(>] {
  fusec.buffer @x input 0 at <0> strides [#fusec.expr<2>, #fusec.expr<1>] : tensor<?x2xf32, #fusec.sizes<[n, 2]>>
  fusec.buffer @y output 0 at <0> strides [#fusec.expr<2>, #fusec.expr<1>] : tensor<?x2xf32, #fusec.sizes<[n, 2]>>
)" + buffers + step("first", "x", produced) +
                       step("second", consumed, output) + "}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << messages << text;
      return {};
    }
    auto result = evaluate(*module->getOps<PlanOp>().begin(),
                           {f32({2, 2}, {1, 2, 3, 4})}, options);
    return succeeded(result) ? result->outputs : Tensors();
  }
  static std::string step(const std::string &name, const std::string &from,
                          const std::string &to) {
    return "fusec.step pointwise \"" + name + "\" inputs [@" + from +
           "] outputs [@" + to + R"(] variants
[#fusec.variant<[], #fusec.pointwise_schedule<threads = 128, vector = 1, indexBits = 32>>] sources [] {
^bb0(%a: tensor<?x2xf32, #fusec.sizes<[n, 2]>>):
  %0 = fusec.neg %a : tensor<?x2xf32, #fusec.sizes<[n, 2]>>
  fusec.yield %0 : tensor<?x2xf32, #fusec.sizes<[n, 2]>>
}
)";
  }
  static std::string slot(const std::string &name, const std::string &offset,
                          const std::string &rowStride) {
    return "fusec.buffer @" + name + " slot 0 at <" + offset +
           "> strides [#fusec.expr<" + rowStride +
           ">, #fusec.expr<1>] : tensor<?x2xf32, #fusec.sizes<[n, 2]>>\n";
  }
};

TEST_F(Plans, RunOverTheArena) {
  Tensors out = runPlan("n * 8", slot("t", "0", "2"));
  ASSERT_EQ(out.size(), 1u) << messages;
  EXPECT_EQ(elements<float>(out[0]), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(Plans, HonourOffsetsAndPitch) {
  Tensors out = runPlan("n * 16 + 4", slot("t", "4", "4"));
  ASSERT_EQ(out.size(), 1u) << messages;
  EXPECT_EQ(elements<float>(out[0]), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(Plans, BuffersStayInTheirSlot) {
  EXPECT_TRUE(runPlan("n * 8 - 1", slot("t", "0", "2")).empty());
  EXPECT_NE(
      messages.find("leaves its memory of 15 bytes: it lies from 0 to 16"),
      std::string::npos)
      << messages;
}

TEST_F(Plans, ReadsFollowWrites) {
  EXPECT_TRUE(
      runPlan("n * 16", slot("t", "0", "2") + slot("u", "n * 8", "2"), "t", "u")
          .empty());
  EXPECT_NE(messages.find("of slot 0 before it is written"), std::string::npos)
      << messages;
}

TEST_F(Plans, StepsDoNotReadWhatTheyWrite) {
  EXPECT_TRUE(runPlan("n * 8 + 4", slot("t", "0", "2") + slot("u", "4", "2"),
                      "t", "t", "u")
                  .empty());
  EXPECT_NE(messages.find("that it also reads or writes elsewhere"),
            std::string::npos)
      << messages;
}

TEST_F(Plans, OutputsAreWritten) {
  EXPECT_TRUE(runPlan("n * 16", slot("t", "0", "2") + slot("u", "n * 8", "2"),
                      "t", "t", "u")
                  .empty());
  EXPECT_NE(messages.find("does not write byte 0 of output 0"),
            std::string::npos)
      << messages;
}

TEST_F(Plans, InputsAreReadOnly) {
  EXPECT_TRUE(runPlan("n * 8", slot("t", "0", "2"), "t", "t", "x").empty());
  EXPECT_NE(messages.find("writes 'x', which is an input or a weight"),
            std::string::npos)
      << messages;
}
