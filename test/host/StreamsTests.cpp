// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lies between matmuls: reductions over leading and middle axes, at odd
// and at even sizes, against the reference.

#include "test/host/HostModels.h"
#include <fmt/core.h>
#include <random>

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
constexpr int64_t sizes[] = {1, 7, 13, 64, 127, 1000};

/// $A, $B and $C stand for sizes, $T for the element type.
struct Program {
  const char *name, *text;
};
constexpr Program programs[] = {{"leading", R"(inputs ["x", "b"] outputs ["y"] {
^bb0(%x: tensor<$Ax$Bx$Cx$T>, %b: tensor<$Cx$T>):
  %s = fusec.reduce sum %x axes [0] : tensor<$Ax$Bx$Cx$T> to tensor<$Bx$Cx$T>
  %c = fusec.broadcast %b [1] : tensor<$Cx$T> to tensor<$Bx$Cx$T>
  %y = fusec.add %s, %c : tensor<$Bx$Cx$T>
  fusec.output %y : tensor<$Bx$Cx$T>
})"},
                                {"middle", R"(inputs ["x"] outputs ["y", "i"] {
^bb0(%x: tensor<$Ax$Bx$Cx$T>):
  %m = fusec.reduce max %x axes [1] : tensor<$Ax$Bx$Cx$T> to tensor<$Ax$Cx$T>
  %b = fusec.broadcast %m [0, 2] : tensor<$Ax$Cx$T> to tensor<$Ax$Bx$Cx$T>
  %y = fusec.sub %x, %b : tensor<$Ax$Bx$Cx$T>
  %i = fusec.arg_reduce min %x axis 1 : tensor<$Ax$Bx$Cx$T> to tensor<$Ax$Cxi64>
  fusec.output %y, %i : tensor<$Ax$Bx$Cx$T>, tensor<$Ax$Cxi64>
})"},
                                {"outer", R"(inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<$Ax$Bx$Cx$T>):
  %y = fusec.reduce sum %x axes [0, 2] : tensor<$Ax$Bx$Cx$T> to tensor<$Bx$T>
  fusec.output %y : tensor<$Bx$T>
})"},
                                {"transposed", R"(inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<$Ax$Bx$Cx$T>):
  %t = fusec.transpose %x [2, 1, 0] : tensor<$Ax$Bx$Cx$T> to tensor<$Cx$Bx$Ax$T>
  %y = fusec.reduce sum %t axes [1, 2] : tensor<$Cx$Bx$Ax$T> to tensor<$Cx$T>
  fusec.output %y : tensor<$Cx$T>
})"}};

std::string getText(const Program &program, ArrayRef<int64_t> abc,
                    StringRef type) {
  std::string text = std::string("fusec.model @main ") + program.text, result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    char word = text[++i];
    result += word == 'T' ? type.str() : std::to_string(abc[word - 'A']);
  }
  return result;
}

TEST(Streams, ComputeWhatTheProgramSays) {
  PipelineOptions options;
  options.targets = {"sm_90a"};
  HostModels models(options);
  ASSERT_NO_FATAL_FAILURE(models.prepare());
  std::mt19937 random(1);
  // Small multiples of 1/4: sums are exact, and ties are ties.
  auto next = [&](Type) { return (int(random() % 17) - 8) / 4.0f; };
  for (const Program &program : programs)
    for (size_t i = 0; i < std::size(sizes); ++i)
      for (size_t axis = 0; axis < 3; ++axis) {
        int64_t abc[] = {4, 8, 16};
        abc[axis] = sizes[i];
        const char *type = (i + axis) % 2 ? "f16" : "f32";
        ASSERT_NO_FATAL_FAILURE(
            models.add(fmt::format("{} {}x{}x{} {}", program.name, abc[0],
                                   abc[1], abc[2], type),
                       getText(program, abc, type), next));
      }
  models.check();
}
} // namespace
