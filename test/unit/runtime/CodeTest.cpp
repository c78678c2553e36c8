// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device code in a bundle: it ends within its section, and its kernels take
// what the manifest passes.

#include "runtime/format/BundleLayout.h"
#include "test/unit/runtime/TestBundle.h"

#include <gtest/gtest.h>

using namespace fusec::format;
using namespace fusec::test;

// What is said of a bundle whose only section but the manifest is this code.
static std::string openWith(SectionKind kind, const std::vector<uint8_t> &code,
                            const Edit &edit = nullptr) {
  std::vector<uint8_t> file;
  std::string error;
  BundleWriter writer(1, sinkTo(file));
  writer.addCode(kind, spanOf(code));
  Manifest manifest = makeManifest();
  manifest.plans = {manifest.plans[1]};
  Plan &plan = manifest.plans[0];
  if (edit)
    edit(manifest);
  else
    plan.steps.clear();
  for (Step &step : plan.steps)
    for (Variant &variant : step.variants)
      for (Launch &launch : variant.launches)
        for (Param &param : launch.params)
          if (auto *pointer = std::get_if<Pointer>(&param))
            *pointer = {Pointer::Kind::Input, 0, Expr()};
          else if (auto *map = std::get_if<TensorMapParam>(&param))
            map->of = {Pointer::Kind::Input, 0, Expr()};
  plan.weights.clear();
  EXPECT_TRUE(writer.finish(manifest, error)) << error;
  Bundle bundle;
  Bundle::open(spanOf(file), HashWeights::Always, bundle, error);
  return error;
}

// The driver is not told where code ends.
TEST(Code, CodeEndsWithinItsSection) {
  const std::vector<uint8_t> good = makeCubin();
  std::string size = std::to_string(good.size());
  size_t sections = loadLittle<uint64_t>(&good[40]);
  auto openEdited = [&](size_t at, uint8_t value) {
    std::vector<uint8_t> cubin = good;
    cubin[at] = value;
    return openWith(SectionKind::Cubin, cubin);
  };
  std::string name = "bundle: section 1 (cubin): ";
  EXPECT_EQ(openWith(SectionKind::Cubin, good), "");
  EXPECT_EQ(openWith(SectionKind::Cubin, {}),
            name + "expected an ELF file of 64 bits, little endian");
  EXPECT_EQ(openEdited(1, 'e'),
            name + "expected an ELF file of 64 bits, little endian");
  for (size_t cut = 0; cut != good.size(); ++cut) {
    std::vector<uint8_t> cubin = good;
    cubin.resize(cut);
    EXPECT_EQ(openWith(SectionKind::Cubin, cubin).find(name), 0u) << cut;
  }
  EXPECT_EQ(openEdited(54, 57),
            name + "ELF program headers: expected entries of 56 bytes, found 1 "
                   "of 57");
  EXPECT_EQ(openEdited(60, 200),
            name +
                "ELF section headers: expected a range within the section's " +
                size + " bytes, found 12800 bytes at offset " +
                std::to_string(sections));
  EXPECT_EQ(openEdited(60, 0),
            name + "ELF section headers: expected entries of 64 bytes, found 0 "
                   "of 64");
  EXPECT_NE(openEdited(47, 0xff).find("ELF section headers"),
            std::string::npos);
  EXPECT_EQ(openEdited(64 + 10, 2),
            name +
                "ELF program header 0: expected a range within the "
                "section's " +
                size + " bytes, found 56 bytes at offset 131136");
  EXPECT_EQ(openEdited(sections + 64 + 34, 2),
            name +
                "ELF section header 1: expected a range within the "
                "section's " +
                size + " bytes, found 131076 bytes at offset 120");
  size_t shared = sections + 64 * (2 * testKernels().size() + 1);
  EXPECT_EQ(openEdited(shared + 33, 99), "") << "it has no bytes";
  EXPECT_EQ(openWith(SectionKind::Ptx, {}),
            "bundle: section 1 (ptx): expected PTX, found no bytes");
}

// The driver tells kinds of code apart by the first bytes, and would take the
// ends of anything else from its headers, which nothing has checked.
TEST(Code, PtxIsText) {
  std::string name = "bundle: section 1 (ptx): ";
  EXPECT_EQ(openWith(SectionKind::Ptx, makeCubin()),
            name + "expected PTX, which is text, found byte 0x7f at offset 0");
  std::vector<uint8_t> fatbin = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
  EXPECT_EQ(openWith(SectionKind::Ptx, fatbin),
            name + "expected PTX, which is text, found byte 0xed at offset 1");
  std::vector<uint8_t> cut = {'.', 'v', 'e', 'r', 0};
  EXPECT_EQ(openWith(SectionKind::Ptx, cut),
            name + "expected PTX, which is text, found byte 0x00 at offset 4");
}

// Of parameters passed one by one the driver reads what the kernel takes.
TEST(Code, ParametersOfOtherKernels) {
  std::string vector = "bundle: plans[0].steps[1].variants[0].launches[0].";
  auto vectorParams = [](Manifest &m) -> std::vector<Param> & {
    return m.plans[0].steps[1].variants[0].launches[0].params;
  };
  auto open = [](const Edit &edit) {
    return openWith(SectionKind::Cubin, makeCubin(), edit);
  };
  std::string takes = ", as kernel 'fake_vector' takes, found ";
  EXPECT_EQ(open([](Manifest &) {}), "");
  EXPECT_EQ(open([&](Manifest &m) { vectorParams(m).pop_back(); }),
            vector + "params: expected 6 parameters" + takes + "5");
  EXPECT_EQ(open([&](Manifest &m) { vectorParams(m).clear(); }),
            vector + "params: expected 6 parameters" + takes + "0");
  EXPECT_EQ(open([&](Manifest &m) { vectorParams(m).emplace_back(); }),
            vector + "params: expected 6 parameters" + takes + "7");
  EXPECT_EQ(open([&](Manifest &m) {
              std::swap(vectorParams(m)[0], vectorParams(m)[2]);
            }),
            vector + "params[0]: expected 8 bytes" + takes + "128");
  EXPECT_EQ(open([&](Manifest &m) {
              vectorParams(m)[5] = SizeParam{DType::I32, Expr(1)};
            }),
            vector + "params[5]: expected 8 bytes" + takes + "4");
  EXPECT_EQ(open([](Manifest &m) {
              m.plans[0].steps[1].variants[1].launches[0].params.pop_back();
            }),
            "bundle: plans[0].steps[1].variants[1].launches[0].params: "
            "expected 12 bytes in all, as kernel 'fake_scalar' takes, found 8");
  EXPECT_EQ(open([](Manifest &m) {
              m.plans[0].steps[1].variants[0].launches[0].symbol = "absent";
            }),
            vector + "symbol: expected a kernel of section 1, found 'absent'");
}

// Tables that say what cannot be, and every byte of the file changed: read
// within its bytes, and refused or believed.
TEST(Code, DamagedParameterTables) {
  const std::vector<uint8_t> good = makeCubin({{"k", {8, 4}}});
  auto open = [](const std::vector<uint8_t> &cubin) {
    return openWith(SectionKind::Cubin, cubin, [](Manifest &m) {
      m.plans[0].steps.resize(1);
      m.plans[0].steps[0].variants = {m.plans[0].steps[0].variants[1]};
      Launch &launch = m.plans[0].steps[0].variants[0].launches[0];
      launch.symbol = "k";
      launch.params = {FaultParam(), SizeParam{DType::I32, Expr(1)}};
      launch.cooperative = true;
    });
  };
  EXPECT_EQ(open(good), "");
  // Behind the headers of file and segment and 4 bytes of code: a version, the
  // bytes of all, and two parameters of 4 words each.
  size_t table = 64 + 56 + 4, first = table + 12;
  size_t sections = loadLittle<uint64_t>(&good[40]), info = sections + 2 * 64;
  auto openEdited = [&](size_t at, uint8_t value) {
    std::vector<uint8_t> cubin = good;
    cubin[at] = value;
    return open(cubin);
  };
  std::string place = "bundle: section 1: ",
              kernel = place + "parameters of kernel 'k': ";
  EXPECT_EQ(openEdited(table, 5),
            kernel + "expected a format of 1 to 4, found 5");
  EXPECT_EQ(openEdited(table + 3, 1),
            kernel + "expected 260 bytes at 4, found the end");
  EXPECT_EQ(openEdited(first + 2, 8),
            kernel + "expected 12 bytes of a parameter, found 8");
  EXPECT_EQ(openEdited(first + 8, 0), kernel + "parameter 0 occurs twice");
  EXPECT_EQ(openEdited(first + 8, 2),
            kernel + "expected parameters one behind the other, found number 2 "
                     "at offset 8 behind number 1 up to 8");
  EXPECT_EQ(openEdited(first + 10, 7),
            kernel + "expected parameters one behind the other, found number 1 "
                     "at offset 7 behind number 1 up to 8");
  EXPECT_EQ(openEdited(first + 10, 12),
            kernel + "expected parameters up to byte 12, found 16");
  EXPECT_EQ(openEdited(first + 1, 0x18),
            kernel + "expected parameters up to byte 12, found 8");
  EXPECT_EQ(openEdited(info + 44, 3),
            place + "ELF section header 2: expected the section of the "
                    "kernel's code, found 3");
  EXPECT_EQ(openEdited(info + 44, 0xff),
            place + "ELF section header 2: expected the section of the "
                    "kernel's code, found 255");
  EXPECT_EQ(openEdited(62, 0xff),
            "bundle: plans[0].steps[0].variants[0].launches[0].symbol: "
            "expected a kernel of section 1, found 'k'");
  // Two sections of one name.
  std::vector<uint8_t> twice = makeCubin({{"k", {8, 4}}, {"k", {8, 4, 4}}});
  EXPECT_EQ(open(twice),
            place + "ELF section header 4: kernel 'k' occurs twice");
  // Many that are the same bytes.
  std::vector<TestKernel> many;
  for (int i = 0; i != 40; ++i)
    many.push_back({"k" + std::to_string(i), {8, 4}});
  std::vector<uint8_t> overlapping = makeCubin(many);
  for (int i = 0; i != 40; ++i) {
    uint8_t *header =
        &overlapping[loadLittle<uint64_t>(&overlapping[40])] + 64 * (41 + i);
    storeLittle<uint64_t>(header + 24, 0);
    storeLittle<uint64_t>(header + 32, overlapping.size());
  }
  EXPECT_NE(open(overlapping), "");
  for (size_t i = 0; i != good.size(); ++i)
    for (unsigned bit = 0; bit != 8; ++bit)
      openEdited(i, uint8_t(good[i] ^ (1u << bit)));
}
