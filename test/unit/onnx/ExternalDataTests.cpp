// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// External data: used where they lie, and only from inside the model's folder.

#include "ir/Constants.h"
#include "test/unit/onnx/TestModel.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::test;
namespace fs = std::filesystem;

namespace {
class ExternalDataTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "fusec-external-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root = pattern;
    fs::create_directory(root / "model");
    std::ofstream file(root / "model" / "weights.bin", std::ios::binary);
    std::ofstream outside(root / "outside.bin", std::ios::binary);
    for (int i = 0; i < 1000; ++i) {
      float value = static_cast<float>(i);
      file.write(reinterpret_cast<const char *>(&value), sizeof value);
      outside.write(reinterpret_cast<const char *>(&value), sizeof value);
    }
  }
  void TearDown() override { fs::remove_all(root); }

  /// A model that adds `count` external floats.
  void prepare(llvm::StringRef location, llvm::StringRef offset,
               llvm::StringRef length, int64_t count = 100) {
    model = std::make_unique<TestModel>();
    model->input("x", "float[" + std::to_string(count) + "]").output("y");
    ::onnx::TensorProto &tensor = model->floats("w", count, {});
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
    auto add = [&](llvm::StringRef key, llvm::StringRef value) {
      if (value.empty())
        return;
      auto *entry = tensor.add_external_data();
      entry->set_key(key.str());
      entry->set_value(value.str());
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    model->node("Add", {"x", "w"}, {"y"});
    model->options.dataFolder = (root / "model").string();
  }
  void expectRefused(llvm::StringRef text) {
    expectProblem(*model, ProblemKind::Malformed, text);
  }

  fs::path root;
  std::unique_ptr<TestModel> model;
};
} // namespace

TEST_F(ExternalDataTest, ReadsARange) {
  for (llvm::StringRef offset : {"400", "402"}) { // the second is not aligned
    prepare("./weights.bin", offset, "400");
    Imported imported = model->import();
    ASSERT_TRUE(imported) << imported.messages();
    fusec::ConstantOp constant;
    imported.getModel().walk([&](fusec::ConstantOp op) { constant = op; });
    std::string error;
    auto data = fusec::getConstantData(constant.getValue(), error);
    ASSERT_TRUE(succeeded(data)) << error;
    ASSERT_EQ(data->bytes.size(), 400u);
    if (offset == "400") {
      float first;
      std::memcpy(&first, data->bytes.data(), sizeof first);
      EXPECT_EQ(first, 100.0f);
    }
  }
}

TEST_F(ExternalDataTest, RefusesPathsOutside) {
  prepare("../outside.bin", "", "");
  expectRefused("expected a path inside the model's folder");
  prepare("a/../../outside.bin", "", "");
  expectRefused("expected a path inside the model's folder");
  prepare((root / "outside.bin").string(), "", "");
  expectRefused("got the absolute");
  prepare("./sub/../weights.bin", "", ""); // though it would lie inside
  expectRefused("expected a path inside the model's folder");
  prepare("..", "", "");
  expectRefused("expected a path inside the model's folder");
  prepare("", "", "");
  expectRefused("expected a relative path");
  prepare("./.", "", "");
  expectRefused("expected the path of a file");
  // The system would see what is before the zero.
  prepare(llvm::StringRef("weights.bin\0x", 13), "", "");
  expectRefused("expected a relative path");
}

TEST_F(ExternalDataTest, RefusesOverlongPaths) {
  prepare(std::string(100000, 'a'), "", "");
  expectRefused("cannot open");
  std::string deep;
  for (int i = 0; i < 10000; ++i)
    deep += "./";
  prepare(deep + "weights.bin", "", "");
  EXPECT_TRUE(model->import());
  prepare(deep + "../outside.bin", "", "");
  expectRefused("expected a path inside the model's folder");
}

TEST_F(ExternalDataTest, RefusesSymbolicLinks) {
  fs::create_symlink(root / "outside.bin", root / "model" / "link.bin");
  prepare("link.bin", "", "");
  expectRefused("expected no symbolic link");
  fs::create_directory_symlink(root, root / "model" / "up");
  prepare("up/outside.bin", "", "");
  expectRefused("expected no symbolic link");
  // One inside the folder may point elsewhere a moment later.
  fs::create_symlink("weights.bin", root / "model" / "same.bin");
  prepare("same.bin", "", "");
  expectRefused("expected no symbolic link");
}

TEST_F(ExternalDataTest, RefusesWhatIsNoRegularFile) {
  fs::create_directory(root / "model" / "folder");
  prepare("folder", "", "");
  expectRefused("expected a regular file");
  ASSERT_EQ(mkfifo((root / "model" / "pipe").c_str(), 0600), 0);
  prepare("pipe", "", "");
  expectRefused("expected a regular file");
  prepare("missing.bin", "", "");
  expectRefused("cannot open 'missing.bin'");
}

TEST_F(ExternalDataTest, RefusesRangesOutside) {
  prepare("weights.bin", "3604", "400");
  expectRefused("which has 4000");
  prepare("weights.bin", "5000", "");
  expectRefused("which has 4000");
  prepare("weights.bin", "18446744073709551615", "400");
  expectRefused("which has 4000");
  prepare("weights.bin", "-4", "400");
  expectRefused("expected offset to be a number that is not negative");
  prepare("weights.bin", "0", "-1");
  expectRefused("expected length to be a number that is not negative");
  prepare("weights.bin", "0", "404");
  expectRefused("expected a length of 400 bytes");
  prepare("weights.bin", "0", "0x190");
  expectRefused("expected length to be a number");
  // Their sum is small again in 64 bits.
  prepare("weights.bin", "400", "18446744073709551615");
  expectRefused("which has 4000");
  prepare("weights.bin", "18446744073709551216", "400");
  expectRefused("which has 4000");
  prepare("weights.bin", "99999999999999999999", "400");
  expectRefused("expected offset to be a number");
  prepare("weights.bin", "0", "99999999999999999999");
  expectRefused("expected length to be a number");
  prepare("weights.bin", "4000", "400");
  expectRefused("which has 4000");
  std::ofstream(root / "model" / "empty.bin");
  prepare("empty.bin", "", "");
  expectRefused("which has 0");
}

// The range that the sizes ask for, where the entry names none.
TEST_F(ExternalDataTest, RefusesSizesPastTheEnd) {
  prepare("weights.bin", "", "", 1001);
  expectRefused("which has 4000");
  prepare("weights.bin", "4", "", 1000);
  expectRefused("which has 4000");
  prepare("weights.bin", "", "", int64_t(1) << 40);
  expectRefused("which has 4000");
}
