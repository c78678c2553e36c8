// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building the test bundle.

#include "test/unit/runtime/TestBundle.h"

#include "runtime/format/AlignUp.h"
#include "runtime/format/BundleLayout.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace fusec::test {

using namespace format;

namespace {
// One more than there are.
constexpr size_t sectionRoom = 4;
constexpr unsigned cubinSection = 1, ptxSection = 2, weightsSection = 3;
const char kernels[] =
    "FAKECUBIN fake_double fake_small fake_vector fake_scalar";
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

void addSections(BundleWriter &writer, uint64_t weightsSize) {
  writer.addSection(SectionKind::Cubin, spanOf(makeCubin()));
  writer.addSection(SectionKind::Ptx,
                    {reinterpret_cast<const uint8_t *>(ptx), sizeof(ptx) - 1});
  const uint8_t *weights = weightBytes().data();
  writer.addSection(SectionKind::Weights,
                    {{0, {weights, 16}}, {256, {weights + 256, 8}}},
                    weightsSize);
}
} // namespace

std::vector<uint8_t> makeCubin() {
  constexpr size_t header = 64, segment = 56, section = 64;
  constexpr size_t segments = 128, sections = segments + segment;
  static_assert(header + sizeof(kernels) <= segments);
  std::vector<uint8_t> file(sections + 3 * section);
  const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  std::copy(std::begin(ident), std::end(ident), file.begin());
  std::copy(std::begin(kernels), std::end(kernels), file.begin() + header);
  storeLittle<uint64_t>(&file[32], segments);
  storeLittle<uint64_t>(&file[40], sections);
  storeLittle<uint16_t>(&file[54], segment);
  storeLittle<uint16_t>(&file[56], 1);
  storeLittle<uint16_t>(&file[58], section);
  storeLittle<uint16_t>(&file[60], 3);
  storeLittle<uint64_t>(&file[segments + 8], header);
  storeLittle<uint64_t>(&file[segments + 32], sizeof(kernels));
  uint8_t *text = &file[sections + section], *shared = text + section;
  storeLittle<uint32_t>(text + 4, 1);
  storeLittle<uint64_t>(text + 24, header);
  storeLittle<uint64_t>(text + 32, sizeof(kernels));
  storeLittle<uint32_t>(shared + 4, 8);
  storeLittle<uint64_t>(shared + 24, file.size());
  storeLittle<uint64_t>(shared + 32, 1000);
  return file;
}

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
  BundleWriter writer(sectionRoom, sinkTo(file));
  addSections(writer, weightsSize);
  EXPECT_TRUE(writer.finish(manifest, error)) << error;
  return file;
}

BundleWriter::Sink sinkTo(std::vector<uint8_t> &file) {
  return [&file](uint64_t offset, ByteSpan bytes) {
    file.resize(std::max<size_t>(file.size(), offset + bytes.size));
    std::copy_n(bytes.data, bytes.size, file.begin() + long(offset));
    return true;
  };
}

// The size and the hash in the header.
static void seal(std::vector<uint8_t> &file) {
  storeLittle<uint64_t>(file.data() + 16, file.size());
  size_t tableSize = loadLittle<uint32_t>(file.data() + 24) * entrySize;
  Digest digest =
      headerDigest(file.data(), file.data() + headerSize, tableSize);
  std::memcpy(file.data() + digestOffset, digest.data(), digest.size());
}

std::vector<uint8_t> replaceManifest(const std::string &json) {
  std::vector<uint8_t> file = makeBundle();
  // The manifest, section 0, is what the file ends with.
  uint8_t *entry = file.data() + headerSize;
  file.resize(loadLittle<uint64_t>(entry + 8));
  file.insert(file.end(), json.begin(), json.end());
  entry = file.data() + headerSize;
  storeLittle<uint64_t>(entry + 16, json.size());
  Digest digest = Sha256::hash(json.data(), json.size());
  std::memcpy(entry + 24, digest.data(), digest.size());
  seal(file);
  return file;
}

uint8_t &lastByteOf(std::vector<uint8_t> &file, size_t section) {
  const uint8_t *entry = file.data() + headerSize + section * entrySize;
  return file[loadLittle<uint64_t>(entry + 8) +
              loadLittle<uint64_t>(entry + 16) - 1];
}

void moveSection(std::vector<uint8_t> &file, size_t section, size_t onto) {
  uint8_t *entries = file.data() + headerSize;
  storeLittle<uint64_t>(entries + section * entrySize + 8,
                        loadLittle<uint64_t>(entries + onto * entrySize + 8));
  seal(file);
}

std::vector<uint8_t> layOut(const std::vector<uint8_t> &bundle,
                            const std::vector<size_t> &order) {
  size_t count = loadLittle<uint32_t>(bundle.data() + 24);
  size_t tableSize = count * entrySize;
  std::vector<uint8_t> file(bundle.begin(),
                            bundle.begin() + long(headerSize + tableSize));
  for (size_t section : order) {
    file.resize(alignUp(file.size(), sectionAlignment));
    const uint8_t *from = bundle.data() + headerSize + section * entrySize;
    const uint8_t *data = bundle.data() + loadLittle<uint64_t>(from + 8);
    storeLittle<uint64_t>(file.data() + headerSize + section * entrySize + 8,
                          file.size());
    file.insert(file.end(), data, data + loadLittle<uint64_t>(from + 16));
  }
  seal(file);
  return file;
}

} // namespace fusec::test
