// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model split from its initializers' raw data is the model, however its
// messages are written.

#include "frontends/onnx/RawData.h"
#include "ir/Constants.h"
#include "test/unit/onnx/TestModel.h"
#include <numeric>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::test;

/// Of bytes that the protocol buffers' library parses, too.
static void expectSplit(const std::string &bytes) {
  ::onnx::ModelProto whole, rest;
  ASSERT_TRUE(whole.ParseFromString(bytes));
  std::optional<SplitModel> split = splitModel(bytes);
  ASSERT_TRUE(split);
  ASSERT_TRUE(rest.ParseFromString(split->rest));
  ASSERT_EQ(rest.has_graph(), whole.has_graph());
  ::onnx::GraphProto none; // asking for a graph to change would add one
  auto &initializers =
      *(rest.has_graph() ? rest.mutable_graph() : &none)->mutable_initializer();
  ASSERT_EQ(size_t(initializers.size()), split->rawData.size());
  for (auto [tensor, data] : llvm::zip_equal(initializers, split->rawData)) {
    EXPECT_FALSE(tensor.has_raw_data());
    if (data) {
      EXPECT_GE(data->data(), bytes.data());
      EXPECT_LE(data->end(), bytes.data() + bytes.size());
      tensor.set_raw_data(data->str());
    }
  }
  EXPECT_EQ(rest.SerializeAsString(), whole.SerializeAsString());
}

/// x + w, of which w has the numbers from 0 on.
static void addSum(TestModel &model, llvm::StringRef name, int64_t count) {
  model.input("x", "float[" + std::to_string(count) + "]").output("y");
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  model.floats(name, count, {})
      .set_raw_data(values.data(), count * sizeof(float));
  model.node("Add", {"x", name.str()}, {"y"});
}

TEST(RawData, SplitsModels) {
  TestModel model, other;
  addSum(model, "w", 100);
  addSum(other, "v", 7);
  model.floats("typed", 2, {1, 2});
  model.floats("empty", 0, {}).set_raw_data("");
  expectSplit(model.proto.SerializeAsString());
  expectSplit(TestModel().proto.SerializeAsString());
  // Messages that come twice are one.
  expectSplit(model.proto.SerializeAsString() +
              other.proto.SerializeAsString());
}

TEST(RawData, LastOfSeveralCounts) {
  ::onnx::TensorProto first, second;
  first.set_raw_data("abcd");
  second.set_raw_data("efgh");
  std::string tensor = first.SerializeAsString() + second.SerializeAsString();
  // graph { initializer { ... } }
  std::string graph = "\x2a" + std::string(1, char(tensor.size())) + tensor;
  std::string bytes = "\x3a" + std::string(1, char(graph.size())) + graph;
  expectSplit(bytes);
  EXPECT_EQ(splitModel(bytes)->rawData.front(), "efgh");
}

TEST(RawData, RefusesWhatIsNoMessage) {
  for (llvm::StringRef bytes :
       {"\x3a", "\x3a\x05xx", "\x3a\xff\xff\xff\xff\x7f", "\x3b", "\x3c",
        "\x3b\x3b\x3c", "\x3e", "\x3a\x02\x2a\x01", "\x3a\x04\x2a\x02\x4a\x01",
        "\xff", "\x02\x01x", "\xba\x80\x80\x80\x80\x80\x01x"})
    EXPECT_FALSE(splitModel(bytes)) << bytes.str();
}

/// One graph field, empty, whose tag and size are written so.
static std::string addGraph(llvm::StringRef tag, llvm::StringRef size) {
  return (tag + size).str();
}

TEST(RawData, ReadsNumbersAsProtobufDoes) {
  using llvm::StringRef;
  StringRef zeros("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 11);
  auto overlong = [&](unsigned char first, size_t length) {
    // `first`, and zeros that make it as many bytes long.
    if (length == 1)
      return std::string(1, char(first));
    return std::string(1, char(first | 0x80)) +
           zeros.take_front(length - 2).str() + std::string(1, '\0');
  };
  for (size_t length = 1; length <= 12; ++length) {
    std::string tag = addGraph(overlong(0x3a, length), StringRef("\0", 1));
    std::string size = addGraph("\x3a", overlong(0, length));
    // The model's version, of no more bytes than a number of 64 bits.
    std::string value = "\x08" + overlong(7, length);
    for (const auto &[bytes, limit] :
         {std::pair(tag, 5u), std::pair(size, 5u), std::pair(value, 10u)}) {
      ::onnx::ModelProto parsed;
      EXPECT_EQ(parsed.ParseFromString(bytes), length <= limit) << length;
      EXPECT_EQ(splitModel(bytes).has_value(), length <= limit) << length;
    }
  }
}

// Protobuf takes the lower 32 bits of such a tag, here those of a graph.
TEST(RawData, RefusesTagsOfMoreThan32Bits) {
  std::string bytes("\xba\x80\x80\x80\x10\x00", 6);
  ::onnx::ModelProto parsed;
  EXPECT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_TRUE(parsed.has_graph());
  EXPECT_FALSE(splitModel(bytes));
}

TEST(RawData, KeepsWhatIsNoFieldOfThatType) {
  expectSplit("\x3b\x08\x01\x3c");          // a group
  expectSplit("\x3b\x3b\x3c\x12\x01x\x3c"); // with another in it
  expectSplit("\x38\x01");
  expectSplit("\x3a\x02\x28\x01");
}

TEST(RawData, IsUsedAtAnyAddress) {
  // The longer name moves the data.
  for (llvm::StringRef name : {"w", "ww", "www", "wwww"}) {
    TestModel model;
    addSum(model, name, 100);
    Imported imported = model.import();
    ASSERT_TRUE(imported) << imported.messages();
    fusec::ConstantOp constant;
    imported.getModel().walk([&](fusec::ConstantOp op) { constant = op; });
    std::string error;
    auto data = fusec::getConstantData(constant.getValue(), error);
    ASSERT_TRUE(succeeded(data)) << error;
    llvm::StringRef expected = model.proto.graph().initializer(0).raw_data();
    EXPECT_EQ(llvm::StringRef(data->bytes.data(), data->bytes.size()),
              expected);
  }
}
