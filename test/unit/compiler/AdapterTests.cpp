// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marked updates with the values of another adapter compute what a model
// compiled with that adapter does, at every stage.

#include "compiler/Compiler.h"
#include "ir/Constants.h"
#include "ir/reference/Elements.h"
#include "ir/reference/EvaluatePlan.h"
#include "test/unit/compiler/OpenBundle.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

namespace {
/// `dense<...>` of rows x columns small multiples of 1/8, which no product
/// rounds.
std::string values(int64_t rows, int64_t columns, unsigned seed) {
  std::string text = "dense<[";
  for (int64_t i = 0; i < rows; ++i) {
    text += i ? ", [" : "[";
    for (int64_t j = 0; j < columns; ++j) {
      seed = seed * 1103515245 + 12345;
      double value = static_cast<int>(seed >> 16 & 31) / 8.0 - 2;
      text += (j ? ", " : "") + std::to_string(value);
    }
    text += "]";
  }
  return text + "]>";
}

/// y = x W + 0.5 (x A) B with the scale before B; two rows of eight.
std::string plain(unsigned seed, int64_t rank) {
  std::string r = std::to_string(rank);
  return R"(fusec.model @main inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2x8xf32>):
  %w = fusec.constant )" +
         values(8, 6, 1) + R"( : tensor<8x6xf32> loc("w")
  %a = fusec.constant )" +
         values(8, rank, seed) + " : tensor<8x" + r + R"(xf32> loc("a")
  %b = fusec.constant )" +
         values(rank, 6, seed + 1) + " : tensor<" + r + R"(x6xf32> loc("b")
  %p = fusec.matmul %x, %w : tensor<2x8xf32>, tensor<8x6xf32> to tensor<2x6xf32>
  %t = fusec.matmul %x, %a : tensor<2x8xf32>, tensor<8x)" +
         r + "xf32> to tensor<2x" + r + R"(xf32>
  %s = fusec.splat 0.5 : f32 : tensor<2x)" +
         r + R"(xf32>
  %u = fusec.mul %s, %t : tensor<2x)" +
         r + R"(xf32>
  %v = fusec.matmul %u, %b : tensor<2x)" +
         r + "xf32>, tensor<" + r + R"(x6xf32> to tensor<2x6xf32>
  %q = fusec.add %v, %p : tensor<2x6xf32>
  fusec.output %q : tensor<2x6xf32>
})";
}

/// The same of weights of linear layers, one by a flag and one by a transpose,
/// over rows that are regrouped, with the scale behind B.
std::string transposed(unsigned seed, int64_t rank) {
  std::string r = std::to_string(rank);
  return R"(fusec.model @main inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2x8xf32>):
  %w = fusec.constant )" +
         values(8, 6, 1) + R"( : tensor<8x6xf32> loc("w")
  %a = fusec.constant )" +
         values(rank, 8, seed) + " : tensor<" + r + R"(x8xf32> loc("a")
  %b = fusec.constant )" +
         values(6, rank, seed + 1) + " : tensor<6x" + r + R"(xf32> loc("b")
  %p = fusec.matmul %x, %w : tensor<2x8xf32>, tensor<8x6xf32> to tensor<2x6xf32>
  %t = fusec.matmul %x, %a transposed : tensor<2x8xf32>, tensor<)" +
         r + "x8xf32> to tensor<2x" + r + R"(xf32>
  %e = fusec.expand %t [[0, 1], [2]] : tensor<2x)" +
         r + "xf32> to tensor<1x2x" + r + R"(xf32>
  %c = fusec.collapse %e [[0, 1], [2]] : tensor<1x2x)" +
         r + "xf32> to tensor<2x" + r + R"(xf32>
  %bt = fusec.transpose %b [1, 0] : tensor<6x)" +
         r + "xf32> to tensor<" + r + R"(x6xf32>
  %u = fusec.matmul %c, %bt : tensor<2x)" +
         r + "xf32>, tensor<" + r + R"(x6xf32> to tensor<2x6xf32>
  %s = fusec.splat 0.25 : f32 : tensor<2x6xf32>
  %v = fusec.mul %u, %s : tensor<2x6xf32>
  %q = fusec.add %p, %v : tensor<2x6xf32>
  fusec.output %q : tensor<2x6xf32>
})";
}

std::unique_ptr<Compilation> compile(const std::string &program,
                                     int64_t maxRank) {
  CompileOptions options;
  options.targets = {"sm_80", "sm_90a"};
  if (maxRank) {
    options.adapters = {{"up", "a", "b", ""}};
    options.maxRank = maxRank;
  }
  return llvm::cantFail(Compilation::parse(program, options));
}

std::vector<float> evaluate(Operation *op) {
  reference::Tensor x =
      reference::Tensor::allocate(Float32Type::get(op->getContext()), {2, 8});
  std::vector<float> inputs(16);
  for (size_t i = 0; i != inputs.size(); ++i)
    inputs[i] = (i * 7 % 16) / 4.0f - 2;
  reference::store<float>(x, 0, inputs);
  auto result = isa<PlanOp>(op) ? reference::evaluate(cast<PlanOp>(op), {x})
                                : reference::evaluate(cast<ModelOp>(op), {x});
  EXPECT_TRUE(succeeded(result));
  return succeeded(result) ? reference::loadAll<float>(result->outputs[0])
                           : std::vector<float>();
}

class AdapterForms
    : public testing::TestWithParam<std::string (*)(unsigned, int64_t)> {};
} // namespace

TEST_P(AdapterForms, ReplacedValuesAreThoseOfTheModelWithThem) {
  auto program = GetParam();
  // Rank 3 of the model, 5 of the adapter; both are padded to 8.
  auto marked = compile(program(3, 3), 8), other = compile(program(7, 5), 8);
  std::vector<float> expected = evaluate(compile(program(7, 5), 0)->getModel());
  EXPECT_EQ(evaluate(other->getModel()), expected);
  EXPECT_EQ(evaluate(marked->getModel()),
            evaluate(compile(program(3, 3), 0)->getModel()));

  auto factors = marked->getModel().getBody().getOps<ReplaceableOp>();
  auto from = other->getModel().getBody().getOps<ReplaceableOp>();
  ASSERT_EQ(std::distance(factors.begin(), factors.end()), 2);
  for (auto [to, with] : llvm::zip_equal(factors, from)) {
    std::string error;
    auto data = getConstantData(with.getValue(), error);
    ASSERT_TRUE(succeeded(data)) << error;
    to.setValueAttr(makeConstant(cast<RankedTensorType>(to.getType()),
                                 data->bytes, "replaced"));
  }
  for (Stage stage : {Stage::Imported, Stage::Tensor, Stage::Fused}) {
    llvm::cantFail(marked->advance(stage));
    EXPECT_EQ(evaluate(marked->getModel()), expected)
        << static_cast<int>(stage);
  }
  llvm::cantFail(marked->advance(Stage::Planned));
  for (PlanOp plan : marked->getModule().getOps<PlanOp>())
    EXPECT_EQ(evaluate(plan), expected) << plan.getSymName().str();
}

INSTANTIATE_TEST_SUITE_P(All, AdapterForms, testing::Values(plain, transposed));

TEST(Adapters, BundlesRecordThem) {
  KernelCompilerOptions compilerOptions;
  KernelCompiler compiler(compilerOptions);
  auto identity = compiler.getIdentity();
  if (!identity) {
    llvm::consumeError(identity.takeError());
    GTEST_SKIP() << "there is no NVRTC";
  }
  auto compilation = compile(transposed(3, 3), 8);
  llvm::cantFail(compilation->compile(compiler));
  std::string bytes = llvm::cantFail(compilation->getBundle(identity->version));
  format::Bundle bundle = openBundle(bytes);
  ASSERT_EQ(bundle.manifest().plans.size(), 2u);
  for (const format::Plan &plan : bundle.manifest().plans) {
    unsigned factors = 0;
    for (const format::Weight &weight : plan.weights) {
      EXPECT_EQ(weight.replaceable, !weight.adapter.empty());
      if (!weight.replaceable)
        continue;
      ++factors;
      bool isA = weight.part == format::AdapterPart::A;
      EXPECT_EQ(weight.adapter, "up");
      EXPECT_EQ(weight.rank(), 8);
      EXPECT_EQ(weight.width(), isA ? 8 : 6);
      // The flag stays a flag, the transpose has been computed.
      EXPECT_EQ(weight.isTransposed, isA);
    }
    EXPECT_EQ(factors, 2u);
  }
}

TEST(Adapters, EqualFactorsStayApart) {
  // Fresh adapters have a B of zeros each.
  std::string program = R"(fusec.model @main inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<2x8xf32>):
  %a = fusec.constant dense<1.0> : tensor<8x2xf32> loc("a1")
  %b = fusec.constant dense<0.0> : tensor<2x8xf32> loc("b1")
  %c = fusec.constant dense<1.0> : tensor<8x2xf32> loc("a2")
  %d = fusec.constant dense<0.0> : tensor<2x8xf32> loc("b2")
  %t = fusec.matmul %x, %a : tensor<2x8xf32>, tensor<8x2xf32> to tensor<2x2xf32>
  %u = fusec.matmul %t, %b : tensor<2x2xf32>, tensor<2x8xf32> to tensor<2x8xf32>
  %v = fusec.add %x, %u : tensor<2x8xf32>
  %w = fusec.matmul %v, %c : tensor<2x8xf32>, tensor<8x2xf32> to tensor<2x2xf32>
  %y = fusec.matmul %w, %d : tensor<2x2xf32>, tensor<2x8xf32> to tensor<2x8xf32>
  %z = fusec.add %v, %y : tensor<2x8xf32>
  fusec.output %z : tensor<2x8xf32>
})";
  CompileOptions options;
  options.targets = {"sm_90a"};
  options.adapters = {{"one", "a1", "b1", ""}, {"two", "a2", "b2", ""}};
  auto compilation = llvm::cantFail(Compilation::parse(program, options));
  llvm::cantFail(compilation->advance(Stage::Planned));
  PlanOp plan = *compilation->getModule().getOps<PlanOp>().begin();
  unsigned replaceable = 0;
  for (BufferOp buffer : plan.getOps<BufferOp>())
    replaceable += buffer.getReplaceable().has_value();
  EXPECT_EQ(replaceable, 4u);
}

TEST(Adapters, SharedConstantsAreRefused) {
  std::string program = R"(fusec.model @main inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x4xf32>):
  %a = fusec.constant dense<1.0> : tensor<4x4xf32> loc("a")
  %b = fusec.constant dense<0.0> : tensor<4x4xf32> loc("b")
  %t = fusec.matmul %x, %a : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4x4xf32>
  %u = fusec.matmul %t, %b : tensor<4x4xf32>, tensor<4x4xf32> to tensor<4x4xf32>
  %v = fusec.add %u, %a : tensor<4x4xf32>
  fusec.output %v : tensor<4x4xf32>
})";
  CompileOptions options;
  options.adapters = {{"up", "a", "b", ""}};
  auto compilation = Compilation::parse(program, options);
  ASSERT_FALSE(compilation);
  std::string text = llvm::toString(compilation.takeError());
  EXPECT_NE(text.find("adapter 'up': expected 'a' to have one use, found 2"),
            std::string::npos)
      << text;
}

/// A layer whose rank is already that of the kernels. Elements do not matter.
static std::string makeLayer(const std::string &element) {
  std::string text = R"(fusec.model @main inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<?x256xf16, #fusec.sizes<[batch, 256]>>):
  %w = fusec.constant dense<0.5> : tensor<256x256xf16> loc("w")
  %a = fusec.constant )" +
                     values(256, 16, 1) +
                     R"( : tensor<256x16xf16> loc("a")
  %b = fusec.constant )" +
                     values(16, 256, 2) + R"( : tensor<16x256xf16> loc("b")
  %p = fusec.matmul %x, %w : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>, tensor<256x256xf16> to tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
  %t = fusec.matmul %x, %a : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>, tensor<256x16xf16> to tensor<?x16xf16, #fusec.sizes<[batch, 16]>>
  %u = fusec.matmul %t, %b : tensor<?x16xf16, #fusec.sizes<[batch, 16]>>, tensor<16x256xf16> to tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
  %s = fusec.splat 2.0 : f16 : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
  %v = fusec.mul %u, %s : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
  %q = fusec.add %p, %v : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
  %r = fusec.relu %q : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
  fusec.output %r : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
})";
  for (size_t at = 0; (at = text.find("f16", at)) != std::string::npos;)
    text.replace(at, 3, element), at += element.size();
  return text;
}

/// Runs are as fast as with the weights compiled in because they are the same
/// kernels under the same conditions.
TEST(Adapters, KernelsAreThoseOfTheModelWithoutThem) {
  for (const char *element : {"f16", "bf16", "f32"}) {
    auto marked = compile(makeLayer(element), 16),
         baked = compile(makeLayer(element), 0);
    llvm::cantFail(marked->emit());
    llvm::cantFail(baked->emit());
    for (auto [a, b] : llvm::zip_equal(marked->getKernels().getPlans(),
                                       baked->getKernels().getPlans())) {
      SmallVector<StepOp> steps(PlanOp(a.plan).getOps<StepOp>()),
          others(PlanOp(b.plan).getOps<StepOp>());
      ASSERT_EQ(steps.size(), others.size());
      for (auto [step, other] : llvm::zip_equal(steps, others)) {
        std::string text, expected;
        llvm::raw_string_ostream(text) << step.getVariants();
        llvm::raw_string_ostream(expected) << other.getVariants();
        EXPECT_EQ(text, expected) << element;
      }
    }
    auto kernels = marked->getKernels().getKernels();
    auto others = baked->getKernels().getKernels();
    ASSERT_EQ(kernels.size(), others.size());
    for (auto [kernel, other] : llvm::zip_equal(kernels, others))
      EXPECT_EQ(kernel.text, other.text) << element << " " << kernel.target;
  }
}
