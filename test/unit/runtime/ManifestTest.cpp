// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The manifest's text: what is written is read back, and what is wrong is
// refused with its place, what was expected and what was found.

#include "test/unit/runtime/ManifestTesting.h"

using namespace fusec::format;
using namespace fusec::test;

namespace {
Launch &vectorLaunch(Manifest &manifest) {
  return hopper(manifest).steps[1].variants[0].launches[0];
}
TensorMapParam &tensorMap(Manifest &manifest) {
  return std::get<TensorMapParam>(vectorLaunch(manifest).params[3]);
}
} // namespace

TEST(Manifest, RoundTrip) {
  std::string json = writeManifest(makeManifest());
  Manifest parsed;
  std::string error;
  ASSERT_TRUE(parseManifest(json, parsed, error)) << error;
  EXPECT_EQ(writeManifest(parsed), json);
  EXPECT_EQ(writeManifest(makeManifest()), json);
  EXPECT_EQ(parsed.plans[1].buffers[1].layout, "{\"pitch\":3}");
  EXPECT_EQ(parsed.options.at("precision"), "ieee");
}

TEST(Manifest, KeepsLargeNumbers) {
  Manifest manifest = makeManifest();
  manifest.plans[0].steps[0].variants[1].launches[0].params[0] =
      SizeParam{DType::I64, Expr(INT64_MAX)};
  Manifest parsed;
  std::string error;
  ASSERT_TRUE(parseManifest(writeManifest(manifest), parsed, error)) << error;
  const Param &param =
      parsed.plans[0].steps[0].variants[1].launches[0].params[0];
  EXPECT_EQ(toString(std::get<SizeParam>(param).value),
            std::to_string(INT64_MAX));
}

TEST(Manifest, KeepsWordsOfFlags) {
  Manifest manifest = makeManifest(), parsed;
  vectorLaunch(manifest).params.back() = FlagsParam{66, 32};
  std::string error, text = writeManifest(manifest);
  ASSERT_TRUE(parseManifest(text, parsed, error)) << error;
  const Param &param = vectorLaunch(parsed).params.back();
  EXPECT_EQ(std::get<FlagsParam>(param).words, 66u);
  EXPECT_EQ(std::get<FlagsParam>(param).team, 32u);

  const std::string team = "\"team\":32";
  text.replace(text.find(team), team.size(), "\"team\":0");
  EXPECT_FALSE(parseManifest(text, parsed, error));
  EXPECT_NE(error.find("expected 1 block or more, found 0"), std::string::npos)
      << error;
}

TEST(Manifest, TextErrors) {
  EXPECT_NE(textRefusal("{\"format\"", "{format").find("not valid JSON"),
            std::string::npos);
  EXPECT_EQ(textRefusal("\"compiler\":\"fusec 0.1.0\"", "\"compiler\":3"),
            "compiler: expected a string, found 3");
  EXPECT_EQ(textRefusal("\"nvrtc\"", "\"nvrtx\""),
            "manifest: unknown member 'nvrtx'");
  EXPECT_EQ(textRefusal("\"nvrtc\":\"13.0\",", ""),
            "manifest: member 'nvrtc' is missing");
  EXPECT_EQ(
      textRefusal("\"dtype\":\"f32\"", "\"dtype\":\"f31\""),
      "inputs[0].dtype: expected an element type such as 'f32', found \"f31\"");
  EXPECT_EQ(textRefusal("\"block\":[128,1,1]", "\"block\":[128,1]"),
            "plans[0].steps[0].variants[0].launches[0].block: expected three "
            "integers, found "
            "[128,1]");
  EXPECT_EQ(textRefusal("\"smem\":1024", "\"smem\":-1"),
            "plans[0].steps[0].variants[0].launches[0].smem: expected an "
            "integer of at least 0, "
            "found -1");
  for (const char *words : {"64", "65", "4194305"})
    EXPECT_EQ(textRefusal("{\"kind\":\"flags\"}",
                          std::string("{\"kind\":\"flags\",\"words\":") +
                              words + "}"),
              std::string("plans[1].steps[1].variants[0].launches[0].params[5]."
                          "words: expected 66 to 4194304 words, found ") +
                  words);
  EXPECT_NE(textRefusal("\"ceildiv\"", "\"shr\"")
                .find("grid[0]: expected an operator"),
            std::string::npos);
  EXPECT_NE(
      textRefusal("\"minor\":9", "\"minor\":10").find("expected version 0.9"),
      std::string::npos);
  EXPECT_EQ(textRefusal("\"nvrtc\"", "\"compiler\":\"\",\"nvrtc\""),
            "manifest: 'compiler' occurs twice");
  EXPECT_EQ(textRefusal("\"layout\":{}", "\"layout\":{\"a\":1,\"a\":2}"),
            "manifest: 'a' occurs twice");
  std::string deep = std::string(100000, '[');
  EXPECT_NE(textRefusal("[\"batch\",\"n\"]", deep).find("nested"),
            std::string::npos);
}

TEST(Manifest, Values) {
  EXPECT_EQ(
      refusal([](Manifest &m) {
        m.dims = {"n", "batch"};
      }),
      "dims[1]: expected names in ascending order, found 'batch' after 'n'");
  EXPECT_EQ(refusal([](Manifest &m) { m.dims = {"batch"}; }),
            "inputs[1].sizes[1]: unknown dimension 'n'");
  EXPECT_EQ(refusal([](Manifest &m) { m.inputs[1].name = "x"; }),
            "inputs: name 'x' occurs twice");
  EXPECT_EQ(refusal([](Manifest &m) { m.inputs[0].sizes[1] = Expr(-4); }),
            "inputs[0].sizes[1]: expected a size of at least 0, found -4");
  EXPECT_EQ(refusal([](Manifest &m) { m.plans.clear(); }),
            "plans: expected at least one plan, found none");
  EXPECT_EQ(refusal([](Manifest &m) { m.plans[2].target = "sm_80"; }),
            "plans[2]: target 'sm_80' occurs twice");
  EXPECT_EQ(refusal([](Manifest &m) { m.plans[2].target = "gfx90a"; }),
            "plans[2].target: expected a name such as 'sm_80', 'sm_90a' or "
            "'ptx', found 'gfx90a'");
  EXPECT_EQ(refusal([](Manifest &m) {
              m.inputs[1].name = m.inputs[0].name = "\x1b[2J\n";
            }),
            "inputs: name '\\x1b[2J\\x0a' occurs twice");
  EXPECT_EQ(refusal([](Manifest &m) { hopper(m).buffers[1].slot = 2; }),
            "plans[1].buffers[1].slot: expected an index below 2, found 2");
}

// Whatever the dimensions are: that is no matter of who gives them.
TEST(Manifest, NegativeSizes) {
  auto refuse = [](const Edit &edit) {
    std::string error = refusal(edit), sizes = ": expected a size of at least ";
    size_t end = error.find(sizes);
    return end == std::string::npos
               ? error
               : error.substr(0, end) + " " + error.substr(end + sizes.size());
  };
  Expr negative = Expr::mul(Expr::dim("batch"), Expr(-1));
  Expr less = Expr::make(Expr::Op::Sub, {Expr(3), Expr(4)});
  std::string vector = "plans[1].steps[1].variants[0].launches[0].";
  EXPECT_EQ(refuse([&](Manifest &m) { m.inputs[0].sizes[1] = less; }),
            "inputs[0].sizes[1] 0, found 3 - 4");
  EXPECT_EQ(refuse([&](Manifest &m) { m.outputs[0].sizes[0] = negative; }),
            "outputs[0].sizes[0] 0, found batch * -1");
  EXPECT_EQ(refuse([&](Manifest &m) { hopper(m).slots[1] = negative; }),
            "plans[1].slots[1] 0, found batch * -1");
  EXPECT_EQ(refuse([&](Manifest &m) { hopper(m).buffers[0].size = negative; }),
            "plans[1].buffers[0].size 0, found batch * -1");
  EXPECT_EQ(refuse([&](Manifest &m) { hopper(m).buffers[0].offset = less; }),
            "plans[1].buffers[0].offset 0, found 3 - 4");
  EXPECT_EQ(refuse([&](Manifest &m) { vectorLaunch(m).grid[1] = less; }),
            vector + "grid[1] 0, found 3 - 4");
  EXPECT_EQ(refuse([&](Manifest &m) {
              std::get<Pointer>(vectorLaunch(m).params[0]).offset = negative;
            }),
            vector + "params[0].offset 0, found batch * -1");
  EXPECT_EQ(refuse([&](Manifest &m) { tensorMap(m).sizes[1] = negative; }),
            vector + "params[3].sizes[1] 0, found batch * -1");
  EXPECT_EQ(refuse([&](Manifest &m) { tensorMap(m).strides[0] = less; }),
            vector + "params[3].strides[0] 0, found 3 - 4");
  auto parameter = [&](Expr value) {
    return refuse([&](Manifest &m) {
      vectorLaunch(m).params[0] = SizeParam{DType::I32, std::move(value)};
    });
  };
  EXPECT_EQ(parameter(negative), vector + "params[0].value: expected 0 to "
                                          "2147482623, found batch * -1");
  EXPECT_EQ(parameter(Expr(mostSize32 + 1)),
            vector +
                "params[0].value: expected 0 to 2147482623, found 2147482624");
  EXPECT_EQ(refuse([&](Manifest &m) {
              m.constraints[0].rhs = Expr::mul(Expr(INT64_MAX), Expr(2));
            }),
            "constraints[0].rhs: expected a number of 64 bits, found "
            "9223372036854775807 * 2, which overflows or divides by zero");
  EXPECT_EQ(textRefusal("\"offset\":256", "\"offset\":-256"),
            "plans[0].weights[1].offset: expected an integer of at least 0, "
            "found -256");
  EXPECT_EQ(textRefusal("\"sizes\":[2]", "\"sizes\":[-2]"),
            "plans[0].weights[1].sizes[0]: expected a size of at least 0, "
            "found -2");
}

TEST(Manifest, IndexRanges) {
  auto refuse = [](std::vector<IndexRange> ranges, DType dtype = DType::I64) {
    return refusal([&](Manifest &m) {
      m.inputs[0].dtype = dtype;
      m.inputs[0].indexRanges = std::move(ranges);
    });
  };
  EXPECT_EQ(refuse({{0, 5, 0}}, DType::F32),
            "inputs[0].index_ranges: expected none of what has no integers");
  EXPECT_EQ(refuse({{3, 2, 0}}),
            "inputs[0].index_ranges[0]: expected 0 <= begin <= end, found 3 "
            "and 2");
  EXPECT_EQ(refuse({{0, 2, 3}}),
            "inputs[0].index_ranges: expected as many columns as the last "
            "size, found 3");
  EXPECT_EQ(refuse({{0, 2, 4}, {0, 2, 0}}),
            "inputs[0].index_ranges[1]: expected 1 to 2147483647 columns, or "
            "one range with 0, found 0");

  Manifest parsed = readBack([](Manifest &m) {
    m.inputs[0].dtype = DType::I64;
    m.inputs[0].indexRanges = {{0, int64_t(1) << 40, 1}, {7, 7, 3}};
  });
  EXPECT_EQ(parsed.inputs[0].indexRanges[0].end, int64_t(1) << 40);
  EXPECT_EQ(parsed.inputs[0].indexRanges[1].columns, 3);
}

TEST(Manifest, Work) {
  auto refuse = [](const std::function<void(Work &)> &edit) {
    return refusal([&](Manifest &m) {
      edit(*hopper(m).steps[1].variants[0].launches[0].work);
    });
  };
  EXPECT_EQ(refuse([](Work &work) { work.lead = 2; }),
            "plans[1].steps[1].variants[0].launches[0].work.lead: expected a "
            "step below 2, found 2");
  EXPECT_EQ(refuse([](Work &work) { work.written = Expr(-1); }),
            "plans[1].steps[1].variants[0].launches[0].work.written: expected "
            "a size of at least 0, found -1");
  EXPECT_EQ(refuse([](Work &work) { work.operations = Expr::dim("m"); }),
            "plans[1].steps[1].variants[0].launches[0].work.operations: "
            "unknown dimension 'm'");
  EXPECT_EQ(textRefusal("\"unit\":\"tf32\"", "\"unit\":\"tf64\""),
            "plans[0].steps[1].variants[0].launches[0].work.unit: expected "
            "'fma', 'tf32', 'tf32x3' or 'half', found \"tf64\"");
  EXPECT_EQ(textRefusal("\"dim\":1024", "\"size\":1024"),
            "plans[0].steps[0].variants[0].launches[0].work.predicted: unknown "
            "member 'size'");

  Manifest parsed;
  std::string error, json = writeManifest(makeManifest());
  ASSERT_TRUE(parseManifest(json, parsed, error)) << error;
  EXPECT_EQ(writeManifest(parsed), json);
  const auto &steps = hopper(parsed).steps;
  EXPECT_EQ(steps[0].variants[0].launches[0].work->nanoseconds, 5000u);
  EXPECT_FALSE(steps[0].variants[1].launches[0].work);
  EXPECT_EQ(steps[1].variants[0].launches[0].work->lead, 0u);
  EXPECT_EQ(steps[1].variants[0].launches[0].work->unit, MathUnit::Tf32);
}

TEST(Manifest, PreviousMinorVersion) {
  Manifest manifest = makeManifest();
  manifest.minor = formatMinor - 1;
  Manifest parsed;
  std::string error;
  EXPECT_TRUE(parseManifest(writeManifest(manifest), parsed, error)) << error;
}

TEST(Manifest, Steps) {
  EXPECT_EQ(
      refusal([](Manifest &m) { hopper(m).steps[0].variants.clear(); }),
      "plans[1].steps[0].variants: expected at least one variant, found none");
  EXPECT_EQ(refusal([](Manifest &m) {
              hopper(m).steps[0].variants[0].guard.clear();
            }),
            "plans[1].steps[0].variants[0].guard: expected a condition in "
            "every variant but the "
            "last, found none");
  EXPECT_EQ(
      refusal([](Manifest &m) { hopper(m).steps[0].variants.pop_back(); }),
      "plans[1].steps[0].variants[0].guard: expected no condition in the last "
      "variant, "
      "found 1");
  EXPECT_EQ(refusal([](Manifest &m) {
              hopper(m).steps[1].variants[0].guard[0].bytes = 24;
            }),
            "plans[1].steps[1].variants[0].guard[0].bytes: expected a power of "
            "two of at most "
            "4096, found 24");
}

TEST(Manifest, Launches) {
  std::string launch = "plans[1].steps[1].variants[0].launches[0].";
  EXPECT_EQ(refusal([](Manifest &m) {
              vectorLaunch(m).block = {1024, 2, 1};
            }),
            launch + "block: expected a product of at most 1024, found 2048");
  EXPECT_EQ(refusal([](Manifest &m) { vectorLaunch(m).block[1] = 0; }),
            launch + "block[1]: expected 1 to 1024, found 0");
  EXPECT_EQ(
      refusal([](Manifest &m) {
        vectorLaunch(m).cluster = {4, 1, 1};
      }),
      launch +
          "cluster: expected at most the plan's cluster of 2 blocks, found 4");
  EXPECT_EQ(refusal([](Manifest &m) { vectorLaunch(m).smem = 4097; }),
            launch +
                "smem: expected at most the plan's 4096 bytes, found 4097");
  EXPECT_EQ(
      refusal([](Manifest &m) { vectorLaunch(m).symbol = "a b"; }),
      launch +
          "symbol: expected letters, digits, '_', '$' and '.', found 'a b'");
  EXPECT_EQ(refusal([](Manifest &m) {
              std::get<Pointer>(vectorLaunch(m).params[0]).index = 7;
            }),
            launch + "params[0].index: expected an index below the number of "
                     "buffers, 2, found 7");
  EXPECT_EQ(refusal([](Manifest &m) {
              vectorLaunch(m).params[0] = SizeParam{DType::F32, Expr(1)};
            }),
            launch + "params[0].type: expected 'i32' or 'i64', found 'f32'");
  EXPECT_NE(refusal([](Manifest &m) {
              vectorLaunch(m).params.resize(5000);
            }).find("bytes in all"),
            std::string::npos);
  EXPECT_EQ(refusal([](Manifest &m) {
              m.plans[0].cluster = 2;
              m.plans[0].steps[0].variants[0].launches[0].cluster = {2, 1, 1};
            }),
            "plans[0].steps[0].variants[0].launches[0].cluster: clusters need "
            "a target of sm_90 "
            "or later, found 'sm_80'");
}

TEST(Manifest, CooperativeLaunches) {
  std::string launch = "plans[1].steps[1].variants[0].launches[0].";
  std::string expected = ": expected 1 of a cooperative launch, found ";
  EXPECT_EQ(refusal([](Manifest &m) { vectorLaunch(m).grid[1] = Expr(7); }),
            launch + "grid[1]" + expected + "7");
  EXPECT_EQ(
      refusal([](Manifest &m) { vectorLaunch(m).grid[2] = Expr::dim("n"); }),
      launch + "grid[2]" + expected + "n");
  EXPECT_EQ(refusal([](Manifest &m) { vectorLaunch(m).block[1] = 2; }),
            launch + "block[1]" + expected + "2");
  EXPECT_EQ(refusal([](Manifest &m) {
              vectorLaunch(m).cluster = {1, 1, 2};
            }),
            launch + "cluster[2]" + expected + "2");
}

TEST(Manifest, TensorMaps) {
  std::string map = "plans[1].steps[1].variants[0].launches[0].params[3].";
  EXPECT_EQ(refusal([](Manifest &m) { tensorMap(m).strides.clear(); }),
            map + "strides: expected 1 strides, found 0");
  EXPECT_EQ(refusal([](Manifest &m) { tensorMap(m).box[1] = 257; }),
            map + "box[1]: expected 1 to 256, found 257");
  EXPECT_EQ(refusal([](Manifest &m) { tensorMap(m).swizzle = 48; }),
            map + "swizzle: expected 0, 32, 64 or 128, found 48");
  EXPECT_EQ(refusal([](Manifest &m) { tensorMap(m).promotion = 512; }),
            map + "promotion: expected 0, 64, 128 or 256, found 512");
  EXPECT_EQ(refusal([](Manifest &m) { tensorMap(m).box[0] = 3; }),
            map + "box[0]: expected a multiple of 16 bytes within the swizzle, "
                  "found 12 bytes");
}
