// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bundles say of the tensor maps of roots whose weights stay in shared
// memory.

#include "compiler/Compiler.h"
#include "test/unit/compiler/OpenBundle.h"
#include "gtest/gtest.h"

using namespace fusec;

namespace {
/// The parameters of x w, 1048576 x 128 x `columns`, in the variant that has
/// maps: those of x, w and the result, and whether it has flags.
struct Parameters {
  std::vector<format::TensorMapParam> maps;
  bool hasFlags = false;
};

Parameters compileTall(KernelCompiler &compiler, int64_t columns) {
  std::string n = std::to_string(columns);
  CompileOptions options;
  options.targets = {"sm_90a"};
  auto compilation = llvm::cantFail(Compilation::parse(
      R"(fusec.model @main inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<1048576x128xf16>, %w: tensor<128x)" +
          n + R"(xf16>):
  %0 = fusec.matmul %x, %w : tensor<1048576x128xf16>, tensor<128x)" +
          n + "xf16> to tensor<1048576x" + n + R"(xf16>
  fusec.output %0 : tensor<1048576x)" +
          n + "xf16>\n}",
      options));
  llvm::cantFail(compilation->compile(compiler));
  NvrtcVersion version = llvm::cantFail(compiler.getIdentity()).version;
  std::string bytes = llvm::cantFail(compilation->getBundle(version));
  format::Bundle bundle = openBundle(bytes);
  const format::Step &step = bundle.manifest().plans.at(0).steps.at(0);
  Parameters found;
  for (const format::Param &param : step.variants.at(0).launches.at(0).params)
    if (auto *map = std::get_if<format::TensorMapParam>(&param))
      found.maps.push_back(*map);
    else if (std::holds_alternative<format::FlagsParam>(param))
      found.hasFlags = true;
  return found;
}
} // namespace

TEST(TensorMaps, RowsFetchAsTheResultsAreWide) {
  KernelCompilerOptions options;
  KernelCompiler compiler(options);
  if (auto identity = compiler.getIdentity(); !identity) {
    llvm::consumeError(identity.takeError());
    GTEST_SKIP() << "there is no NVRTC";
  }
  for (auto [columns, promotion] :
       {std::pair(64, 128u), std::pair(128, 256u)}) {
    Parameters found = compileTall(compiler, columns);
    ASSERT_EQ(found.maps.size(), 3u) << columns;
    EXPECT_EQ(found.maps[0].promotion, promotion) << columns;
    EXPECT_EQ(found.maps[1].promotion, 256u) << "the weights are read once";
    EXPECT_TRUE(found.hasFlags) << "blocks take tiles in turn";
  }
}
