// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compilation in threads, from NVRTC or from the cache.

#include "test/unit/nvrtc/Testing.h"

#include <random>
#include <sys/stat.h>

using namespace llvm;
using namespace fusec;
using namespace fusec::test;

TEST(KernelCompiler, CompilesOnceAndInOrder) {
  if (Expected<std::string> file = findNvrtc(); !file)
    GTEST_SKIP() << toString(file.takeError());
  Folder folder;
  KernelCompilerOptions options;
  options.cacheDirectory = folder.path();
  std::vector<CompileRequest> requests;
  for (int i = 0; i < 8; ++i)
    requests.push_back(request("k" + std::to_string(i % 6),
                               "  x[" + std::to_string(i % 6) + "] = 1;"));

  std::vector<std::string> images;
  for (bool warm : {false, true}) {
    KernelCompiler compiler(options);
    size_t calls = 0;
    auto kernels = compiler.compileAll(
        requests, [&](size_t done, size_t total, const CompiledKernel &) {
          EXPECT_EQ(done, ++calls);
          EXPECT_EQ(total, 6u) << "two are duplicates";
        });
    ASSERT_TRUE(bool(kernels)) << toString(kernels.takeError());
    EXPECT_EQ(calls, 6u);
    ASSERT_EQ(kernels->size(), 8u);
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_EQ((*kernels)[i].name, requests[i].name);
      EXPECT_EQ((*kernels)[i].fromCache, warm);
      if (warm)
        EXPECT_EQ((*kernels)[i].image, images[i]);
      else
        images.push_back((*kernels)[i].image);
    }
  }
  options.useCache = false;
  auto kernels = KernelCompiler(options).compileAll(requests);
  ASSERT_TRUE(bool(kernels)) << toString(kernels.takeError());
  EXPECT_FALSE((*kernels)[0].fromCache);
  EXPECT_EQ((*kernels)[7].image, images[7]);
}

TEST(KernelCompiler, NeedsNoLibraryWhereTheCacheAnswers) {
  if (Expected<std::string> file = findNvrtc(); !file)
    GTEST_SKIP() << toString(file.takeError());
  Folder folder;
  // A file that cannot be loaded, with a recorded identity.
  KernelCompilerOptions options;
  options.nvrtcPath = folder.write("libnvrtc.so.13", "not a library");
  options.cacheDirectory = folder.path("cache");
  KernelCache cache(options.cacheDirectory);
  SmallString<256> real;
  sys::fs::real_path(options.nvrtcPath, real);
  cache.storeIdentity(real, {version, {80, 90}});
  CompileRequest hit = request("gate", "", "sm_90a"),
                 miss = request("miss", "");
  cache.store(KernelCache::key(hit, version), sample());

  KernelCompiler compiler(options);
  auto kernel = compiler.compile(hit);
  ASSERT_TRUE(bool(kernel)) << toString(kernel.takeError());
  EXPECT_TRUE(kernel->fromCache);
  auto missing = compiler.compile(miss);
  ASSERT_FALSE(bool(missing));
  EXPECT_NE(toString(missing.takeError()).find("cannot load NVRTC"),
            std::string::npos);
}

TEST(KernelCompiler, JoinsFailuresInOrder) {
  if (Expected<std::string> file = findNvrtc(); !file)
    GTEST_SKIP() << toString(file.takeError());
  Folder folder;
  KernelCompilerOptions options;
  options.cacheDirectory = folder.path();
  options.threads = 2;
  CompileRequest target = request("target", "", "sm_1");
  auto kernels = KernelCompiler(options).compileAll(
      {request("first", "  wrong;"), request("good", ""), target,
       request("last", "  also_wrong;")});
  ASSERT_FALSE(bool(kernels));
  std::vector<NvrtcError::Kind> kinds;
  std::string text;
  handleAllErrors(kernels.takeError(), [&](const NvrtcError &error) {
    kinds.push_back(error.getKind());
    text += error.message();
  });
  EXPECT_EQ(kinds,
            (std::vector<NvrtcError::Kind>{NvrtcError::Kind::compilation,
                                           NvrtcError::Kind::unsupportedTarget,
                                           NvrtcError::Kind::compilation}));
  EXPECT_LT(text.find("'first'"), text.find("'last'"));
}

// What is damaged, or another's under this name, is compiled anew and replaced.
TEST(KernelCompiler, MendsItsCache) {
  if (Expected<std::string> file = findNvrtc(); !file)
    GTEST_SKIP() << toString(file.takeError());
  Folder folder;
  KernelCompilerOptions options;
  options.cacheDirectory = folder.path();
  std::vector<CompileRequest> requests = {request("one", "  x[1] = 1;"),
                                          request("two", "  x[2] = 2;")};
  std::vector<std::string> images, keys;
  auto compile = [&](bool fromCache, std::vector<std::string> warned) {
    KernelCompiler compiler(options);
    std::vector<CompiledKernel> kernels =
        cantFail(compiler.compileAll(requests));
    for (size_t i = 0; i != requests.size(); ++i) {
      EXPECT_EQ(kernels[i].name, requests[i].name);
      EXPECT_EQ(kernels[i].fromCache, fromCache);
      if (images.size() == requests.size())
        EXPECT_EQ(kernels[i].image, images[i]);
      else
        keys.push_back(KernelCache::key(
            requests[i], cantFail(compiler.getIdentity()).version));
    }
    images = {kernels[0].image, kernels[1].image};
    std::vector<std::string> warnings = compiler.takeWarnings();
    ASSERT_EQ(warnings.size(), warned.size());
    for (size_t i = 0; i != warned.size(); ++i)
      EXPECT_NE(warnings[i].find(warned[i]), std::string::npos) << warnings[i];
    EXPECT_TRUE(compiler.takeWarnings().empty());
  };
  compile(false, {});
  compile(true, {});
  std::string paths[2];
  for (int i : {0, 1})
    paths[i] = folder.path(StringRef(keys[i]).take_front(2) + "/" + keys[i]);
  std::mt19937 random(5);
  auto damage = [&](const std::string &path) {
    std::string bytes = contentOf(path);
    if (random() % 2)
      bytes.resize(random() % bytes.size());
    else
      bytes[random() % bytes.size()] ^= char(1u << (random() % 8));
    std::error_code code;
    raw_fd_ostream(path, code) << bytes;
  };
  for (int i = 0; i != 5; ++i) {
    damage(paths[0]);
    damage(paths[1]);
    compile(false, {});
    compile(true, {});
  }
  ASSERT_FALSE(sys::fs::rename(paths[0], folder.path("swapped")));
  ASSERT_FALSE(sys::fs::copy_file(paths[1], paths[0]));
  ASSERT_FALSE(sys::fs::copy_file(folder.path("swapped"), paths[1]));
  compile(false, {});
  compile(true, {});
  for (const std::string &path : paths)
    ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  compile(false, {"found mode 0666"});
  compile(true, {});
  ASSERT_EQ(chmod(options.cacheDirectory.c_str(), 0777), 0);
  compile(false, {"kernels are compiled without the cache"});
  compile(false, {"kernels are compiled without the cache"});
}
