// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are written whole or not at all: what is left when a process
// ends, what the next one takes away, and what is on the disk.

#include "compiler/PartFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <csignal>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fusec;
namespace fs = llvm::sys::fs;

static std::vector<std::string> synced;
static int syncFailure = 0;

/// In place of the system's: notes the file's name, and whether it has its
/// last one already.
extern "C" int fsync(int descriptor) {
  char name[4096];
  std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  ssize_t size = readlink(link.c_str(), name, sizeof(name));
  synced.push_back(
      llvm::sys::path::filename(llvm::StringRef(name, size_t(size))).str());
  errno = syncFailure;
  return syncFailure ? -1 : 0;
}

namespace {
struct PartFileTest : testing::Test {
  void SetUp() override {
    ASSERT_FALSE(fs::createUniqueDirectory("fusec-part", folder));
    path = (folder + "/out.fusec").str();
    synced.clear();
    syncFailure = 0;
  }
  void TearDown() override { EXPECT_FALSE(fs::remove_directories(folder)); }

  static void put(const std::string &path, llvm::StringRef bytes) {
    std::error_code code;
    llvm::raw_fd_ostream(path, code) << bytes;
    EXPECT_FALSE(code) << path;
  }
  static void put(PartFile &file, llvm::StringRef bytes) {
    EXPECT_EQ(write(file.getDescriptor(), bytes.data(), bytes.size()),
              ssize_t(bytes.size()));
  }
  std::string get() const {
    auto file = llvm::MemoryBuffer::getFile(path);
    return file ? (*file)->getBuffer().str() : "none";
  }
  std::vector<std::string> getFiles() const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; it != end && !error;
         it.increment(error))
      names.push_back(llvm::sys::path::filename(it->path()).str());
    llvm::sort(names);
    return names;
  }
  /// A process that begins the file and then ends as `end` does; its status.
  int runChild(llvm::function_ref<void()> end) const {
    pid_t child = fork();
    if (child == 0) {
      auto file = llvm::cantFail(PartFile::create(path));
      put(*file, "half");
      end();
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  llvm::SmallString<128> folder;
  std::string path;
};
} // namespace

TEST_F(PartFileTest, IsWholeOrNotThere) {
  put(path, "old");
  auto file = llvm::cantFail(PartFile::create(path));
  put(*file, "new");
  EXPECT_EQ(get(), "old");
  EXPECT_EQ(getFiles().size(), 2u);
  llvm::cantFail(file->keep());
  EXPECT_EQ(get(), "new");
  file.reset();
  EXPECT_EQ(get(), "new");
  file = llvm::cantFail(PartFile::create(path));
  put(*file, "dropped");
  file.reset();
  EXPECT_EQ(get(), "new");
  EXPECT_EQ(getFiles(), std::vector<std::string>{"out.fusec"});
}

TEST_F(PartFileTest, BytesAreOnTheDiskBeforeTheName) {
  auto file = llvm::cantFail(PartFile::create(path));
  std::string part = getFiles().front();
  llvm::cantFail(file->keep());
  EXPECT_EQ(synced, (std::vector<std::string>{
                        part, llvm::sys::path::filename(folder).str()}));
  synced.clear();
  file = llvm::cantFail(PartFile::create(path));
  llvm::cantFail(file->keep(PartFile::Sync::No));
  EXPECT_TRUE(synced.empty());
}

TEST_F(PartFileTest, ADiskThatFailsIsAnError) {
  put(path, "old");
  auto file = llvm::cantFail(PartFile::create(path));
  syncFailure = EIO;
  EXPECT_EQ(llvm::toString(file->keep()), "Input/output error");
  file.reset();
  EXPECT_EQ(get(), "old");
  EXPECT_EQ(getFiles(), std::vector<std::string>{"out.fusec"});
}

TEST_F(PartFileTest, WhatAKilledProcessLeftIsTakenAway) {
  for (int i = 0; i != 3; ++i)
    EXPECT_EQ(WTERMSIG(runChild([] { raise(SIGKILL); })), SIGKILL);
  // Each has removed what the one before it left.
  ASSERT_EQ(getFiles().size(), 1u);
  std::string left = getFiles().front();
  auto file = llvm::cantFail(PartFile::create(path));
  ASSERT_EQ(getFiles().size(), 1u);
  EXPECT_NE(getFiles().front(), left);
}

TEST_F(PartFileTest, WhatAnotherWritesStays) {
  auto first = llvm::cantFail(PartFile::create(path));
  put(*first, "first");
  int status = runChild([&] { EXPECT_EQ(getFiles().size(), 2u); });
  EXPECT_TRUE(WIFEXITED(status));
  auto second = llvm::cantFail(PartFile::create(path));
  EXPECT_EQ(getFiles().size(), 2u);
  llvm::cantFail(first->keep());
  EXPECT_EQ(get(), "first");
  put(*second, "second");
  llvm::cantFail(second->keep());
  EXPECT_EQ(get(), "second");
}

TEST_F(PartFileTest, OnlyPartsOfThisFileAreTakenAway) {
  std::vector<std::string> others = {
      "a.out.fusec.part12345678", "out.fusec.part",
      "out.fusec.part1234567",    "out.fusec.part1234567g",
      "out.fusec.part123456789",  "out.fusec2.part12345678"};
  for (const std::string &name : others)
    put((folder + "/" + name).str(), "");
  put(path + ".partabcdef01", "");
  ASSERT_FALSE(fs::create_directory(path + ".part11111111"));
  ASSERT_FALSE(fs::create_link(path, path + ".part22222222"));
  ASSERT_EQ(mkfifo((path + ".part33333333").c_str(), 0600), 0);
  for (const char *name : {"out.fusec.part11111111", "out.fusec.part22222222",
                           "out.fusec.part33333333"})
    others.push_back(name);
  llvm::sort(others);
  PartFile::removeAbandoned(path);
  EXPECT_EQ(getFiles(), others);
}

TEST_F(PartFileTest, AnExitRemovesIt) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer waits at exit() of a fork for threads that "
                  "only its parent has";
#endif
  int status = runChild([] { std::exit(4); });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_TRUE(getFiles().empty());
}

// The environment may ignore some.
TEST_F(PartFileTest, SignalsThatEndAProcessRemoveIt) {
  for (int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGABRT, SIGXCPU}) {
    int status = runChild([&] { raise(signal); });
    EXPECT_TRUE(WIFEXITED(status) || getFiles().empty()) << strsignal(signal);
  }
}

TEST_F(PartFileTest, SignalsThatAreIgnoredStaySo) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    // As in a process that has not written yet.
    llvm::sys::unregisterHandlers();
    for (int signal : {SIGHUP, SIGINT, SIGPIPE})
      std::signal(signal, SIG_IGN);
    {
      auto file = llvm::cantFail(PartFile::create(path));
      put(*file, "whole");
      for (int signal : {SIGHUP, SIGINT, SIGPIPE})
        raise(signal);
      llvm::cantFail(file->keep());
    }
    _exit(7);
  }
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << strsignal(WTERMSIG(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(get(), "whole");
}

// One may find another's before it is locked.
TEST_F(PartFileTest, ManyAtOnceDisturbNobody) {
  std::vector<std::thread> threads;
  for (int i = 0; i != 4; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k != 200; ++k) {
        auto file = llvm::cantFail(PartFile::create(path));
        put(*file, std::string(100, char('a' + i)));
        llvm::cantFail(file->keep(PartFile::Sync::No));
        std::string bytes = get();
        EXPECT_EQ(bytes, std::string(100, bytes.front()));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(getFiles(), std::vector<std::string>{"out.fusec"});
}
