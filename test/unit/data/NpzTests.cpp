// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .npz: archives as NumPy writes them, built here byte by byte, and damaged
// ones.

#include "tools/data/Npy.h"
#include "tools/data/NpyHeader.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <unistd.h>
#include <zlib.h>

using namespace fusec::data;

namespace {
struct Archive {
  bool zip64 = false, deflated = false, encrypted = false;
  int method = -1;
  std::string members, directory;
  unsigned count = 0;

  static std::string number(uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i)
      text.push_back(char(value >> (8 * i)));
    return text;
  }
  static std::string deflate(const std::string &data) {
    z_stream state = {};
    deflateInit2(&state, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&state, data.size()), '\0');
    state.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
    state.avail_in = uInt(data.size());
    state.next_out = reinterpret_cast<Bytef *>(packed.data());
    state.avail_out = uInt(packed.size());
    ::deflate(&state, Z_FINISH);
    packed.resize(state.total_out);
    deflateEnd(&state);
    return packed;
  }
  void add(const std::string &name, const std::string &data,
           std::optional<uint64_t> claimed = {}) {
    std::string packed = deflated ? deflate(data) : data;
    uint64_t size = claimed.value_or(data.size()), offset = members.size();
    uint32_t crc = uint32_t(
        crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size()));
    int code = method >= 0 ? method : deflated ? 8 : 0;
    std::string common = number(45, 2) + number(encrypted, 2) +
                         number(unsigned(code), 2) + number(0, 4) +
                         number(crc, 4);
    std::string narrow = zip64 ? std::string(8, '\xff')
                               : number(packed.size(), 4) + number(size, 4);
    std::string wide = zip64 ? number(size, 8) + number(packed.size(), 8) : "";
    std::string localExtra =
        zip64 ? number(1, 2) + number(wide.size(), 2) + wide : "";
    std::string extra = zip64 ? number(0x5455, 2) + number(1, 2) + "t" +
                                    number(1, 2) + number(24, 2) + wide +
                                    number(offset, 8)
                              : "";
    members += "PK\3\4" + common + narrow + number(name.size(), 2) +
               number(localExtra.size(), 2) + name + localExtra + packed;
    directory += "PK\1\2" + number(45, 2) + common + narrow +
                 number(name.size(), 2) + number(extra.size(), 2) +
                 number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                 (zip64 ? std::string(4, '\xff') : number(offset, 4)) + name +
                 extra;
    ++count;
  }
  std::string str(const std::string &comment = "") const {
    return members + directory + "PK\5\6" + number(0, 4) + number(count, 2) +
           number(count, 2) + number(directory.size(), 4) +
           number(members.size(), 4) + number(comment.size(), 2) + comment;
  }
};
} // namespace

static std::string array(unsigned elements, char fill = 'x') {
  return formatNpyHeader(DType::F32, {int64_t(elements)}) +
         std::string(4 * elements, fill);
}

static Result<std::vector<NamedTensor>> parseZip(const std::string &bytes) {
  return readNpz(*openMemory("x.npz", bytes));
}

static void expectRefused(const std::string &bytes, const std::string &reason) {
  auto tensors = parseZip(bytes);
  ASSERT_FALSE(tensors) << reason;
  EXPECT_NE(tensors.error().find(reason), std::string::npos)
      << tensors.error() << " lacks: " << reason;
  EXPECT_EQ(tensors.error().rfind("x.npz: ", 0), 0u) << tensors.error();
}

TEST(Npz, ReadsStoredDeflatedAndZip64) {
  for (bool deflated : {false, true})
    for (bool zip64 : {false, true}) {
      Archive archive;
      archive.deflated = deflated;
      archive.zip64 = zip64;
      archive.add("second.npy", array(5));
      archive.add("a/first.npy", array(100000, 'y'));
      auto tensors = parseZip(archive.str("a comment PK\5\6 with a signature"));
      ASSERT_TRUE(tensors) << tensors.error();
      ASSERT_EQ(tensors->size(), 2u);
      EXPECT_EQ((*tensors)[0].name, "second");
      EXPECT_EQ((*tensors)[1].name, "a/first");
      EXPECT_EQ((*tensors)[1].tensor.sizes, std::vector<int64_t>{100000});
      EXPECT_EQ((*tensors)[1].tensor.bytes.data()[399999], std::byte('y'));
    }
  auto none = parseZip(Archive().str());
  ASSERT_TRUE(none) << none.error();
  EXPECT_TRUE(none->empty());
}

TEST(Npz, RefusesWithReason) {
  expectRefused("", "not a zip archive");
  expectRefused("PK", "not a zip archive");
  Archive twice;
  twice.add("a.npy", array(1));
  twice.add("a.npy", array(1));
  expectRefused(twice.str(), "occurs twice");
  Archive text;
  text.add("readme.txt", "hello");
  expectRefused(text.str(), "expected only arrays");
  Archive method;
  method.method = 12;
  method.add("a.npy", array(1));
  expectRefused(method.str(), "found 12");
  Archive encrypted;
  encrypted.encrypted = true;
  encrypted.add("a.npy", array(1));
  expectRefused(encrypted.str(), "encrypted");
  Archive damaged;
  damaged.add("a.npy", array(16));
  std::string bytes = damaged.str();
  bytes[bytes.find("xxxx")] = 'z';
  expectRefused(bytes, "checksum");
}

TEST(Npz, RefusesBombs) {
  Archive claim;
  claim.deflated = claim.zip64 = true;
  claim.add("a.npy", array(1), uint64_t(1) << 50);
  expectRefused(claim.str(), "more than deflate can pack");
  // The array claims more than its member holds.
  Archive shape;
  shape.deflated = true;
  shape.add("a.npy", formatNpyHeader(DType::F64, {int64_t(1) << 40}) + "x");
  expectRefused(shape.str(), "bytes of data for 1099511627776xf64");
  // The member claims more than its data unpack to.
  Archive starved;
  starved.deflated = true;
  std::string header = formatNpyHeader(DType::U8, {20000});
  starved.add("a.npy", header + std::string(200, 'x'), header.size() + 20000);
  expectRefused(starved.str(), "deflated data are damaged");
  // Two members over the same bytes.
  Archive overlap;
  overlap.add("a.npy", array(64));
  overlap.directory += std::string(overlap.directory).replace(46, 1, "b");
  overlap.count = 2;
  expectRefused(overlap.str(), "overlaps");
}

TEST(Npz, ParsesEveryTruncationAndFlip) {
  std::mt19937 random(11);
  for (bool zip64 : {false, true}) {
    Archive archive;
    archive.deflated = archive.zip64 = zip64;
    archive.add("a.npy", array(9));
    archive.add("b.npy", array(3, 'q'));
    std::string good = archive.str();
    ASSERT_TRUE(parseZip(good));
    for (size_t length = 0; length < good.size(); ++length)
      EXPECT_FALSE(parseZip(good.substr(0, length)));
    for (int i = 0; i < 20000; ++i) {
      std::string bytes = good;
      for (int flips = 1 + int(random() % 3); flips-- > 0;)
        bytes[random() % bytes.size()] ^= char(1u << (random() % 8));
      auto tensors = parseZip(bytes);
      if (!tensors) {
        EXPECT_FALSE(tensors.error().empty());
      }
    }
  }
}

TEST(Npz, WritesWhatItReads) {
  std::string path =
      testing::TempDir() + "fusec-npz-" + std::to_string(getpid()) + ".npz";
  std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<uint16_t> b = {0x3f80};
  auto write = [&] {
    return writeNpz(path, {{"a", TensorView(DType::F32, {2, 3}, a.data())},
                           {"b", TensorView(DType::BF16, {}, b.data())},
                           {"c", TensorView(DType::I64, {0, 4}, nullptr)}});
  };
  auto content = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  ASSERT_FALSE(write());
  std::string first = content();
  ASSERT_FALSE(write());
  EXPECT_EQ(first, content());
  auto tensors = readTensors(path);
  ASSERT_TRUE(tensors) << tensors.error();
  ASSERT_EQ(tensors->size(), 3u);
  EXPECT_EQ((*tensors)[0].name, "a");
  EXPECT_EQ(std::memcmp((*tensors)[0].tensor.bytes.data(), a.data(), 24), 0);
  EXPECT_EQ((*tensors)[1].tensor.dtype, DType::BF16);
  EXPECT_EQ((*tensors)[2].tensor.sizes, (std::vector<int64_t>{0, 4}));
  std::remove(path.c_str());
  EXPECT_TRUE(writeNpz(path, {{"a", TensorView(DType::BF16, {}, b.data())},
                              {"a", TensorView(DType::BF16, {}, b.data())}}));
}
