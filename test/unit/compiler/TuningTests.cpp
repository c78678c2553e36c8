// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tuning files: what they say, what they refuse, and which steps they are for.

#include "compiler/Compiler.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/IsolateStep.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

/// x * w + b, then an activation; `m` is a size or a name.
static std::string getModel(const std::string &m, const char *activation,
                            const char *type = "f16", const char *n = "1024") {
  bool isNamed = !std::isdigit(m[0]);
  auto tensor = [&](const std::string &columns) {
    return "tensor<" + (isNamed ? "?" : m) + "x" + columns + "x" + type +
           (isNamed ? ", #fusec.sizes<[" + m + ", " + columns + "]>>" : ">");
  };
  std::string x = tensor("512"), y = tensor(n),
              w = std::string("tensor<512x") + n + "x" + type + ">",
              b = std::string("tensor<") + n + "x" + type + ">";
  return R"(fusec.model @main inputs ["x", "w", "b"] outputs ["y"] {
^bb0(%x: )" +
         x + ", %w: " + w + ", %b: " + b + R"():
  %p = fusec.matmul %x, %w : )" +
         x + ", " + w + " to " + y + R"(
  %c = fusec.broadcast %b [1] : )" +
         b + " to " + y + R"(
  %s = fusec.add %p, %c : )" +
         y + R"(
  %y = fusec.)" +
         activation + " %s : " + y + R"(
  fusec.output %y : )" +
         y + "\n}\n";
}

static std::unique_ptr<Compilation> plan(const std::string &text,
                                         CompileOptions options = {},
                                         Stage stage = Stage::Imported) {
  options.targets = {"sm_90a"};
  auto compilation =
      llvm::cantFail(Compilation::parse(text, std::move(options), stage));
  llvm::cantFail(compilation->advance(Stage::Planned));
  return compilation;
}
static StepOp getStep(Compilation &compilation) {
  PlanOp plan = *compilation.getModule().getOps<PlanOp>().begin();
  return *plan.getOps<StepOp>().begin();
}
static VariantAttr getVariant(Compilation &compilation, size_t i) {
  return cast<VariantAttr>(getStep(compilation).getVariants()[i]);
}
static TuningProblem getProblem(Compilation &compilation) {
  return *getTuningProblem(getStep(compilation),
                           compilation.getOptions().getProducts());
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static TuningEntry makeEntry(int64_t m, const char *region) {
  TuningEntry entry;
  entry.key = {"gemm", "ieee", "f16:a1 f16:a1 -> f16:a1", region};
  entry.sizes = {{"m", m}, {"n", 1024}, {"k", 512}, {"batch", 1}};
  entry.kernel = "matmul";
  entry.tuned = {"mma_schedule<b>", 900};
  entry.model = {"mma_schedule<a>", 1000};
  return entry;
}

static TuningFile makeFile() {
  TuningFile file;
  TuningDevice device;
  device.target = "sm_90a";
  device.name = "NVIDIA H200";
  device.multiprocessors = 132;
  device.entries = {makeEntry(2048, "b"), makeEntry(128, "b"),
                    makeEntry(4096, "a")};
  file.devices.push_back(device);
  return file;
}

TEST(TuningFile, isPrintedAsItWasParsed) {
  std::string text = makeFile().print();
  TuningFile parsed = llvm::cantFail(TuningFile::parse(text));
  EXPECT_EQ(parsed.print(), text);
  EXPECT_EQ(parsed.digest.size(), 64u);
  const TuningDevice *device = parsed.find("sm_90a");
  ASSERT_TRUE(device);
  EXPECT_EQ(parsed.find("sm_80"), nullptr);
  ASSERT_EQ(device->entries.size(), 3u);
  EXPECT_EQ(device->entries[0].key.region, "a");
  EXPECT_EQ(device->entries[1].sizes.at("m"), 128);
  EXPECT_EQ(device->entries[2].tuned.nanoseconds, 900);
}

TEST(TuningFile, replacesEntriesOfOneProblem) {
  TuningFile file = makeFile();
  TuningEntry entry = makeEntry(128, "b");
  entry.tuned.nanoseconds = 800;
  setEntry(file.devices[0], entry);
  EXPECT_EQ(file.devices[0].entries.size(), 3u);
  dropEntry(file.devices[0], entry);
  EXPECT_EQ(file.devices[0].entries.size(), 2u);
}

static std::string getRefusal(const std::string &text) {
  llvm::Expected<TuningFile> file = TuningFile::parse(text);
  return file ? "" : llvm::toString(file.takeError());
}

TEST(TuningFile, refusesWhatItWouldNotWrite) {
  EXPECT_NE(getRefusal(""), "");
  EXPECT_NE(getRefusal("[]"), "");
  EXPECT_EQ(getRefusal(std::string(100000, '[')),
            "expected JSON that nests at most 16 deep");
  EXPECT_EQ(getRefusal(R"({"format": "other", "version": 1, "devices": []})"),
            "expected format 'fusec-tuning' of version 1, got 'other' of "
            "version 1");
  EXPECT_NE(getRefusal(R"({"format": "fusec-tuning", "version": 1})"), "");
  std::string text = makeFile().print();
  auto with = [&](llvm::StringRef from, llvm::StringRef to) {
    size_t at = text.find(from.str());
    EXPECT_NE(at, std::string::npos);
    return std::string(text).replace(at, from.size(), to.str());
  };
  EXPECT_NE(getRefusal(with("\"m\": 128", "\"m\": \"x\"")), "");
  EXPECT_NE(getRefusal(with("\"nanoseconds\": 900", "\"nanoseconds\": 0"))
                .find("above zero"),
            std::string::npos);
  EXPECT_NE(getRefusal(with("\"m\": 128", "\"m\": 2048")).find("one entry"),
            std::string::npos);
  TuningFile twice = makeFile();
  twice.devices.push_back(twice.devices[0]);
  twice.devices[1].name = "NVIDIA H100";
  EXPECT_NE(getRefusal(twice.print()).find("one device a target"),
            std::string::npos);
}

TEST(TuningFile, ignoresOtherKeyVersions) {
  TuningFile file = makeFile();
  file.devices[0].keyVersion = tuningKeyVersion + 1;
  TuningFile parsed = llvm::cantFail(TuningFile::parse(file.print()));
  EXPECT_EQ(parsed.find("sm_90a"), nullptr);
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

TEST(TuningProblem, isThatOfTheNamedSizes) {
  auto fixed = plan(getModel("2048", "relu")),
       named = plan(getModel("batch", "relu"));
  TuningProblem a = getProblem(*fixed), b = getProblem(*named);
  EXPECT_TRUE(a.key == b.key);
  EXPECT_EQ(a.key.operands, "f16:a1 f16:a1 f16:1 -> f16:a1");
  std::map<std::string, int64_t> sizes;
  for (const auto &[name, size] : a.sizes)
    sizes[name] = size.getValue();
  EXPECT_EQ(sizes, (std::map<std::string, int64_t>{
                       {"batch", 1}, {"k", 512}, {"m", 2048}, {"n", 1024}}));
  auto dims = solveSizes(b, sizes);
  ASSERT_TRUE(dims);
  EXPECT_EQ(*dims, (std::map<std::string, int64_t>{{"batch", 2048}}));
  sizes["n"] = 512;
  EXPECT_FALSE(solveSizes(b, sizes));
  EXPECT_TRUE(solveSizes(a, sizes) == std::nullopt);
}

TEST(TuningProblem, holdsForRowsOfSeveralDimensions) {
  auto named = plan(getModel("batch * sequence", "relu"));
  TuningProblem problem = getProblem(*named);
  auto dims =
      solveSizes(problem, {{"batch", 1}, {"k", 512}, {"m", 300}, {"n", 1024}});
  ASSERT_TRUE(dims);
  EXPECT_EQ(dims->at("batch") * dims->at("sequence"), 300);
}

TEST(TuningProblem, differsByEpilogueTypeAndAlignment) {
  auto relu = plan(getModel("2048", "relu")),
       exp = plan(getModel("2048", "exp")),
       bf16 = plan(getModel("2048", "relu", "bf16")),
       odd = plan(getModel("2048", "relu", "f16", "1001"));
  TuningKey key = getProblem(*relu).key;
  EXPECT_NE(key.region, getProblem(*exp).key.region);
  EXPECT_NE(key.operands, getProblem(*bf16).key.operands);
  EXPECT_EQ(getProblem(*odd).key.operands, "f16:a1 f16:u1 f16:1 -> f16:u1");
}

TEST(TuningProblem, staysThatOfTheStepAlone) {
  auto whole = plan(getModel("2048", "relu"));
  std::string text;
  llvm::raw_string_ostream(text) << *isolateStep(getStep(*whole));
  auto alone = plan(text, {}, Stage::Fused);
  EXPECT_TRUE(getProblem(*whole).key == getProblem(*alone).key);
  EXPECT_EQ(getScheduleText(getVariant(*whole, 0).getSchedule()),
            getScheduleText(getVariant(*alone, 0).getSchedule()));
}

/// A product whose K is split into ranges, and the sum of its parts.
static std::string getLongModel(const char *k) {
  std::string x = std::string("tensor<512x") + k + "xf16>",
              w = std::string("tensor<") + k + "x768xf16>";
  return R"(fusec.model @main inputs ["x", "w"] outputs ["y"] {
^bb0(%x: )" +
         x + ", %w: " + w + "):\n  %y = fusec.matmul %x, %w : " + x + ", " + w +
         " to tensor<512x768xf16>\n  fusec.output %y : "
         "tensor<512x768xf16>\n}\n";
}

TEST(TuningProblem, countsRangesAsBatches) {
  auto whole = plan(getLongModel("40008"));
  TuningProblem problem = getProblem(*whole);
  std::map<std::string, int64_t> sizes;
  for (const auto &[name, size] : problem.sizes)
    sizes[name] = size.getValue();
  EXPECT_EQ(sizes, (std::map<std::string, int64_t>{
                       {"batch", 11}, {"k", 3648}, {"m", 512}, {"n", 768}}));
  std::string text;
  llvm::raw_string_ostream(text) << *isolateStep(getStep(*whole));
  CompileOptions options;
  options.fuse = false;
  auto alone = plan(text, options, Stage::Fused);
  PlanOp planned = *alone->getModule().getOps<PlanOp>().begin();
  EXPECT_TRUE(llvm::hasSingleElement(planned.getOps<StepOp>()));
  EXPECT_TRUE(problem.key == getProblem(*alone).key);
  EXPECT_EQ(getScheduleText(getVariant(*whole, 0).getSchedule()),
            getScheduleText(getVariant(*alone, 0).getSchedule()));
  EXPECT_GT(getVariant(*alone, 0).getAlternatives().size(), 1u);
}

TEST(TuningProblem, keepsPaddedRowsAndIntegers) {
  auto whole =
      plan(R"(fusec.model @main inputs ["x", "ids"] outputs ["y", "r"] {
^bb0(%x: tensor<2048x64xf16>, %ids: tensor<4xi64>):
  %v = fusec.constant dense<0.5> : tensor<64x1004xf16>
  %w = fusec.constant dense<0.25> : tensor<1004x128xf16>
  %n = fusec.constant dense<[3, 5, 7, 9]> : tensor<4xi64>
  %p = fusec.matmul %x, %v : tensor<2048x64xf16>, tensor<64x1004xf16> to tensor<2048x1004xf16>
  %s = fusec.relu %p : tensor<2048x1004xf16>
  %y = fusec.matmul %s, %w : tensor<2048x1004xf16>, tensor<1004x128xf16> to tensor<2048x128xf16>
  %r = fusec.mod %ids, %n : tensor<4xi64>
  fusec.output %y, %r : tensor<2048x128xf16>, tensor<4xi64>
})");
  PlanOp planned = *whole->getModule().getOps<PlanOp>().begin();
  bool isPadded = false;
  for (StepOp step : planned.getOps<StepOp>()) {
    std::string text;
    llvm::raw_string_ostream(text) << *isolateStep(step);
    if (step.getFamily() == Family::Pointwise) {
      EXPECT_NE(text.find("dense<[3, 5, 7, 9]>"), std::string::npos);
    }
    if (step.getFamily() != Family::Gemm)
      continue;
    auto alone = plan(text, {}, Stage::Fused);
    TuningKey key = getTuningProblem(step, Products::Ieee)->key;
    isPadded |= key.operands == "f16:a1 f16:a1 -> f16:a1";
    EXPECT_EQ(
        getScheduleText(cast<VariantAttr>(step.getVariants()[0]).getSchedule()),
        getScheduleText(getVariant(*alone, 0).getSchedule()));
  }
  EXPECT_TRUE(isPadded);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// A file that prefers the last but one candidate at m.
static std::shared_ptr<TuningFile> tune(int64_t m, std::string *schedule) {
  CompileOptions all;
  all.candidates = 0;
  auto fixed = plan(getModel(std::to_string(m), "relu"), all);
  TuningFile file = makeFile();
  TuningEntry entry = makeEntry(m, "");
  entry.key = getProblem(*fixed).key;
  VariantAttr variant = getVariant(*fixed, 0);
  EXPECT_GT(variant.getAlternatives().size(), 5u);
  // A candidate that the trimmed list would not have.
  *schedule = getScheduleText(
      variant.getAlternatives().drop_back().back().getSchedule());
  entry.tuned.schedule = *schedule;
  file.devices[0].entries = {entry};
  return std::make_shared<TuningFile>(file);
}

TEST(TunedSchedules, goFirst) {
  std::string schedule;
  CompileOptions options;
  options.tuning = tune(2048, &schedule);
  auto tuned = plan(getModel("2048", "relu"), options),
       plain = plan(getModel("2048", "relu")),
       other = plan(getModel("2048", "exp"), options);
  VariantAttr variant = getVariant(*tuned, 0);
  EXPECT_EQ(getScheduleText(variant.getSchedule()), schedule);
  EXPECT_EQ(variant.getMeasured(), 900);
  EXPECT_EQ(variant.getAlternatives().size(), 4u);
  // Should it spill, the model's pick is next.
  EXPECT_EQ(getScheduleText(variant.getNext().getSchedule()),
            getScheduleText(getVariant(*plain, 0).getSchedule()));
  EXPECT_EQ(variant.getNext().getMeasured(), 0);
  EXPECT_EQ(getVariant(*other, 0).getMeasured(), 0);
}

TEST(TunedSchedules, serveTheBucketOfTheirSize) {
  std::string schedule;
  CompileOptions options;
  options.tuning = tune(2048, &schedule);
  auto named = plan(getModel("batch", "relu"), options);
  unsigned count = 0;
  for (auto variant : getStep(*named).getVariants().getAsRange<VariantAttr>()) {
    if (!variant.getMeasured())
      continue;
    ++count;
    EXPECT_EQ(getScheduleText(variant.getSchedule()), schedule);
    for (GuardAttr guard : variant.getGuards())
      if (guard.getKind() == GuardKind::Gt) {
        EXPECT_LT(Expr(guard.getRhs()).getValue(), 2048);
      }
  }
  EXPECT_EQ(count, 1u);
}

TEST(TunedSchedules, areNotTakenWhereTheyAreNoCandidates) {
  std::string schedule;
  auto tuning = tune(2048, &schedule);
  tuning->devices[0].entries[0].tuned.schedule = "none_schedule<tileM = 1>";
  CompileOptions options;
  options.tuning = tuning;
  auto tuned = plan(getModel("2048", "relu"), options),
       plain = plan(getModel("2048", "relu"));
  EXPECT_EQ(getVariant(*tuned, 0).getMeasured(), 0);
  EXPECT_EQ(getScheduleText(getVariant(*tuned, 0).getSchedule()),
            getScheduleText(getVariant(*plain, 0).getSchedule()));
}
