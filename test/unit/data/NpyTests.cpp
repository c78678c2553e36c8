// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .npy: every element type and layout, and headers that lie.

#include "tools/data/Npy.h"
#include "tools/data/NpyHeader.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <unistd.h>

using namespace fusec::data;

static std::string npy(const std::string &dictionary, const std::string &data,
                       int version = 1) {
  std::string length;
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    length.push_back(char(dictionary.size() >> (8 * i)));
  return std::string("\x93NUMPY") + char(version) + '\0' + length + dictionary +
         data;
}

static Result<Tensor> parse(const std::string &bytes) {
  return readNpy(*openMemory("x.npy", bytes));
}

template <typename T> static std::string bytesOf(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

template <typename T> static std::vector<T> valuesOf(const Tensor &tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

TEST(Npy, ReadsEveryVersion) {
  for (int version : {1, 2, 3}) {
    Result<Tensor> tensor = parse(
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
            bytesOf<float>({1, 2, 3, 4, 5, 6}), version));
    ASSERT_TRUE(tensor) << tensor.error();
    EXPECT_EQ(tensor->dtype, DType::F32);
    EXPECT_EQ(tensor->sizes, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(valuesOf<float>(*tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->bytes.data()) % 64, 0u);
  }
}

TEST(Npy, ReadsEveryElementType) {
  const std::pair<const char *, DType> types[] = {
      {"|b1", DType::Bool}, {"?", DType::Bool},  {"|i1", DType::I8},
      {"<i2", DType::I16},  {"<i4", DType::I32}, {"<i8", DType::I64},
      {"|u1", DType::U8},   {"<u2", DType::U16}, {"<u4", DType::U32},
      {"=u8", DType::U64},  {"<f2", DType::F16}, {"|V2", DType::BF16},
      {"<V2", DType::BF16}, {"<f4", DType::F32}, {"f8", DType::F64}};
  for (auto [descr, dtype] : types) {
    std::string data(3 * fusec::format::dtypeSize(dtype), '\x01');
    Result<Tensor> tensor =
        parse(npy(std::string("{\"shape\": (3,), \"descr\": \"") + descr +
                      "\", \"fortran_order\": False}",
                  data));
    ASSERT_TRUE(tensor) << tensor.error();
    EXPECT_EQ(tensor->dtype, dtype) << descr;
    EXPECT_EQ(tensor->elements(), 3u);
  }
}

TEST(Npy, ConvertsFortranOrder) {
  std::vector<int32_t> columnMajor(24), expected(24);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) {
        columnMajor[i + 2 * j + 6 * k] = 100 * i + 10 * j + k;
        expected[12 * i + 4 * j + k] = 100 * i + 10 * j + k;
      }
  Result<Tensor> tensor =
      parse(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 4)}",
                bytesOf(columnMajor)));
  ASSERT_TRUE(tensor) << tensor.error();
  EXPECT_EQ(valuesOf<int32_t>(*tensor), expected);
}

TEST(Npy, ConvertsBigEndian) {
  Result<Tensor> tensor =
      parse(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}",
                std::string("\0\0\1\2\xff\xff\xff\xfe", 8)));
  ASSERT_TRUE(tensor) << tensor.error();
  EXPECT_EQ(valuesOf<int32_t>(*tensor), (std::vector<int32_t>{258, -2}));
}

TEST(Npy, ReadsScalarsAndEmpties) {
  Result<Tensor> scalar =
      parse(npy("{'descr': '<f8', 'fortran_order': False, 'shape': ()}",
                bytesOf<double>({2.5})));
  ASSERT_TRUE(scalar) << scalar.error();
  EXPECT_TRUE(scalar->sizes.empty());
  Result<Tensor> empty = parse(npy("{'descr': '<f8', 'fortran_order': True, "
                                   "'shape': (0, 4611686018427387904, 8)}",
                                   ""));
  ASSERT_TRUE(empty) << empty.error();
  EXPECT_EQ(empty->bytes.size(), 0u);
}

TEST(Npy, RefusesWithReason) {
  const std::pair<std::string, const char *> cases[] = {
      {"", "expected 8 bytes"},
      {"PK\3\4PK\3\4PK", "expected it to begin with"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "abcd",
           4),
       "version 1, 2 or 3, found 4"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "abcd"),
       "expected 8 bytes of data for 2xf32"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
           "abcdefgh"),
       "found 8"},
      {npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
           "abcdefgh"),
       "found '<c8'"},
      {npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
           "abcdefgh"),
       "found '|O'"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
           "abcd"),
       "a quoted string"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "abcd"),
       "a size at character"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
           "(99999999999999999999,)}",
           "abcd"),
       "below 2^63"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3037000500, "
           "3037000500)}",
           "abcd"),
       "overflows"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
           "(1099511627776,)}",
           "abcd"),
       "found 4"},
      {npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "abcd"),
       "True or False"},
      {npy("{'descr': '<f4', 'shape': (1,)}", "abcd"), "found fewer"},
      {npy("{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", "abcd"),
       "one each of the keys"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "abcd"),
       "the end"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "abcd"),
       "expected ')'"},
      {std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12), "at most 65536"},
      {std::string("\x93NUMPY\x01\0\xff\xff", 10),
       "header: expected 65535 bytes"}};
  for (const auto &[bytes, reason] : cases) {
    Result<Tensor> tensor = parse(bytes);
    ASSERT_FALSE(tensor) << reason;
    EXPECT_NE(tensor.error().find(reason), std::string::npos)
        << tensor.error() << " lacks: " << reason;
    EXPECT_EQ(tensor.error().rfind("x.npy: ", 0), 0u) << tensor.error();
  }
}

TEST(Npy, ParsesEveryTruncationAndFlip) {
  std::string good = formatNpyHeader(DType::I16, {3, 5}) + std::string(30, 'x');
  ASSERT_TRUE(parse(good));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse(good.substr(0, length)));
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int flips = 1 + int(random() % 3); flips-- > 0;)
      bytes[random() % 128] ^= char(1u << (random() % 8));
    Result<Tensor> tensor = parse(bytes);
    if (tensor)
      EXPECT_EQ(tensorBytes(tensor->dtype, tensor->sizes),
                tensor->bytes.size());
    else
      EXPECT_FALSE(tensor.error().empty());
  }
}

TEST(Npy, WritesWhatItReads) {
  std::string path =
      testing::TempDir() + "fusec-npy-" + std::to_string(getpid()) + ".npy";
  for (auto sizes :
       std::vector<std::vector<int64_t>>{{}, {0}, {7}, {2, 3}, {1, 1, 1, 4}})
    for (unsigned type = 0; type < fusec::format::numDTypes; ++type) {
      uint64_t bytes = *tensorBytes(DType(type), sizes);
      std::vector<unsigned char> data(bytes);
      std::iota(data.begin(), data.end(), 1);
      auto reason = writeNpy(path, TensorView(DType(type), sizes, data.data()));
      ASSERT_FALSE(reason) << *reason;
      Result<Tensor> tensor = readNpy(path);
      ASSERT_TRUE(tensor) << tensor.error();
      EXPECT_EQ(tensor->dtype, DType(type));
      EXPECT_EQ(tensor->sizes, sizes);
      EXPECT_EQ(valuesOf<unsigned char>(*tensor), data);
    }
  std::remove(path.c_str());
}

TEST(Npy, NamesFilesThatCannotBeUsed) {
  EXPECT_NE(readNpy("/nonexistent/a.npy")
                .error()
                .find("/nonexistent/a.npy: No such file"),
            std::string::npos);
  EXPECT_NE(readNpy("/").error().find("regular file"), std::string::npos);
  EXPECT_NE(readNpy("/dev/null").error().find("regular file"),
            std::string::npos);
  float value = 0;
  EXPECT_NE(writeNpy("/nonexistent/a.npy", TensorView(DType::F32, {}, &value))
                ->find("No such file"),
            std::string::npos);
  EXPECT_NE(writeNpy("/dev/full", TensorView(DType::F32, {}, &value))
                ->find("No space"),
            std::string::npos);
  EXPECT_TRUE(
      writeNpy("/nonexistent/a.npy", TensorView(DType::F32, {-1}, &value)));
}
