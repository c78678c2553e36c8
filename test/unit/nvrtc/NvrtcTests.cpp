// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The real NVRTC; skipped visibly where there is none.

#include "test/unit/nvrtc/Testing.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace fusec;
using namespace fusec::test;

namespace {
class NvrtcTest : public testing::Test {
protected:
  void SetUp() override {
    Expected<std::string> file = findNvrtc();
    if (!file)
      GTEST_SKIP() << toString(file.takeError());
    Expected<std::unique_ptr<Nvrtc>> loaded = Nvrtc::load(*file);
    ASSERT_TRUE(bool(loaded)) << toString(loaded.takeError());
    nvrtc = std::move(*loaded);
  }
  std::string failure(const CompileRequest &request) {
    Expected<CompiledKernel> kernel = nvrtc->compile(request);
    return kernel ? "compiled" : toString(kernel.takeError());
  }
  std::unique_ptr<Nvrtc> nvrtc;
};
} // namespace

TEST_F(NvrtcTest, KnowsItself) {
  const NvrtcIdentity &identity = nvrtc->getIdentity();
  EXPECT_GE(std::pair(identity.version.major, identity.version.minor),
            std::pair(12, 4));
  std::string release = std::to_string(identity.version.major) + "." +
                        std::to_string(identity.version.minor) + ".";
  EXPECT_EQ(identity.version.build.rfind(release, 0), 0u)
      << identity.version.build;
  EXPECT_TRUE(is_contained(identity.archs, 80));
}

TEST_F(NvrtcTest, CompilesForEveryTargetItKnows) {
  for (StringRef target :
       {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_120", "ptx"}) {
    CompileRequest r =
        request("scale", "  x[threadIdx.x] *= 2.0f;", target.str());
    if (Error error = checkTarget(target, nvrtc->getIdentity())) {
      EXPECT_EQ(failure(r), toString(std::move(error)));
      continue;
    }
    Expected<CompiledKernel> kernel = nvrtc->compile(r);
    ASSERT_TRUE(bool(kernel)) << toString(kernel.takeError());
    ASSERT_NE(kernel->find("scale"), nullptr);
    EXPECT_EQ(kernel->isPtx, target == "ptx");
    if (kernel->isPtx) {
      EXPECT_NE(kernel->image.find(".target sm_80"), std::string::npos);
      EXPECT_NE(kernel->image.back(), '\0');
    } else {
      EXPECT_EQ(kernel->image.substr(0, 4), "\x7f"
                                            "ELF");
      EXPECT_GT(kernel->find("scale")->registers, 0u);
    }
    EXPECT_FALSE(kernel->spills());
    EXPECT_FALSE(kernel->serializedMma);
  }
}

TEST_F(NvrtcTest, GivesTheSameBytesEveryTime) {
  CompileRequest r = request(
      "same",
      "  for (int i = 0; i < 64; ++i) x[i] = expf(x[i]) + __sinf(x[i + 1]);",
      "sm_90a");
  Expected<CompiledKernel> first = nvrtc->compile(r),
                           second = nvrtc->compile(r);
  ASSERT_TRUE(bool(first) && bool(second));
  EXPECT_EQ(first->image, second->image);
  EXPECT_EQ(first->log, second->log);
  SmallString<256> directory;
  sys::fs::current_path(directory);
  EXPECT_EQ(first->image.find(directory.str().str()), std::string::npos);
}

TEST_F(NvrtcTest, ReportsSpillsAndSharedMemory) {
  CompileRequest r;
  r.name = "spilling";
  r.target = "sm_80";
  r.source =
      "extern \"C\" __global__ void __launch_bounds__(1024, 2) spilling(float "
      "*x, int n) {\n"
      "  float r[128];\n"
      "  #pragma unroll\n  for (int i = 0; i < 128; i++) r[i] = x[i * 32];\n"
      "  #pragma unroll 1\n  for (int t = 0; t < n; t++) {\n"
      "    #pragma unroll\n    for (int i = 0; i < 128; i++) r[i] = r[i] * "
      "r[(i * 7 + 3) % 128] + r[(i + 1) % 128];\n  }\n"
      "  #pragma unroll\n  for (int i = 0; i < 128; i++) x[i * 32] = r[i];\n}\n"
      "extern \"C\" __global__ void shared(float *x) {\n"
      "  __shared__ float s[64];\n  s[threadIdx.x] = x[threadIdx.x];\n  "
      "__syncthreads();\n"
      "  x[threadIdx.x] = s[63 - threadIdx.x];\n}\n";
  Expected<CompiledKernel> kernel = nvrtc->compile(r);
  ASSERT_TRUE(bool(kernel)) << toString(kernel.takeError());
  EXPECT_TRUE(kernel->spills());
  EXPECT_GT(kernel->find("spilling")->spillBytes, 0u);
  EXPECT_EQ(kernel->find("shared")->spillBytes, 0u);
  EXPECT_EQ(kernel->find("shared")->sharedBytes, 256u);
  EXPECT_EQ(kernel->find("other"), nullptr);
}

TEST_F(NvrtcTest, ReportsSerializedMma) {
  CompileRequest r;
  r.name = "serial";
  r.target = "sm_90a";
  if (Error error = checkTarget(r.target, nvrtc->getIdentity()))
    GTEST_SKIP() << toString(std::move(error));
  // Accumulators are read while a group of wgmma is in flight.
  std::string head = R"(
extern "C" __global__ void serial(unsigned long long a, unsigned long long b, float *x) {
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int i = 0; i < 4; ++i) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "l"(a + i), "l"(b + i));)",
              tail = R"(
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  x[threadIdx.x] = d0 + d1 + d2 + d3;
})";
  for (bool serial : {false, true}) {
    r.source = head + (serial ? "\n    d0 += x[i];" : "") + tail;
    Expected<CompiledKernel> kernel = nvrtc->compile(r);
    ASSERT_TRUE(bool(kernel)) << toString(kernel.takeError());
    EXPECT_EQ(kernel->serializedMma, serial) << kernel->log;
  }
}

TEST_F(NvrtcTest, UsesHeadersAndOptions) {
  CompileRequest r = request("useful", "  *x = value() * FACTOR;");
  r.source = "#include \"outer.h\"\n" + r.source;
  r.headers = {{"inner.h", "constexpr float value() { return 3.0f; }\n"},
               {"outer.h", "#include \"inner.h\"\n"},
               {"broken.h", "#error never included\n"}};
  r.options = {"-DFACTOR=2.0f"};
  Expected<CompiledKernel> kernel = nvrtc->compile(r);
  ASSERT_TRUE(bool(kernel)) << toString(kernel.takeError());
}

TEST_F(NvrtcTest, TakesNoHeaderFromTheDisk) {
  Folder folder;
  folder.write("fusec_stray.h", "#define STRAY 1\n");
  SmallString<256> before;
  sys::fs::current_path(before);
  ASSERT_FALSE(sys::fs::set_current_path(folder.path()));
  CompileRequest r = request("stray", "  *x = STRAY;");
  r.source = "#include \"fusec_stray.h\"\n" + r.source;
  std::string reason = failure(r);
  sys::fs::set_current_path(before);
  EXPECT_NE(reason.find("fusec_stray.h"), std::string::npos) << reason;
}

TEST_F(NvrtcTest, ExplainsErrors) {
  std::string reason =
      failure(request("wrong", "  *x = missing;\n  *x = 1;", "sm_90a"));
  EXPECT_NE(reason.find("kernel 'wrong' does not compile for sm_90a (NVRTC "),
            std::string::npos)
      << reason;
  EXPECT_NE(reason.find("wrong.cu(2): error: "), std::string::npos) << reason;
  EXPECT_NE(reason.find("  >     2 |   *x = missing;"), std::string::npos)
      << reason;
  CompileRequest none = request("none", "");
  none.source = "__device__ int x;\n";
  reason = failure(none);
  EXPECT_NE(reason.find("at least one __global__"), std::string::npos)
      << reason;
  CompileRequest option = request("option", "");
  option.options = {"--no-such-option"};
  EXPECT_NE(failure(option).find("--no-such-option"), std::string::npos);
}

static NvrtcIdentity knowing(int major, int minor, const char *build,
                             std::vector<int> archs) {
  NvrtcIdentity result;
  result.version.major = major;
  result.version.minor = minor;
  result.version.build = build;
  result.archs = std::move(archs);
  return result;
}

TEST(Nvrtc, NamesTheVersionThatATargetNeeds) {
  NvrtcIdentity old = knowing(12, 4, "12.4.127", {70, 80, 90});
  NvrtcIdentity recent = knowing(13, 0, "", {75, 80, 90, 120});
  EXPECT_EQ(toString(checkTarget("sm_120", old)),
            "target 'sm_120' needs NVRTC 12.8 or newer, NVRTC 12.4.127 is "
            "loaded; give another one with --nvrtc or "
            "FUSEC_NVRTC, or one of the targets it knows: sm_70, sm_80, sm_90");
  EXPECT_NE(toString(checkTarget("sm_70", recent))
                .find("needs NVRTC 9.0 to 12.x, NVRTC 13.0 is loaded"),
            std::string::npos);
  EXPECT_NE(toString(checkTarget("sm_86a", recent)).find("use sm_86"),
            std::string::npos);
  EXPECT_NE(
      toString(checkTarget("sm_999", recent)).find("is unknown to NVRTC 13.0"),
      std::string::npos);
  for (StringRef bad : {"", "sm_", "sm_9x", "80", "sm_+80", "sm_80 ",
                        "sm_4294967376", "compute_80"})
    EXPECT_NE(
        toString(checkTarget(bad, recent)).find("expected 'ptx' or 'sm_'"),
        std::string::npos)
        << bad.str();
  for (StringRef good : {"ptx", "sm_80", "sm_90a", "sm_120f"})
    EXPECT_EQ(toString(checkTarget(good, recent)), "") << good.str();
}

TEST(Nvrtc, RefusesOtherLibraries) {
  Folder folder;
  auto reason = [](StringRef file) {
    Expected<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::load(file);
    return nvrtc ? "loaded" : toString(nvrtc.takeError());
  };
  EXPECT_NE(reason(folder.write("libnvrtc.so.13", "not a library"))
                .find("cannot load NVRTC"),
            std::string::npos);
  EXPECT_NE(reason("libm.so.6").find("it lacks nvrtcGetErrorString"),
            std::string::npos);
}
