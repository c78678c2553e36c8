// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which plan a device gets.

#include "runtime/src/PlanChoice.h"

#include <gtest/gtest.h>

using namespace fusec;
using namespace fusec::rt;

namespace {
format::Manifest withTargets(const std::vector<std::string> &targets) {
  format::Manifest manifest;
  for (const std::string &target : targets) {
    format::Plan plan;
    plan.target = target;
    plan.minDriver = 12040;
    manifest.plans.push_back(plan);
  }
  return manifest;
}

std::string chosen(const format::Manifest &manifest, unsigned capability,
                   unsigned driver = 13000, unsigned shared = 101376) {
  std::string reasons;
  std::optional<size_t> plan =
      choosePlan(manifest, {capability, shared, driver}, reasons);
  return plan ? manifest.plans[*plan].target : "none: " + reasons;
}
} // namespace

TEST(PlanChoice, ExactThenSameMajorThenPtx) {
  format::Manifest all =
      withTargets({"ptx", "sm_80", "sm_86", "sm_90a", "sm_120"});
  EXPECT_EQ(chosen(all, 80), "sm_80");
  EXPECT_EQ(chosen(all, 86), "sm_86");
  EXPECT_EQ(chosen(all, 87), "sm_86");
  EXPECT_EQ(chosen(all, 90), "sm_90a");
  EXPECT_EQ(chosen(all, 100), "ptx");
  EXPECT_EQ(chosen(all, 120), "sm_120");
  EXPECT_EQ(chosen(all, 121), "sm_120");
  EXPECT_EQ(chosen(withTargets({"sm_90", "sm_90a"}), 90), "sm_90a");
}

TEST(PlanChoice, LimitsAreReasons) {
  format::Manifest manifest = withTargets({"sm_90a", "sm_80"});
  EXPECT_EQ(chosen(manifest, 100),
            "none: sm_90a runs on sm_90 only; sm_80 runs on devices of "
            "major version 8 only");
  EXPECT_EQ(chosen(manifest, 90, 12030),
            "none: sm_90a needs driver 12.4; sm_80 runs on devices of major "
            "version 8 only");
  manifest.plans[1].smem = 200000;
  EXPECT_EQ(chosen(manifest, 86),
            "none: sm_90a runs on sm_90 only; sm_80 needs 200000 bytes of "
            "shared memory, the device has 101376");
  manifest.plans[1].smem = 0;
  manifest.plans[1].cluster = 2;
  EXPECT_NE(chosen(manifest, 86).find("needs clusters"), std::string::npos);
  EXPECT_EQ(chosen(withTargets({"ptx"}), 75), "none: ptx needs sm_80 or later");
}

TEST(PlanChoice, FallsBackToAPlanThatFits) {
  format::Manifest manifest = withTargets({"sm_86", "sm_80", "ptx"});
  manifest.plans[0].smem = 150000;
  EXPECT_EQ(chosen(manifest, 86), "sm_80");
  manifest.plans[1].minDriver = 13010;
  EXPECT_EQ(chosen(manifest, 86), "ptx");
}

TEST(CompileCommand, SaysWhatTheBundleWasMadeWith) {
  format::Manifest manifest;
  EXPECT_EQ(compileCommand(manifest, 86),
            "fusec compile MODEL.onnx -o MODEL.fusec --arch=sm_86");
  manifest.options = {{"adapter.up", "A,layer 1.B,2"},
                      {"arch", "sm_80"},
                      {"dim.batch", "64"},
                      {"fusion", "off"},
                      {"gather", "flag"},
                      {"max-rank", "16"},
                      {"numerics", "default"},
                      {"precision", "tf32"},
                      {"replaceable", "w,*.bias"},
                      {"tuning", "0123"},
                      {"updatable", "emb.*"}};
  EXPECT_EQ(compileCommand(manifest, 90),
            "fusec compile MODEL.onnx -o MODEL.fusec --arch=sm_90a --adapter "
            "'up=A,layer 1.B,2' --dim batch=64 --no-fusion --max-rank=16 "
            "--precision=tf32 --replaceable w --replaceable '*.bias' "
            "--tuning=FILE --updatable 'emb.*'");
}
