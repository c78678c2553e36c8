// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adapters from safetensors files, and files that are damaged.

#include "test/unit/damaged/TimeLimit.h"
#include "test/unit/runtime/LibraryTest.h"

#include <cstdio>
#include <fstream>
#include <random>

using namespace fusec;
using namespace fusec::test;

namespace {
std::string makeFile(const std::string &header, const std::string &data) {
  std::string file;
  for (unsigned i = 0; i != 8; ++i)
    file.push_back(char(uint64_t(header.size()) >> (8 * i)));
  return file + header + data;
}

std::string entry(const std::string &name, const std::string &shape,
                  size_t begin, size_t end, const char *dtype = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":[" + std::to_string(begin) + "," +
         std::to_string(end) + "]}";
}

std::string bytesOf(const std::vector<float> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(float)};
}

// One layer of rank 2: a [2, 2], b [1, 2].
std::string goodFile(const std::string &layer = "model.layers.0.up") {
  return makeFile("{\"__metadata__\":{\"format\":\"pt\"}," +
                      entry(layer + ".lora_A.weight", "[2,2]", 0, 16) + "," +
                      entry(layer + ".lora_B.weight", "[1,2]", 16, 24) + "}",
                  bytesOf({1, 2, 3, 4, 5, 6}));
}

class SafetensorsTest : public LibraryTest {
protected:
  void SetUp() override {
    LibraryTest::SetUp();
    path = testing::TempDir() + "fusec-adapter-" + std::to_string(getpid()) +
           ".safetensors";
  }
  void TearDown() override {
    std::remove(path.c_str());
    LibraryTest::TearDown();
  }
  void write(const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::string loadError(const Model &model, const std::string &bytes,
                        fusec_status status = FUSEC_MALFORMED,
                        const std::string &layer = "") {
    write(bytes);
    std::string message = messageOf(status, [&] {
      Adapter::load(model, {{"up", path, 1, layer}});
    });
    EXPECT_EQ(message.find(path + ": "), 0u) << message;
    return message.substr(std::min(message.size(), path.size() + 2));
  }
  std::string headerError(const Model &model, const std::string &header,
                          const std::string &data = "") {
    return loadError(model, makeFile(header, data));
  }

  std::string path;
};
} // namespace

TEST_F(SafetensorsTest, LoadsWhatPeftWrites) {
  Model model = load(addAdapter);
  auto tensors = std::make_unique<Tensors>();
  Session session(model);
  tensors->bind(session, 10);
  session.prepare({}, nullptr, 0, FUSEC_GRAPH_OFF);
  write(goodFile());
  session.setAdapter(Adapter::load(model, {{"up", path, 2}}));
  session.run();
  float *factors = wordAt<float *>(fake->launches[0], 8) - 1;
  EXPECT_EQ(std::vector<float>(factors, factors + 4),
            (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(factors[64], 10.0f);
  EXPECT_EQ(factors[65], 12.0f);
  // The only layer is taken whatever it is called.
  write(goodFile("model.q_proj"));
  EXPECT_NO_THROW(Adapter::load(model, {{"up", path}}));
}

// Sizes may be anything beside a 0: of no elements none is packed, however many
// rows they would lie in.
TEST_F(SafetensorsTest, RankOfNone) {
  std::string huge = "2305843009213693952"; // 2^61
  std::string file =
      makeFile("{" + entry("up.lora_A.weight", "[0," + huge + "]", 0, 0) + "," +
                   entry("up.lora_B.weight", "[1,0]", 0, 0) + "}",
               "");
  EXPECT_EQ(loadError(load(addAdapter), file, FUSEC_INVALID_ARGUMENT),
            "adapter 'up': a: expected sizes [r, 2] with a rank r of at most "
            "2, found [0, " +
                huge + "]");
  Model model = load([](format::Manifest &manifest) {
    addAdapter(manifest);
    for (format::Plan &plan : manifest.plans) {
      for (size_t i : {0, 1})
        plan.weights[i].size = 0;
      plan.weights[0].sizes = {0, int64_t(1) << 61};
      plan.weights[0].isTransposed = true;
      plan.weights[1].sizes = {0, 1};
      for (format::Step &step : plan.steps)
        for (format::Variant &variant : step.variants)
          variant.launches.clear();
    }
  });
  write(file);
  TimeLimit limit("an adapter of rank 0");
  EXPECT_NO_THROW(Adapter::load(model, {{"up", path}}));
}

TEST_F(SafetensorsTest, ChoosesTheLayer) {
  Model model = load(addAdapter);
  std::string two =
      makeFile("{" + entry("l.0.q.lora_A.weight", "[2,2]", 0, 16) + "," +
                   entry("l.0.q.lora_B.weight", "[1,2]", 16, 24) + "," +
                   entry("l.1.q.lora_A.weight", "[2,2]", 24, 40) + "," +
                   entry("l.1.q.lora_B.weight", "[1,2]", 40, 48) + "}",
               std::string(48, 0));
  write(two);
  EXPECT_NO_THROW(Adapter::load(model, {{"up", path, 1, "1.q"}}));
  EXPECT_NO_THROW(Adapter::load(model, {{"up", path, 1, "l.0.q"}}));
  EXPECT_EQ(loadError(model, two, FUSEC_INVALID_ARGUMENT),
            "adapter 'up': expected one layer 'up', found 0 in a file of 2: "
            "'l.0.q', 'l.1.q'");
  EXPECT_EQ(loadError(model, two, FUSEC_INVALID_ARGUMENT, "q"),
            "adapter 'up': expected one layer 'q', found 2 in a file of 2: "
            "'l.0.q', 'l.1.q'");
  EXPECT_EQ(loadError(model, makeFile("{}", ""), FUSEC_INVALID_ARGUMENT),
            "adapter 'up': expected tensors named '<layer>.lora_A.weight', "
            "found none");
  EXPECT_EQ(
      loadError(model,
                makeFile("{" + entry("q.lora_A.weight", "[2,2]", 0, 16) + "}",
                         std::string(16, 0)),
                FUSEC_INVALID_ARGUMENT),
      "adapter 'up': there is 'q.lora_A.weight', but no "
      "'q.lora_B.weight'");
  EXPECT_EQ(
      loadError(model,
                makeFile("{" + entry("q.lora_A.weight", "[2]", 0, 16, "I64") +
                             "," + entry("q.lora_B.weight", "[0]", 16, 16) +
                             "}",
                         std::string(16, 0)),
                FUSEC_INVALID_ARGUMENT),
      "tensor 'q.lora_A.weight': expected F16, BF16 or F32, found I64");
}

TEST_F(SafetensorsTest, UpdatesOfMoreThanTwoFactors) {
  Model model = load(addAdapter);
  for (const char *more : {"lora_magnitude_vector", "lora_B.bias",
                           "lora_A.other.weight", "lora_embedding_A"})
    EXPECT_EQ(
        loadError(
            model,
            makeFile("{" + entry("q.lora_A.weight", "[2,2]", 0, 16) + "," +
                         entry("q.lora_B.weight", "[1,2]", 16, 24) + "," +
                         entry(std::string("q.") + more, "[1]", 24, 28) + "}",
                     std::string(28, 0)),
            FUSEC_INVALID_ARGUMENT),
        std::string("adapter 'up': expected an update of 'q.lora_A.weight' and "
                    "'q.lora_B.weight' alone, found 'q.") +
            more + "' too, which would be left out");
  // Of another layer, whose name begins with this one's.
  write(makeFile("{" + entry("q.lora_A.weight", "[2,2]", 0, 16) + "," +
                     entry("q.lora_B.weight", "[1,2]", 16, 24) + "," +
                     entry("q2.lora_magnitude_vector", "[1]", 24, 28) + "}",
                 std::string(28, 0)));
  EXPECT_NO_THROW(Adapter::load(model, {{"up", path, 1, "q"}}));
}

// What is wrong for the model alone names the file as well.
TEST_F(SafetensorsTest, UpdatesThatDoNotFit) {
  Model model = load(addAdapter);
  EXPECT_EQ(
      loadError(model,
                makeFile("{" + entry("q.lora_A.weight", "[3,2]", 0, 24) + "," +
                             entry("q.lora_B.weight", "[1,3]", 24, 36) + "}",
                         std::string(36, 0)),
                FUSEC_INVALID_ARGUMENT),
      "adapter 'up': a: expected sizes [r, 2] with a rank r of at most 2, "
      "found [3, 2]");
  EXPECT_EQ(
      loadError(model,
                makeFile("{" + entry("q.lora_A.weight", "[2,2]", 0, 16) + "," +
                             entry("q.lora_B.weight", "[1,1]", 16, 20) + "}",
                         std::string(20, 0)),
                FUSEC_INVALID_ARGUMENT),
      "adapter 'up': expected a and b of one rank, found 2 and 1");
}

TEST_F(SafetensorsTest, MalformedFiles) {
  Model model = load(addAdapter);
  EXPECT_EQ(messageOf(FUSEC_UNREADABLE,
                      [&] {
                        Adapter::load(model, {{"up", path + ".not"}});
                      })
                .find(path + ".not"),
            0u);
  EXPECT_EQ(loadError(model, "1234567"),
            "expected a safetensors file, found 7 bytes");
  EXPECT_EQ(loadError(model, std::string(8, '\xff')),
            "expected a header within the file, found one of "
            "18446744073709551615 bytes");
  EXPECT_EQ(loadError(model, std::string("\x03\0\0\0\0\0\0\0{}", 10)),
            "expected a header within the file, found one of 3 bytes");
  EXPECT_EQ(headerError(model, "[]"), "the header: expected a JSON object");
  EXPECT_EQ(headerError(model, "{").find("the header: not valid JSON"), 0u);
  EXPECT_EQ(headerError(model, std::string(1000000, '['))
                .find("the header: expected at most 8 nested values"),
            0u);
  EXPECT_EQ(headerError(model,
                        "{" + entry("t", "[1]", 0, 4) + "," +
                            entry("t", "[1]", 0, 4) + "}",
                        "1234"),
            "the header: 't' occurs twice");
  EXPECT_EQ(headerError(model, "{\"t\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}"),
            "the header: 'dtype' occurs twice");
  EXPECT_EQ(headerError(model, "{\"t\":3}"),
            "tensor 't': expected the members dtype, shape and data_offsets");
  EXPECT_EQ(headerError(model, "{" + entry("t", "[1]", 0, 4, "Q4") + "}"),
            "tensor 't': unknown dtype \"Q4\"");
  EXPECT_EQ(headerError(model, "{" + entry("t", "[-1]", 0, 4) + "}"),
            "tensor 't': shape: expected an integer of at least 0, found -1");
  EXPECT_EQ(headerError(model, "{" + entry("t", "[1.5]", 0, 4) + "}"),
            "tensor 't': shape: expected an integer of at least 0, found 1.5");
  EXPECT_EQ(headerError(
                model, "{" + entry("t", "[4294967296,4294967296]", 0, 4) + "}"),
            "tensor 't': its bytes exceed 64 bits");
  EXPECT_EQ(headerError(model, "{" + entry("t", "[1]", 0, 4) + "}"),
            "tensor 't': data_offsets: expected a range within the file's 0 "
            "bytes of data, found [0, 4]");
  EXPECT_EQ(headerError(model, "{" + entry("t", "[1]", 4, 0) + "}", "1234"),
            "tensor 't': data_offsets: expected a range within the file's 4 "
            "bytes of data, found [4, 0]");
  EXPECT_EQ(headerError(model, "{" + entry("t", "[2]", 0, 4) + "}", "1234"),
            "tensor 't': expected 8 bytes by its dtype and shape, found 4");
  EXPECT_EQ(headerError(model, "{" + entry("t", "[1]", 0, 4) + "}", "12345678"),
            "no tensor has the bytes from 4");
  EXPECT_EQ(headerError(model,
                        "{" + entry("t", "[1]", 0, 4) + "," +
                            entry("u", "[1]", 2, 6) + "}",
                        "123456"),
            "tensors overlap at byte 2");
}

TEST_F(SafetensorsTest, DamagedFilesAreRefusedOrHarmless) {
  Model model = load(addAdapter);
  std::string file = goodFile();
  std::mt19937 random(5);
  unsigned refused = 0;
  for (int round = 0; round != 3000; ++round) {
    std::string damaged = file;
    if (round % 3 == 0)
      damaged.resize(random() % file.size());
    else
      damaged[random() % damaged.size()] ^= char(1u << random() % 8);
    write(damaged);
    try {
      Adapter::load(model, {{"up", path}});
    } catch (const Error &error) {
      EXPECT_NE(error.status(), FUSEC_INTERNAL_ERROR) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000u);
}
