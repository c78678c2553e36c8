// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concats of many values, and of values that are concats themselves: what is
// stored slice by slice is what the program says, and no kernel has more text
// than it needs for a few pieces.

#include "compiler/kernels/Family.h"
#include "test/host/HostModels.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace fusec;

namespace {
/// Bytes of text that the kernel of 32 lookups stays below.
constexpr size_t mostText = 20000;

std::string type(int64_t rows, int64_t columns) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
         "xf32>";
}

/// Joins the lines of a program that has `count` arguments of a type each.
struct ProgramText {
  std::string inputs, arguments, body, values, types;

  void argument(const std::string &name, const std::string &type) {
    const char *separator = inputs.empty() ? "" : ", ";
    inputs += separator + ("\"" + name + "\"");
    arguments += separator + ("%" + name) + ": " + type;
  }
  void piece(const std::string &value, const std::string &type) {
    const char *separator = values.empty() ? "" : ", ";
    values += separator + value;
    types += separator + type;
  }
  std::string finish(unsigned axis, const std::string &result) const {
    return "fusec.model @main inputs [" + inputs +
           "] outputs [\"y\"] {\n^bb0(" + arguments + "):\n" + body +
           "  %y = fusec.concat " + values + " axis " + std::to_string(axis) +
           " : " + types + " to " + result + "\n  fusec.output %y : " + result +
           "\n}\n";
  }
};

/// Of `count` inputs, some of them behind an op; all 4 wide, or of any width.
std::string concatOf(unsigned count, unsigned axis, bool isEqual) {
  ProgramText text;
  int64_t sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    int64_t size = isEqual ? 4 : 1 + i * 7 % 13;
    std::string n = std::to_string(i),
                own = axis ? type(5, size) : type(size, 6);
    text.argument("x" + n, own);
    if (!isEqual && i % 3 == 0)
      text.body += "  %r" + n + " = fusec.relu %x" + n + " : " + own + "\n";
    text.piece((!isEqual && i % 3 == 0 ? "%r" : "%x") + n, own);
    sum += size;
  }
  return text.finish(axis, axis ? type(5, sum) : type(sum, 6));
}

/// Of `count` rows that are looked up by an index each.
std::string lookupsOf(unsigned count) {
  ProgramText text;
  for (unsigned i = 0; i < count; ++i) {
    std::string n = std::to_string(i), table = type(3 + i % 5, 8);
    text.argument("t" + n, table);
    text.argument("i" + n, "tensor<5xi64>");
    text.body += "  %b" + n + " = fusec.broadcast %i" + n +
                 " [0] : tensor<5xi64> to tensor<5x8xi64>\n  %g" + n +
                 " = fusec.gather %t" + n + " [-1, 1] (%b" + n + ") zero : (" +
                 table + ", tensor<5x8xi64>) -> " + type(5, 8) + "\n";
    text.piece("%g" + n, type(5, 8));
  }
  return text.finish(1, type(5, 8 * count));
}

/// x beside itself, that beside itself, and so on, with an op in between and a
/// reshape before every third.
std::string doubled(unsigned times) {
  ProgramText text;
  text.argument("x", type(3, 2));
  std::string last = "%x";
  int64_t rows = 3, columns = 2;
  for (unsigned i = 0; i < times; ++i) {
    std::string n = std::to_string(i), from = type(rows, columns);
    if (i % 3 == 2) {
      std::string flat = "tensor<" + std::to_string(rows * columns) + "xf32>";
      text.body += "  %f" + n + " = fusec.collapse " + last +
                   " [[0, 1]] : " + from + " to " + flat + "\n";
      rows *= 2;
      columns /= 2;
      from = type(rows, columns);
      text.body += "  %e" + n + " = fusec.expand %f" + n +
                   " [[0, 1]] : " + flat + " to " + from + "\n";
      last = "%e" + n;
    }
    columns *= 2;
    text.body += "  %c" + n + " = fusec.concat " + last + ", " + last +
                 " axis 1 : " + from + ", " + from + " to " +
                 type(rows, columns) + "\n";
    last = "%c" + n;
  }
  text.piece(last, type(rows, columns));
  text.piece(last, type(rows, columns));
  return text.finish(1, type(rows, 2 * columns));
}

struct Case {
  const char *name;
  std::string text;
  unsigned mostSteps;
};

void checkText(PlanOp plan, unsigned mostSteps) {
  unsigned steps = 0;
  for (auto step : plan.getOps<StepOp>()) {
    ++steps;
    auto kernel = emitKernel(step, cast<VariantAttr>(step.getVariants()[0]),
                             KernelLibrary::symbol);
    ASSERT_TRUE(succeeded(kernel));
    EXPECT_LT(kernel->text.size(), mostText) << StepOp(step).getName().str();
  }
  EXPECT_LE(steps, mostSteps);
}

TEST(WideConcats, AreStoredSliceBySlice) {
  std::vector<Case> cases = {
      {"equal", concatOf(96, 1, true), 3},
      {"rows", concatOf(96, 0, true), 3},
      {"unequal", concatOf(70, 1, false), 3},
      {"unequal rows", concatOf(70, 0, false), 3},
      {"few", concatOf(32, 1, false), 1},
      {"lookups", lookupsOf(64), 2},
      {"doubled", doubled(12), 12},
  };
  PipelineOptions options;
  options.targets = {"ptx"};
  HostModels models(options);
  ASSERT_NO_FATAL_FAILURE(models.prepare());
  int64_t count = 0;
  // Of indices, some lie outside their table.
  auto next = [&](Type type) -> float {
    ++count;
    return type.isF32() ? count % 1000 - 400 : count % 11 - 3;
  };
  for (const Case &test : cases)
    ASSERT_NO_FATAL_FAILURE(
        models.add(test.name, test.text, next,
                   [&](PlanOp plan) { checkText(plan, test.mostSteps); }));
  models.check();
}
} // namespace
