// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bundle's file: what memory gets, whole or not at all.

#include "compiler/Compiler.h"
#include "test/unit/compiler/OpenBundle.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <csignal>
#include <sys/resource.h>

using namespace mlir;
using namespace fusec;
namespace fs = llvm::sys::fs;

/// Two weights that differ behind what the pool hashes, one of them twice.
static std::string getModel() {
  std::string zeros(2 * 40000 * 2, '0');
  auto weight = [&](const char *last) {
    return "dense<\"0x" + zeros.substr(4) + last + "\"> : tensor<40000xf16>\n";
  };
  return R"(fusec.model @main inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<40000xf16>):
  %a = fusec.constant )" +
         weight("003C") + "  %b = fusec.constant " + weight("0040") +
         "  %c = fusec.constant " + weight("003C") +
         R"(  %0 = fusec.add %x, %a : tensor<40000xf16>
  %1 = fusec.mul %0, %b : tensor<40000xf16>
  %2 = fusec.add %1, %c : tensor<40000xf16>
  fusec.output %2 : tensor<40000xf16>
})";
}

namespace {
struct BundleTest : testing::Test {
  void SetUp() override {
    ASSERT_FALSE(fs::createUniqueDirectory("fusec-bundle", folder));
    path = (folder + "/model.fusec").str();
    CompileOptions options;
    options.targets = {"sm_80", "ptx"};
    compilation = llvm::cantFail(Compilation::parse(getModel(), options));
  }
  void TearDown() override {
    compilation.reset();
    EXPECT_FALSE(fs::remove_directories(folder));
  }

  /// False, and the test is skipped, where there is no NVRTC.
  bool compile() {
    KernelCompiler compiler{KernelCompilerOptions()};
    auto identity = compiler.getIdentity();
    if (!identity) {
      llvm::consumeError(identity.takeError());
      return false;
    }
    version = identity->version;
    llvm::cantFail(compilation->compile(compiler));
    return true;
  }
  std::vector<std::string> getFiles() const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; it != end && !error;
         it.increment(error))
      names.push_back(llvm::sys::path::filename(it->path()).str());
    return names;
  }

  llvm::SmallString<128> folder;
  std::string path;
  std::unique_ptr<Compilation> compilation;
  NvrtcVersion version;
};
} // namespace

TEST_F(BundleTest, FilesHoldWhatMemoryDoes) {
  llvm::cantFail(compilation->beginBundle(path));
  if (!compile())
    GTEST_SKIP() << "there is no NVRTC";
  llvm::cantFail(compilation->finishBundle(version));
  EXPECT_EQ(getFiles(), std::vector<std::string>{"model.fusec"});
  auto file = llvm::cantFail(
      llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path)));
  std::string bytes = llvm::cantFail(compilation->getBundle(version));
  EXPECT_TRUE(file->getBuffer() == bytes);

  format::Bundle bundle = openBundle(bytes);
  // 80,000 bytes and, aligned to 256, 80,000 more: equal ones are one.
  EXPECT_EQ(bundle.weightsSize(), 160128u);
}

TEST_F(BundleTest, NothingIsLeftOfOneThatIsNotFinished) {
  llvm::cantFail(compilation->beginBundle(path));
  compilation.reset();
  EXPECT_TRUE(getFiles().empty());
}

TEST_F(BundleTest, TheLastThatIsBegunCounts) {
  llvm::cantFail(compilation->beginBundle((folder + "/first").str()));
  llvm::cantFail(compilation->beginBundle(path));
  if (!compile())
    GTEST_SKIP() << "there is no NVRTC";
  llvm::cantFail(compilation->finishBundle(version));
  EXPECT_EQ(getFiles(), std::vector<std::string>{"model.fusec"});
}

TEST_F(BundleTest, AnOlderOneStaysUntilThen) {
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << "old";
  llvm::cantFail(compilation->beginBundle(path));
  auto file = llvm::cantFail(
      llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(path)));
  EXPECT_EQ(file->getBuffer(), "old");
}

TEST_F(BundleTest, WhereNoFileCanBe) {
  std::string error = llvm::toString(
      compilation->beginBundle((folder + "/no/such/folder").str()));
  EXPECT_NE(error.find("/no/such/folder: cannot be created: No such file"),
            std::string::npos)
      << error;
  error = llvm::toString(compilation->beginBundle("/dev/null"));
  EXPECT_NE(error.find("/dev/null: cannot be written: not a regular file"),
            std::string::npos)
      << error;
  error = llvm::toString(compilation->beginBundle(folder));
  EXPECT_NE(error.find("not a regular file"), std::string::npos) << error;
}

// What a full disk is like.
TEST_F(BundleTest, WhereTheFileMayNotGrow) {
  auto file = llvm::cantFail(BundleFile::create(path));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = {4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::vector<uint8_t> bytes(8192);
  EXPECT_FALSE(file->write(0, {bytes.data(), bytes.size()}));
  EXPECT_FALSE(file->write(0, {bytes.data(), 1}));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  std::string error = llvm::toString(file->keep());
  EXPECT_NE(error.find("model.fusec: cannot be written: File too large"),
            std::string::npos)
      << error;
  file.reset();
  EXPECT_TRUE(getFiles().empty());
}
