// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building the test bundle.

#include "test/unit/runtime/TestBundle.h"

#include "runtime/format/AlignUp.h"
#include "runtime/format/BundleLayout.h"
#include "runtime/format/ChunkHash.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace fusec::test {

using namespace format;

namespace {
// One more than there are.
constexpr size_t sectionRoom = 4;
constexpr unsigned cubinSection = 1, ptxSection = 2, weightsSection = 3;
const char ptx[] = ".version 8.0 fake_double(8,8,8) fake_small(4,8,4,8,8) "
                   "fake_pair(8,8) fake_scalar(8,4)\n";

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
  Work work;
  work.read = work.written = Expr::mul(batch(), Expr(16));
  work.operations = Expr::mul(batch(), Expr(4));
  work.nanoseconds = 5000;
  work.predictedDim = 1024;
  scale.work = work;
  Launch small = makeLaunch(section, "fake_small");
  small.params = {SizeParam{DType::I32, batch()}, w,
                  SizeParam{DType::I32, Expr(3)},
                  SizeParam{DType::I64, Expr(7)}, FaultParam()};
  plan.steps.push_back(
      {"scale",
       {"node_a", "node_b"},
       {{{Condition::compare(Condition::Kind::Gt, batch(), Expr(64))}, {scale}},
        {{}, {small}}}});

  Launch vector = makeLaunch(section, hopper ? "fake_vector" : "fake_pair");
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
  work = {};
  work.unit = MathUnit::Tf32;
  work.lead = 0;
  vector.work = work;
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

// An ELF file with the parameter tables that ptxas writes, and empty code.
class ElfWriter {
public:
  explicit ElfWriter(const std::vector<TestKernel> &kernels)
      : kernels(kernels) {}

  std::vector<uint8_t> write() {
    const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    std::copy(std::begin(ident), std::end(ident), file.begin());
    addSection(0, "", {});
    for (const TestKernel &kernel : kernels)
      addSection(1, ".text." + kernel.name, std::vector<uint8_t>(4));
    for (size_t i = 0; i != kernels.size(); ++i)
      addSection(0x70000000, ".nv.info." + kernels[i].name,
                 makeTable(kernels[i]), uint32_t(1 + i));
    addSection(8, ".nv.shared.reserved.0", {});
    storeLittle<uint64_t>(&headers.back()[32], 1000);
    addSection(3, ".shstrtab", {});
    storeLittle<uint64_t>(&headers.back()[24], file.size());
    storeLittle<uint64_t>(&headers.back()[32], names.size());
    file.insert(file.end(), names.begin(), names.end());
    storeLittle<uint64_t>(&file[32], headerBytes);
    storeLittle<uint64_t>(&file[40], file.size());
    storeLittle<uint16_t>(&file[54], segmentBytes);
    storeLittle<uint16_t>(&file[56], 1);
    storeLittle<uint16_t>(&file[58], sectionBytes);
    storeLittle<uint16_t>(&file[60], uint16_t(headers.size()));
    storeLittle<uint16_t>(&file[62], uint16_t(headers.size() - 1));
    storeLittle<uint64_t>(&file[headerBytes + 8], headerBytes);
    storeLittle<uint64_t>(&file[headerBytes + 32], segmentBytes);
    for (const std::array<uint8_t, sectionBytes> &header : headers)
      file.insert(file.end(), header.begin(), header.end());
    return file;
  }

private:
  static constexpr size_t headerBytes = 64, segmentBytes = 56,
                          sectionBytes = 64;

  void addSection(uint32_t type, const std::string &name,
                  const std::vector<uint8_t> &bytes, uint32_t info = 0) {
    std::array<uint8_t, sectionBytes> header = {};
    storeLittle<uint32_t>(&header[0], uint32_t(names.size()));
    names += name + '\0';
    storeLittle<uint32_t>(&header[4], type);
    storeLittle<uint64_t>(&header[24], file.size());
    storeLittle<uint64_t>(&header[32], bytes.size());
    storeLittle<uint32_t>(&header[44], info);
    file.insert(file.end(), bytes.begin(), bytes.end());
    headers.push_back(header);
  }

  static void append(std::vector<uint8_t> &bytes, uint32_t word) {
    bytes.resize(bytes.size() + 4);
    storeLittle<uint32_t>(&bytes[bytes.size() - 4], word);
  }

  // The last parameter first, as ptxas has it.
  static std::vector<uint8_t> makeTable(const TestKernel &kernel) {
    std::vector<unsigned> offsets;
    unsigned end = 0;
    for (unsigned size : kernel.params) {
      offsets.push_back(unsigned(alignUp(end, std::min(size, 64u))));
      end = offsets.back() + size;
    }
    std::vector<uint8_t> bytes;
    append(bytes, 0x00043704); // EIATTR_CUDA_API_VERSION
    append(bytes, 130);
    append(bytes, 0x19 << 8 | 3 | end << 16); // EIATTR_CBANK_PARAM_SIZE
    for (size_t i = offsets.size(); i-- > 0;) {
      append(bytes, 0x000c1704); // EIATTR_KPARAM_INFO
      append(bytes, 0);
      append(bytes, uint32_t(i) | offsets[i] << 16);
      append(bytes, 0x1f000 | kernel.params[i] << 18);
    }
    return bytes;
  }

  const std::vector<TestKernel> &kernels;
  std::vector<uint8_t> file = std::vector<uint8_t>(headerBytes + segmentBytes);
  std::string names;
  std::vector<std::array<uint8_t, sectionBytes>> headers;
};

void addSections(BundleWriter &writer, uint64_t weightsSize) {
  writer.addCode(SectionKind::Cubin, spanOf(makeCubin()));
  writer.addCode(SectionKind::Ptx,
                 {reinterpret_cast<const uint8_t *>(ptx), sizeof(ptx) - 1});
  const uint8_t *weights = weightBytes().data();
  writer.addWeights({{0, {weights, 16}}, {256, {weights + 256, 8}}},
                    weightsSize);
}
} // namespace

const std::vector<TestKernel> &testKernels() {
  static const std::vector<TestKernel> kernels = {
      {"fake_double", {8, 8, 8}},
      {"fake_small", {4, 8, 4, 8, 8}},
      {"fake_vector", {8, 8, 128, 128, 128, 8}},
      {"fake_pair", {8, 8}},
      {"fake_scalar", {8, 4}}};
  return kernels;
}

std::vector<uint8_t> makeCubin(const std::vector<TestKernel> &kernels) {
  return ElfWriter(kernels).write();
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
  if (manifest.minor != formatMinor)
    rehashWeights(file, weightsSection);
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

void replaceSection(std::vector<uint8_t> &file, size_t section,
                    const std::vector<uint8_t> &bytes) {
  uint8_t *entry = file.data() + headerSize + section * entrySize;
  ASSERT_EQ(loadLittle<uint64_t>(entry + 16), bytes.size());
  std::copy(bytes.begin(), bytes.end(),
            file.begin() + long(loadLittle<uint64_t>(entry + 8)));
  Digest digest = Sha256::hash(bytes.data(), bytes.size());
  std::memcpy(entry + 24, digest.data(), digest.size());
  seal(file);
}

void rehashWeights(std::vector<uint8_t> &file, size_t section) {
  uint8_t *entry = file.data() + headerSize + section * entrySize;
  uint64_t size = loadLittle<uint64_t>(entry + 16);
  std::vector<Piece> all = {
      {0, {file.data() + loadLittle<uint64_t>(entry + 8), size_t(size)}}};
  ChunkDigests digests(chunkHashOf(loadLittle<uint32_t>(file.data() + 12)),
                       size);
  for (size_t i = 0; i != digests.count(); ++i)
    digests.hash(i, all);
  Digest digest = digests.finish();
  std::memcpy(entry + 24, digest.data(), digest.size());
  seal(file);
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
