// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose K is split: each k counts once, whichever kernel sums its
// range and however long the last range is. Summands are small integers, so
// that every order of additions has the same bits.

#include "test/host/HostModels.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
/// x times w, whose rows lie along N, then rectified.
std::string plain(int64_t m, int64_t k, int64_t n, const char *type) {
  return llvm::formatv(R"(
fusec.model @main inputs ["x", "w"] outputs ["y"] {{
^bb0(%x: tensor<{0}x{1}x{3}>, %w: tensor<{1}x{2}x{3}>):
  %0 = fusec.matmul %x, %w : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %y = fusec.relu %0 : tensor<{0}x{2}x{3}>
  fusec.output %y : tensor<{0}x{2}x{3}>
})",
                       m, k, n, type)
      .str();
}

/// The same with rows of the weight along K, as PyTorch has them, and a bias.
std::string transposed(int64_t m, int64_t k, int64_t n, const char *type) {
  return llvm::formatv(R"(
fusec.model @main inputs ["x", "w", "b"] outputs ["y"] {{
^bb0(%x: tensor<{0}x{1}x{3}>, %w: tensor<{2}x{1}x{3}>, %b: tensor<{2}x{3}>):
  %t = fusec.transpose %w [1, 0] : tensor<{2}x{1}x{3}> to tensor<{1}x{2}x{3}>
  %0 = fusec.matmul %x, %t : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %1 = fusec.broadcast %b [1] : tensor<{2}x{3}> to tensor<{0}x{2}x{3}>
  %y = fusec.add %0, %1 : tensor<{0}x{2}x{3}>
  fusec.output %y : tensor<{0}x{2}x{3}>
})",
                       m, k, n, type)
      .str();
}

/// Two products of one left operand.
std::string gated(int64_t m, int64_t k, int64_t n, const char *type) {
  return llvm::formatv(R"(
fusec.model @main inputs ["x", "v", "w"] outputs ["y"] {{
^bb0(%x: tensor<{0}x{1}x{3}>, %v: tensor<{1}x{2}x{3}>, %w: tensor<{1}x{2}x{3}>):
  %0 = fusec.matmul %x, %v : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %1 = fusec.matmul %x, %w : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %2 = fusec.relu %0 : tensor<{0}x{2}x{3}>
  %y = fusec.sub %2, %1 : tensor<{0}x{2}x{3}>
  fusec.output %y : tensor<{0}x{2}x{3}>
})",
                       m, k, n, type)
      .str();
}

/// A second segment that is shorter than a range, and lies in one of them.
std::string updated(int64_t m, int64_t k, int64_t n, const char *type) {
  return llvm::formatv(R"(
fusec.model @main inputs ["x", "w", "t", "u"] outputs ["y"] {{
^bb0(%x: tensor<{0}x{1}x{3}>, %w: tensor<{1}x{2}x{3}>, %t: tensor<{0}x20x{3}>, %u: tensor<20x{2}x{3}>):
  %0 = fusec.matmul %x, %w : tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}> to tensor<{0}x{2}x{3}>
  %1 = fusec.matmul %t, %u : tensor<{0}x20x{3}>, tensor<20x{2}x{3}> to tensor<{0}x{2}x{3}>
  %y = fusec.add %0, %1 : tensor<{0}x{2}x{3}>
  fusec.output %y : tensor<{0}x{2}x{3}>
})",
                       m, k, n, type)
      .str();
}

bool isSplit(PlanOp plan) {
  return llvm::any_of(plan.getOps<StepOp>(), [](StepOp step) {
    auto products = step.getBody().front().getOps<ContractionOp>();
    return llvm::any_of(products,
                        [](ContractionOp op) { return !!op.getRanges(); });
  });
}

class LongProducts : public testing::TestWithParam<const char *> {};

TEST_P(LongProducts, CountEachKOnce) {
  PipelineOptions options;
  options.targets = {GetParam()};
  options.joinAlways = true;
  HostModels models(options);
  ASSERT_NO_FATAL_FAILURE(models.prepare());
  int64_t count = 0;
  auto add = [&](const char *form, const std::string &text) {
    ASSERT_NO_FATAL_FAILURE(models.add(
        form + std::to_string(models.size()), text,
        [&](Type) { return ++count * 7919 % 104729 % 5 - 2; },
        [](PlanOp plan) { EXPECT_TRUE(isSplit(plan)); }));
  };
  for (const char *type : {"f16", "f32"}) {
    add("plain", plain(1, 4096, 24, type));
    add("plain", plain(127, 2003, 8, type));
    add("plain", plain(13, 2088, 24, type));
    add("transposed", transposed(7, 4099, 16, type));
    add("transposed", transposed(13, 4104, 1, type));
    add("gated", gated(13, 2056, 16, type));
    add("updated", updated(7, 2050, 16, type));
  }
  ASSERT_FALSE(HasFatalFailure());
  models.check();
}

INSTANTIATE_TEST_SUITE_P(Targets, LongProducts,
                         testing::Values("sm_90a", "sm_80", "ptx"));
} // namespace
