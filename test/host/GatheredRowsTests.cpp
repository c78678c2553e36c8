// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that indices name, several of a thread on their way: of indices out of
// range and of those that other rows hold, by each policy.

#include "compiler/kernels/Family.h"
#include "test/host/HostModels.h"
#include <fmt/core.h>

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
/// Vectors of 8, a few more than the device has threads; no multiple of a
/// tile's.
constexpr int64_t points = 270700;

struct Program {
  const char *name, *text;
};
/// $N stands for the number of indices, $P for the policy.
constexpr Program programs[] = {
    {"rows", R"(inputs ["t", "i"] outputs ["y"] {
^bb0(%t: tensor<7x8xf16>, %i: tensor<$Nxi64>):
  %b = fusec.broadcast %i [0] : tensor<$Nxi64> to tensor<$Nx8xi64>
  %g = fusec.gather %t [-1, 1] (%b) $P : (tensor<7x8xf16>, tensor<$Nx8xi64>) -> tensor<$Nx8xf16>
  %y = fusec.relu %g : tensor<$Nx8xf16>
  fusec.output %y : tensor<$Nx8xf16>
})"},
    {"sums of two", R"(inputs ["t", "u", "i", "j"] outputs ["y"] {
^bb0(%t: tensor<7x8xf16>, %u: tensor<9x8xf16>, %i: tensor<$Nxi64>, %j: tensor<$Nxi32>):
  %b = fusec.broadcast %i [0] : tensor<$Nxi64> to tensor<$Nx8xi64>
  %c = fusec.broadcast %j [0] : tensor<$Nxi32> to tensor<$Nx8xi32>
  %g = fusec.gather %t [-1, 1] (%b) $P : (tensor<7x8xf16>, tensor<$Nx8xi64>) -> tensor<$Nx8xf16>
  %h = fusec.gather %u [-1, 1] (%c) $P : (tensor<9x8xf16>, tensor<$Nx8xi32>) -> tensor<$Nx8xf16>
  %y = fusec.add %g, %h : tensor<$Nx8xf16>
  fusec.output %y : tensor<$Nx8xf16>
})"},
    {"indices of rows", R"(inputs ["t", "m", "i"] outputs ["y"] {
^bb0(%t: tensor<7x8xf16>, %m: tensor<6xi64>, %i: tensor<$Nxi64>):
  %n = fusec.gather %m [-1] (%i) $P : (tensor<6xi64>, tensor<$Nxi64>) -> tensor<$Nxi64>
  %b = fusec.broadcast %n [0] : tensor<$Nxi64> to tensor<$Nx8xi64>
  %g = fusec.gather %t [-1, 1] (%b) $P : (tensor<7x8xf16>, tensor<$Nx8xi64>) -> tensor<$Nx8xf16>
  fusec.output %g : tensor<$Nx8xf16>
})"},
    {"tables", R"(inputs ["t", "u", "i", "x"] outputs ["y"] {
^bb0(%t: tensor<7x8xf16>, %u: tensor<5x8xf16>, %i: tensor<$Nx2xi64>, %x: tensor<8xf16>):
  %l = fusec.lookup(%t, %u) at %i $P : (tensor<7x8xf16>, tensor<5x8xf16>, tensor<$Nx2xi64>) -> tensor<$Nx2x8xf16>
  %b = fusec.broadcast %x [2] : tensor<8xf16> to tensor<$Nx2x8xf16>
  %y = fusec.mul %l, %b : tensor<$Nx2x8xf16>
  fusec.output %y : tensor<$Nx2x8xf16>
})"}};

std::string getText(const Program &program, const char *policy) {
  std::string text = std::string("fusec.model @main ") + program.text;
  bool isOfTwo = StringRef(program.name) == "tables";
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;)
      text.replace(at, from.size(), to);
  };
  replace("$N", std::to_string(isOfTwo ? points / 2 : points));
  replace("$P", policy);
  return text;
}

/// Rows are read before any of them is asked whether it exists.
void checkText(PlanOp plan) {
  for (auto step : plan.getOps<StepOp>()) {
    auto kernel = emitKernel(step, cast<VariantAttr>(step.getVariants()[0]),
                             KernelLibrary::symbol);
    ASSERT_TRUE(succeeded(kernel));
    EXPECT_NE(kernel->text.find("fusec::findRow<"), std::string::npos)
        << kernel->text;
  }
}

TEST(GatheredRows, AreWhatIndicesName) {
  PipelineOptions options;
  options.targets = {"sm_90a"};
  HostModels models(options);
  ASSERT_NO_FATAL_FAILURE(models.prepare());
  int64_t count = 0;
  // Some lie outside their table.
  auto next = [&](Type type) -> float {
    ++count;
    return isa<FloatType>(type) ? count % 37 - 9 : count % 23 - 9;
  };
  for (const Program &program : programs)
    for (const char *policy : {"flag", "zero", "clamp"})
      ASSERT_NO_FATAL_FAILURE(
          models.add(fmt::format("{}, {}", program.name, policy),
                     getText(program, policy), next, checkText));
  models.check();
}
} // namespace
