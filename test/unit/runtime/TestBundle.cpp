// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building the test bundle.

#include "test/unit/runtime/TestBundle.h"

#include "runtime/format/BundleLayout.h"

#include <cstring>
#include <gtest/gtest.h>

namespace fusec::test {

using namespace format;

namespace {
constexpr unsigned cubinSection = 1, ptxSection = 2, weightsSection = 3;
const char cubin[] = "FAKECUBIN fake_double fake_small fake_vector fake_scalar";
const char ptx[] =
    ".version 8.0 fake_double fake_small fake_vector fake_scalar\n";

Expr batch() { return Expr::dim("batch"); }

Launch makeLaunch(unsigned section, const char *symbol) {
  Launch launch;
  launch.section = section;
  launch.symbol = symbol;
  launch.grid[0] = Expr::make(Expr::Op::CeilDiv, {batch(), Expr(32)});
  launch.block = {128, 1, 1};
  launch.smem = 1024;
  return launch;
}

Plan makePlan(const char *target, unsigned section) {
  bool hopper = std::string(target) == "sm_90a";
  Plan plan;
  plan.target = target;
  plan.minDriver = 12040;
  plan.cluster = hopper ? 2 : 1;
  plan.smem = 4096;
  plan.slots = {Expr::mul(batch(), Expr(16)), Expr(100)};
  plan.buffers = {{"t", 0, Expr(0), Expr::mul(batch(), Expr(16)), "{}"},
                  {"u", 1, Expr(64), Expr(36), "{\"pitch\":3}"}};
  Weight weight;
  weight.name = "w";
  weight.section = weightsSection;
  weight.size = 16;
  weight.sizes = {4};
  Weight second = weight;
  second.name = "v";
  second.offset = 256;
  second.size = 8;
  second.sizes = {2};
  plan.weights = {weight, second};

  Pointer x{Pointer::Kind::Input, 0, Expr()},
      z{Pointer::Kind::Output, 0, Expr()};
  Pointer t{Pointer::Kind::Buffer, 0, Expr()},
      w{Pointer::Kind::Weight, 0, Expr(4)};
  Launch scale = makeLaunch(section, "fake_double");
  scale.params = {x, z, SizeParam{DType::I64, Expr::mul(batch(), Expr(4))}};
  Launch small = makeLaunch(section, "fake_small");
  small.params = {SizeParam{DType::I32, batch()}, w,
                  ScalarParam{DType::F32, 0x3f800000},
                  ScalarParam{DType::F64, 7}, FaultParam()};
  plan.steps.push_back(
      {"scale",
       {"node_a", "node_b"},
       {{{Condition::compare(Condition::Kind::Gt, batch(), Expr(64))}, {scale}},
        {{}, {small}}}});

  Launch vector = makeLaunch(section, "fake_vector");
  vector.params = {
      t, Pointer{Pointer::Kind::Output, 0, Expr::mul(batch(), Expr(16))}};
  if (hopper) {
    vector.grid[0] = Expr::mul(vector.grid[0], Expr(2));
    vector.cluster = {2, 1, 1};
    vector.pdl = vector.cooperative = true;
    TensorMapParam map;
    map.of = {Pointer::Kind::Weight, 0, Expr()};
    map.dtype = MapType::F32;
    map.sizes = {Expr(4)};
    map.box = {4};
    vector.params.push_back(map);
    map.of = x;
    map.sizes = {Expr(4), batch()};
    map.strides = {Expr(16)};
    map.box = {4, 64};
    map.promotion = 128;
    vector.params.push_back(map);
    map.of = t;
    vector.params.push_back(map);
    vector.params.push_back(FlagsParam());
  }
  Launch scalar = makeLaunch(section, "fake_scalar");
  scalar.params = {x, SizeParam{DType::I32, batch()}};
  plan.steps.push_back(
      {"mix",
       {},
       {{{Condition::aligned(Pointer::Kind::Input, 0, 16)}, {vector}},
        {{}, {scalar}}}});
  return plan;
}

const std::vector<uint8_t> &weightBytes() {
  static const std::vector<uint8_t> bytes = [] {
    std::vector<uint8_t> values(264);
    for (size_t i = 0; i != values.size(); ++i)
      values[i] = i < 16 || i >= 256 ? uint8_t(i + 1) : 0;
    return values;
  }();
  return bytes;
}

BundleWriter makeWriter(uint64_t weightsSize) {
  BundleWriter writer;
  writer.addSection(SectionKind::Cubin,
                    {reinterpret_cast<const uint8_t *>(cubin), sizeof(cubin)});
  writer.addSection(SectionKind::Ptx,
                    {reinterpret_cast<const uint8_t *>(ptx), sizeof(ptx) - 1});
  const uint8_t *weights = weightBytes().data();
  writer.addSection(SectionKind::Weights,
                    {{0, {weights, 16}}, {256, {weights + 256, 8}}},
                    weightsSize);
  return writer;
}
} // namespace

Manifest makeManifest() {
  Manifest manifest;
  manifest.compiler = "fusec 0.1.0";
  manifest.nvrtc = "13.0";
  manifest.options = {{"precision", "ieee"}, {"arch", "sm_80,sm_90a,ptx"}};
  manifest.dims = {"batch", "n"};
  manifest.constraints = {
      {Expr::dim("n"), Expr(4),
       "dimension 'n' of input 'y' must equal dimension 1 of input 'x'"}};
  manifest.inputs = {{"x", DType::F32, {batch(), Expr(4)}},
                     {"y", DType::F32, {batch(), Expr::dim("n")}}};
  manifest.outputs = {
      {"z", DType::F32, {Expr::mul(Expr(2), batch()), Expr(4)}}};
  manifest.plans = {makePlan("sm_80", cubinSection),
                    makePlan("sm_90a", cubinSection),
                    makePlan("ptx", ptxSection)};
  return manifest;
}

void addAdapter(Manifest &manifest) {
  for (Plan &plan : manifest.plans)
    for (size_t i : {0, 1}) {
      Weight &weight = plan.weights[i];
      weight.replaceable = true;
      weight.adapter = "up";
      weight.part = i == 0 ? AdapterPart::A : AdapterPart::B;
      weight.sizes = {2, i == 0 ? 2 : 1};
    }
}

std::vector<uint8_t> makeBundle(const Edit &edit, uint64_t weightsSize) {
  Manifest manifest = makeManifest();
  if (edit)
    edit(manifest);
  std::vector<uint8_t> file;
  std::string error;
  auto sink = [&](ByteSpan bytes) {
    file.insert(file.end(), bytes.data, bytes.data + bytes.size);
    return true;
  };
  EXPECT_TRUE(makeWriter(weightsSize).write(manifest, sink, error)) << error;
  return file;
}

std::vector<uint8_t> replaceManifest(const std::string &json) {
  std::vector<uint8_t> before = makeBundle();
  size_t count = loadLittle<uint32_t>(before.data() + 24);
  size_t tableSize = count * entrySize;
  std::vector<uint8_t> file(before.begin(),
                            before.begin() + long(headerSize + tableSize));
  for (size_t i = 0; i != count; ++i) {
    const uint8_t *old = before.data() + headerSize + i * entrySize;
    const uint8_t *data = before.data() + loadLittle<uint64_t>(old + 8);
    size_t size = loadLittle<uint64_t>(old + 16);
    if (i == 0) {
      data = reinterpret_cast<const uint8_t *>(json.data());
      size = json.size();
    }
    file.resize((file.size() + sectionAlignment - 1) / sectionAlignment *
                sectionAlignment);
    uint8_t *entry = file.data() + headerSize + i * entrySize;
    storeLittle<uint64_t>(entry + 8, file.size());
    storeLittle<uint64_t>(entry + 16, size);
    if (i == 0) {
      Digest digest = Sha256::hash(data, size);
      std::memcpy(entry + 24, digest.data(), digest.size());
    }
    file.insert(file.end(), data, data + size);
  }
  storeLittle<uint64_t>(file.data() + 16, file.size());
  Digest digest =
      headerDigest(file.data(), file.data() + headerSize, tableSize);
  std::memcpy(file.data() + digestOffset, digest.data(), digest.size());
  return file;
}

} // namespace fusec::test
