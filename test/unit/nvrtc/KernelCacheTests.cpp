// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache answers exactly what was stored, or nothing.

#include "test/unit/nvrtc/Testing.h"

#include <chrono>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace fusec;
using namespace fusec::test;

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

static unsigned modeOf(const std::string &path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(KernelCache, IsOfItsUserAlone) {
  Folder folder;
  mode_t mask = umask(0);
  KernelCache cache(folder.path("above/cache"));
  cache.store(std::string(64, 'a'), sample());
  umask(mask);
  for (const char *path : {"above", "above/cache", "above/cache/aa"})
    EXPECT_EQ(modeOf(folder.path(path)), 0700u) << path;
  EXPECT_EQ(modeOf(folder.files()[0]), 0600u);
}

TEST(KernelCache, RefusesAFolderThatOthersMayWrite) {
  Folder folder;
  std::string key(64, 'a'), path = folder.path("cache");
  KernelCache(path).store(key, sample());
  for (unsigned mode : {0770, 0702, 01777}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    KernelCache cache(path);
    EXPECT_NE(cache.getRefusal().find(path + ": expected that nobody else"),
              std::string::npos)
        << cache.getRefusal();
    EXPECT_NE(cache.getRefusal().find("FUSEC_CACHE_DIR"), std::string::npos);
    EXPECT_FALSE(cache.lookup(key));
    cache.store(std::string(64, 'b'), sample());
    cache.trim();
    EXPECT_EQ(folder.files().size(), 1u);
  }
  ASSERT_EQ(chmod(path.c_str(), 0755), 0) << "others may read";
  expectSample(KernelCache(path).lookup(key));
}

TEST(KernelCache, RefusesAnEntryThatOthersMayWrite) {
  Folder folder;
  KernelCache cache(folder.path());
  std::string key(64, 'a'), warning;
  cache.store(key, sample());
  std::string file = folder.files()[0];
  ASSERT_EQ(chmod(file.c_str(), 0620), 0);
  EXPECT_FALSE(cache.lookup(key, &warning));
  EXPECT_EQ(warning, file + ": expected that nobody else may write it, found "
                            "mode 0620; what it holds is made anew");
  cache.store(key, sample());
  warning.clear();
  expectSample(cache.lookup(key, &warning));
  EXPECT_EQ(warning, "");
}

TEST(KernelCache, FollowsOnlyItsUsersLinkToAFolder) {
  Folder folder;
  std::string key(64, 'a'), warning;
  KernelCache(folder.path("real")).store(key, sample());
  std::string link = folder.path("link"), file = folder.files()[0];
  ASSERT_FALSE(sys::fs::create_link(folder.path("real"), link));
  expectSample(KernelCache(link).lookup(key));
  // An entry is no link, not even to a sound one.
  ASSERT_FALSE(sys::fs::rename(file, folder.path("entry")));
  ASSERT_FALSE(sys::fs::create_link(folder.path("entry"), file));
  KernelCache cache(folder.path("real"));
  EXPECT_FALSE(cache.lookup(key, &warning));
  EXPECT_NE(warning.find("found a symbolic link"), std::string::npos);
  cache.store(key, sample());
  expectSample(cache.lookup(key));
  EXPECT_FALSE(sys::fs::is_symlink_file(file)) << "the link is replaced";
  // Nor does a pipe stop anybody.
  ASSERT_FALSE(sys::fs::remove(file));
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(cache.lookup(key));
}

TEST(KernelCache, RefusesWhatAnotherUserOwns) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root may give files away";
  constexpr uid_t other = 65534;
  Folder folder;
  std::string key(64, 'a'), warning, path = folder.path("cache");
  KernelCache cache(path);
  cache.store(key, sample());
  std::string file = folder.files()[0];
  ASSERT_EQ(chown(file.c_str(), other, -1), 0);
  EXPECT_FALSE(cache.lookup(key, &warning));
  EXPECT_NE(warning.find(file + ": expected it to belong to user 0, found user "
                                "65534"),
            std::string::npos)
      << warning;
  cache.store(key, sample());
  expectSample(cache.lookup(key));

  // A folder within, as was planted before the one around it was closed.
  ASSERT_EQ(chown(folder.path("cache/aa").c_str(), other, -1), 0);
  std::string second = std::string(63, 'a') + "b";
  cache.store(second, sample());
  EXPECT_FALSE(cache.lookup(second));

  std::string link = folder.path("link");
  ASSERT_FALSE(sys::fs::create_link(path, link));
  ASSERT_EQ(lchown(link.c_str(), other, -1), 0);
  EXPECT_NE(KernelCache(link).getRefusal(), "");
  EXPECT_EQ(KernelCache(path).getRefusal(), "");
  ASSERT_EQ(chown(path.c_str(), other, -1), 0);
  KernelCache refused(path);
  EXPECT_NE(refused.getRefusal().find("belong to user 0, found user 65534"),
            std::string::npos);
  EXPECT_FALSE(refused.lookup(key));
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
