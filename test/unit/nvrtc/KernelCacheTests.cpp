// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache answers exactly what was stored, or nothing.

#include "test/unit/nvrtc/Testing.h"

#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <random>
#include <thread>

using namespace llvm;
using namespace fusec;
using namespace fusec::test;

static const NvrtcVersion version = {13, 0, "13.0.88"};

static CompiledKernel sample(size_t size = 1000) {
  CompiledKernel kernel;
  kernel.name = "gate";
  kernel.target = "sm_90a";
  kernel.image.assign(size, '\x5a');
  kernel.log = "log";
  kernel.kernels = {{"gate", 40, 1, 2, 3}, {"up", 32, 0, 0, 0}};
  kernel.serializedMma = true;
  return kernel;
}

static void expectSample(const std::optional<CompiledKernel> &kernel) {
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->name, "gate");
  EXPECT_EQ(kernel->target, "sm_90a");
  EXPECT_EQ(kernel->image, sample().image);
  EXPECT_EQ(kernel->log, "log");
  ASSERT_EQ(kernel->kernels.size(), 2u);
  EXPECT_EQ(kernel->kernels[0].symbol, "gate");
  EXPECT_EQ(kernel->kernels[0].registers, 40u);
  EXPECT_EQ(kernel->kernels[0].spillBytes, 1u);
  EXPECT_EQ(kernel->kernels[0].stackBytes, 2u);
  EXPECT_EQ(kernel->kernels[0].sharedBytes, 3u);
  EXPECT_TRUE(kernel->serializedMma);
  EXPECT_TRUE(kernel->fromCache);
}

static std::string contentOf(const std::string &file) {
  return (*MemoryBuffer::getFile(file, false, false))->getBuffer().str();
}

TEST(KernelCache, KeysOnEverythingThatDecidesTheBytes) {
  CompileRequest r = request("k", "  f();");
  r.source = "#include \"a.h\"\n" + r.source;
  r.headers = {
      {"a.h", "# include \"b.h\"\n"}, {"b.h", "int b;"}, {"c.h", "int c;"}};
  std::string key = KernelCache::key(r, version);
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(KernelCache::key(r, version), key);
  auto changed = [&](auto change) {
    CompileRequest other = r;
    change(other);
    return KernelCache::key(other, version) != key;
  };
  EXPECT_TRUE(changed([](CompileRequest &o) { o.source += " "; }));
  EXPECT_TRUE(changed([](CompileRequest &o) { o.target = "sm_90a"; }));
  EXPECT_TRUE(changed([](CompileRequest &o) { o.options = {"--fmad=false"}; }));
  EXPECT_TRUE(changed(
      [](CompileRequest &o) { o.headers[0].text = "#include \"b.h\"\n\n"; }));
  EXPECT_TRUE(changed([](CompileRequest &o) { o.headers[1].text = "int c;"; }));
  EXPECT_FALSE(changed([](CompileRequest &o) { o.headers[2].text = "other"; }))
      << "c.h is not reached";
  EXPECT_FALSE(changed(
      [](CompileRequest &o) { std::swap(o.headers[0], o.headers[2]); }));
  EXPECT_TRUE(changed(
      [](CompileRequest &o) { o.source = "#include NAME\n" + o.source; }));
  EXPECT_NE(KernelCache::key(r, {13, 0, "13.0.48"}), key);
  EXPECT_NE(KernelCache::key(r, {12, 9, ""}), key);
}

TEST(KernelCache, AnUnclearIncludeReachesEveryHeader) {
  std::vector<KernelHeader> headers = {
      {"b.h", ""}, {"a.h", "#include <c.h>"}, {"c.h", ""}};
  EXPECT_EQ(collectHeaders("int x;", headers).size(), 0u);
  EXPECT_EQ(collectHeaders("  #  include \"b.h\"", headers).size(), 1u);
  EXPECT_EQ(collectHeaders("#include \"a.h\"", headers).size(), 3u);
  EXPECT_EQ(collectHeaders("#include NAME", headers)[0].name, "a.h");
}

TEST(KernelCache, ReturnsWhatWasStored) {
  Folder folder;
  KernelCache cache(folder.path());
  std::string key(64, 'a');
  EXPECT_FALSE(cache.lookup(key));
  cache.store(key, sample());
  expectSample(cache.lookup(key));
  EXPECT_FALSE(cache.lookup(std::string(64, 'b')));
  EXPECT_EQ(folder.files().size(), 1u) << "no temporary file stays";
  // An entry under another's name is not its answer.
  std::string other = std::string(63, 'a') + "b";
  sys::fs::copy_file(folder.files()[0], folder.path("aa/" + other));
  EXPECT_FALSE(cache.lookup(other));
}

TEST(KernelCache, TreatsDamageAsAMiss) {
  Folder folder;
  KernelCache cache(folder.path());
  std::string key(64, 'a');
  cache.store(key, sample(100));
  std::string file = folder.files()[0], good = contentOf(file);
  auto replace = [&](StringRef bytes) {
    std::error_code code;
    raw_fd_ostream os(file, code);
    os << bytes;
  };
  for (size_t length = 0; length < good.size(); length += 3) {
    replace(StringRef(good).take_front(length));
    EXPECT_FALSE(cache.lookup(key)) << length;
  }
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = good;
    bytes[random() % bytes.size()] ^= char(1u << (random() % 8));
    replace(bytes);
    EXPECT_FALSE(cache.lookup(key));
  }
  replace(good + "x");
  EXPECT_FALSE(cache.lookup(key));
  replace(good);
  EXPECT_TRUE(cache.lookup(key));
}

TEST(KernelCache, IgnoresADirectoryThatCannotBeWritten) {
  Folder folder;
  std::string file = folder.write("file", "");
  KernelCache cache(file + "/below");
  cache.store(std::string(64, 'a'), sample());
  EXPECT_FALSE(cache.lookup(std::string(64, 'a')));
  cache.trim();
}

TEST(KernelCache, KeepsTheMostRecentlyUsed) {
  Folder folder;
  std::string mine = folder.write("ab/notes.txt", std::string(100000, 'x'));
  KernelCache cache(folder.path(), /*limit=*/50000);
  for (char c = '0'; c <= '7'; ++c) {
    cache.store(std::string(64, c), sample(10000));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(cache.lookup(std::string(64, '0'))) << "marks it as used";
  cache.trim();
  EXPECT_TRUE(cache.lookup(std::string(64, '0')));
  EXPECT_TRUE(cache.lookup(std::string(64, '7')));
  EXPECT_FALSE(cache.lookup(std::string(64, '1')));
  EXPECT_FALSE(cache.lookup(std::string(64, '2')));
  EXPECT_TRUE(sys::fs::exists(mine)) << "only its own files are removed";
  uint64_t total = 0, size = 0;
  for (const std::string &path : folder.files())
    if (path != mine && !sys::fs::file_size(path, size))
      total += size;
  EXPECT_LE(total, 45000u);
}

TEST(KernelCache, SurvivesConcurrentWritersAndReaders) {
  Folder folder;
  std::string key(64, 'c');
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      KernelCache cache(folder.path());
      for (int i = 0; i < 50; ++i) {
        cache.store(key, sample());
        expectSample(cache.lookup(key));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(folder.files().size(), 1u);
}

TEST(KernelCache, RemembersALibraryUntilItChanges) {
  Folder folder;
  std::string library = folder.write("libnvrtc.so.13", "one");
  KernelCache cache(folder.path("cache"));
  EXPECT_FALSE(cache.lookupIdentity(library));
  cache.storeIdentity(library, {version, {80, 90}});
  std::optional<NvrtcIdentity> identity = cache.lookupIdentity(library);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->version.str(), "13.0.88");
  EXPECT_EQ(identity->archs, (std::vector<int>{80, 90}));
  folder.write("libnvrtc.so.13", "other");
  EXPECT_FALSE(cache.lookupIdentity(library));
  EXPECT_FALSE(cache.lookupIdentity(folder.path("missing")));
}

TEST(KernelCache, FindsItsDirectory) {
  Environment home("HOME", "/h"), xdg("XDG_CACHE_HOME", std::nullopt),
      own("FUSEC_CACHE_DIR", std::nullopt);
  EXPECT_EQ(defaultCacheDirectory(), "/h/.cache/fusec");
  Environment xdgSet("XDG_CACHE_HOME", "/x");
  EXPECT_EQ(defaultCacheDirectory(), "/x/fusec");
  Environment ownSet("FUSEC_CACHE_DIR", "/o");
  EXPECT_EQ(defaultCacheDirectory(), "/o");
}

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
