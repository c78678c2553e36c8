// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose rows are reduced in their epilogue, at sizes that no tile
// divides, against the reference.

#include "test/host/HostModels.h"
#include <fmt/core.h>
#include <random>

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
constexpr int64_t rows[] = {1, 7, 13, 127, 1000},
                  columns[] = {1, 7, 13, 64, 100, 128, 256},
                  depths[] = {1, 13, 127};

/// $M, $N and $K stand for sizes, $T for the element type. In all, %l is the
/// product and its bias.
struct Program {
  const char *name, *header, *body;
};
constexpr Program programs[] = {
    {"softmax", R"(outputs ["y"])", R"(
  %m = fusec.reduce max %l axes [1] : tensor<$Mx$Nx$T> to tensor<$Mx$T>
  %0 = fusec.broadcast %m [0] : tensor<$Mx$T> to tensor<$Mx$Nx$T>
  %1 = fusec.sub %l, %0 : tensor<$Mx$Nx$T>
  %2 = fusec.exp %1 : tensor<$Mx$Nx$T>
  %s = fusec.reduce sum %2 axes [1] : tensor<$Mx$Nx$T> to tensor<$Mx$T>
  %3 = fusec.broadcast %s [0] : tensor<$Mx$T> to tensor<$Mx$Nx$T>
  %y = fusec.div %2, %3 : tensor<$Mx$Nx$T>
  fusec.output %y : tensor<$Mx$Nx$T>)"},
    // Three results of each row, one of them an index, and one of each point.
    {"places", R"(outputs ["l", "i", "t"])", R"(
  %i = fusec.arg_reduce max %l axis 1 : tensor<$Mx$Nx$T> to tensor<$Mxi64>
  %s = fusec.reduce sum %l axes [1] : tensor<$Mx$Nx$T> to tensor<$Mx$T>
  %t = fusec.relu %s : tensor<$Mx$T>
  fusec.output %l, %i, %t : tensor<$Mx$Nx$T>, tensor<$Mxi64>, tensor<$Mx$T>)"},
    // The reduction is of a value with other dimensions.
    {"regrouped", R"(outputs ["y"])", R"(
  %0 = fusec.expand %l [[0, 1], [2]] : tensor<$Mx$Nx$T> to tensor<1x$Mx$Nx$T>
  %s = fusec.reduce min %0 axes [2] : tensor<1x$Mx$Nx$T> to tensor<1x$Mx$T>
  %1 = fusec.broadcast %s [0, 1] : tensor<1x$Mx$T> to tensor<1x$Mx$Nx$T>
  %y = fusec.sub %0, %1 : tensor<1x$Mx$Nx$T>
  fusec.output %y : tensor<1x$Mx$Nx$T>)"}};

std::string getText(const Program &program, int64_t m, int64_t n, int64_t k,
                    StringRef type) {
  std::string text = "fusec.model @main inputs [\"x\", \"w\", \"b\"] " +
                     std::string(program.header) + R"( {
^bb0(%x: tensor<$Mx$Kx$T>, %w: tensor<$Kx$Nx$T>, %b: tensor<$Nx$T>):
  %p = fusec.matmul %x, %w : tensor<$Mx$Kx$T>, tensor<$Kx$Nx$T> to tensor<$Mx$Nx$T>
  %c = fusec.broadcast %b [1] : tensor<$Nx$T> to tensor<$Mx$Nx$T>
  %l = fusec.add %p, %c : tensor<$Mx$Nx$T>)" +
                     program.body + "\n}\n";
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    char word = text[++i];
    result += word == 'T'   ? type.str()
              : word == 'M' ? std::to_string(m)
              : word == 'N' ? std::to_string(n)
                            : std::to_string(k);
  }
  return result;
}

/// Small multiples of 1/4: sums of products are exact, and ties are ties.
float getQuarter(std::mt19937 &random) {
  return (int(random() % 17) - 8) / 4.0f;
}

class RowEpilogues : public ::testing::TestWithParam<const char *> {};

TEST_P(RowEpilogues, ComputeWhatTheProgramSays) {
  PipelineOptions options;
  options.targets = {GetParam()};
  options.joinAlways = true;
  HostModels models(options);
  ASSERT_NO_FATAL_FAILURE(models.prepare());
  std::mt19937 random(1);
  unsigned joined = 0;
  for (const Program &program : programs)
    for (int64_t m : rows)
      for (int64_t n : columns) {
        int64_t k = depths[models.size() % std::size(depths)];
        const char *type = models.size() % 2 ? "f16" : "f32";
        ASSERT_NO_FATAL_FAILURE(models.add(
            fmt::format("{} {}x{}x{} {}", program.name, m, n, k, type),
            getText(program, m, n, k, type),
            [&](Type) { return getQuarter(random); },
            [&](PlanOp plan) {
              auto steps = plan.getOps<StepOp>();
              joined += std::distance(steps.begin(), steps.end()) == 1;
            }));
      }
  EXPECT_EQ(joined, models.size());
  models.check();
}

INSTANTIATE_TEST_SUITE_P(Targets, RowEpilogues,
                         ::testing::Values("sm_90a", "ptx"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });
} // namespace
