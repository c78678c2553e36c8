// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule whose kernel spills, or has a stack frame, gives way to the next
// one.

#include "compiler/Compiler.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

static constexpr llvm::StringLiteral model = R"(
fusec.model @main inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>):
  %y = fusec.matmul %x, %w : tensor<256x256xf32>, tensor<256x256xf32> to tensor<256x256xf32>
  fusec.output %y : tensor<256x256xf32>
}
)";

namespace {
struct SpillTest : testing::Test {
  void SetUp() override {
    KernelCompilerOptions compilerOptions;
    compilerOptions.useCache = false;
    compiler = std::make_unique<KernelCompiler>(compilerOptions);
    if (auto identity = compiler->getIdentity(); !identity) {
      llvm::consumeError(identity.takeError());
      GTEST_SKIP() << "there is no NVRTC";
    }
    options.targets = {"sm_80"};
  }

  /// The model with one variant: 256 accumulators a thread, which cannot stay
  /// in registers, then `alternatives`.
  std::unique_ptr<Compilation>
  plan(llvm::function_ref<llvm::SmallVector<CandidateAttr>(MLIRContext *)>
           alternatives) {
    auto compilation = llvm::cantFail(Compilation::parse(model, options));
    llvm::cantFail(compilation->advance(Stage::Planned));
    MLIRContext *context = &compilation->getContext();
    getStep(*compilation)
        .setVariantsAttr(ArrayAttr::get(
            context, {VariantAttr::get(context, {}, getSimt(context, 256, 16),
                                       nullptr, alternatives(context))}));
    return compilation;
  }
  /// What NVRTC makes of another kernel, whose body holds 26 pointers by value:
  /// none of it spills.
  CompiledKernel holdPointers(CompileRequest request) {
    request.source =
        "struct Pointers { const float *at[26]; };\n"
        "extern \"C\" __global__ void k(const Pointers p, float *y, int i) {\n"
        "  const auto load = [=](int t) { return [=] { return p.at[t][0]; }; "
        "};\n"
        "  auto rest = load(i);\n  y[threadIdx.x] = rest();\n}\n";
    return std::move(llvm::cantFail(compiler->compileAll(request))[0]);
  }
  static Attribute getSimt(MLIRContext *context, int64_t tile, int64_t each) {
    return SimtScheduleAttr::get(context, tile, tile / 2, 16, each, each);
  }
  static StepOp getStep(Compilation &compilation) {
    PlanOp plan = *compilation.getModule().getOps<PlanOp>().begin();
    return *plan.getOps<StepOp>().begin();
  }

  CompileOptions options;
  std::unique_ptr<KernelCompiler> compiler;
};
} // namespace

TEST_F(SpillTest, takesTheNextSchedule) {
  auto compilation = plan([](MLIRContext *context) {
    return llvm::SmallVector<CandidateAttr>{
        CandidateAttr::get(context, getSimt(context, 64, 4), EstimateAttr())};
  });
  llvm::cantFail(compilation->compile(*compiler));
  auto variant = cast<VariantAttr>(getStep(*compilation).getVariants()[0]);
  EXPECT_EQ(variant.getSchedule(), getSimt(&compilation->getContext(), 64, 4));
  EXPECT_EQ(compilation->getWarnings().size(), 1u);
  ASSERT_EQ(compilation->getImages().size(), 1u);
  EXPECT_FALSE(compilation->getImages()[0]->spills());
  EXPECT_TRUE(compilation->getRequests().empty());
}

TEST_F(SpillTest, keepsTheLastSchedule) {
  auto compilation =
      plan([](MLIRContext *) { return llvm::SmallVector<CandidateAttr>(); });
  llvm::cantFail(compilation->compile(*compiler));
  ASSERT_EQ(compilation->getWarnings().size(), 1u);
  EXPECT_NE(compilation->getWarnings()[0].find("spills"), std::string::npos);
  EXPECT_TRUE(compilation->getImages()[0]->spills());
}

TEST_F(SpillTest, isAnErrorWhereAsked) {
  options.refuseSpills = true;
  auto compilation = plan([](MLIRContext *context) {
    return llvm::SmallVector<CandidateAttr>{
        CandidateAttr::get(context, getSimt(context, 64, 4), EstimateAttr())};
  });
  llvm::Error error = compilation->compile(*compiler);
  ASSERT_TRUE(bool(error));
  EXPECT_NE(llvm::toString(std::move(error)).find("spills"), std::string::npos);
}

TEST_F(SpillTest, refusesAStackFrame) {
  auto compilation = plan([](MLIRContext *context) {
    return llvm::SmallVector<CandidateAttr>{
        CandidateAttr::get(context, getSimt(context, 64, 4), EstimateAttr())};
  });
  llvm::cantFail(compilation->emit());
  CompiledKernel image = holdPointers(compilation->getRequests()[0]);
  EXPECT_FALSE(image.spills());
  llvm::cantFail(compilation->addImages({image}));
  ASSERT_EQ(compilation->getWarnings().size(), 1u);
  EXPECT_NE(compilation->getWarnings()[0].find(
                "it has a stack frame of 216 bytes, of which it needs 0"),
            std::string::npos)
      << compilation->getWarnings()[0];
  auto variant = cast<VariantAttr>(getStep(*compilation).getVariants()[0]);
  EXPECT_EQ(variant.getSchedule(), getSimt(&compilation->getContext(), 64, 4));
  EXPECT_EQ(compilation->getRequests().size(), 1u);
}

TEST_F(SpillTest, leavesSineItsArray) {
  options.targets = {"sm_80", "sm_90a"};
  for (llvm::StringRef type : {"f32", "f64"}) {
    std::string tensor = "tensor<4096x" + type.str() + ">",
                text = "fusec.model @main inputs [\"x\"] outputs [\"y\"] {\n"
                       "^bb0(%x: " +
                       tensor + "):\n  %0 = fusec.sin %x : " + tensor +
                       "\n  %1 = fusec.cos %x : " + tensor +
                       "\n  %2 = fusec.mul %0, %1 : " + tensor +
                       "\n  fusec.output %2 : " + tensor + "\n}\n";
    auto compilation = llvm::cantFail(Compilation::parse(text, options));
    llvm::cantFail(compilation->compile(*compiler));
    EXPECT_TRUE(compilation->getWarnings().empty())
        << compilation->getWarnings()[0];
  }
}
