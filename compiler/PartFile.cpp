// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/PartFile.h"
#include "compiler/IgnoredSignals.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace fusec;
namespace fs = llvm::sys::fs;

static constexpr llvm::StringLiteral infix = ".part";
static constexpr size_t digits = 8;

static llvm::Error makeError(int code) {
  return llvm::errorCodeToError(std::error_code(code, std::generic_category()));
}

static int openFile(const std::string &path, int flags) {
  return llvm::sys::RetryAfterSignal(-1, [&] {
    return ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  });
}

/// Whether `path` is still the name of what was opened.
static bool isNameOf(const std::string &path, int descriptor) {
  struct stat named, opened;
  return ::lstat(path.c_str(), &named) == 0 &&
         ::fstat(descriptor, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

static llvm::StringRef getFolder(llvm::StringRef path) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder;
}

static void removeIfAbandoned(const std::string &part) {
  // For writing, as network file systems lock no other.
  int descriptor = openFile(part, O_RDWR);
  if (descriptor < 0)
    return;
  struct stat status;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
      ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && isNameOf(part, descriptor))
    ::unlink(part.c_str());
  ::close(descriptor);
}

void PartFile::removeAbandoned(llvm::StringRef path) {
  llvm::StringRef name = llvm::sys::path::filename(path);
  std::error_code code;
  for (fs::directory_iterator it(getFolder(path), code), end;
       it != end && !code; it.increment(code)) {
    llvm::StringRef rest = llvm::sys::path::filename(it->path());
    if (rest.consume_front(name) && rest.consume_front(infix) &&
        rest.size() == digits && llvm::all_of(rest, llvm::isHexDigit))
      removeIfAbandoned(it->path());
  }
}

llvm::Expected<std::unique_ptr<PartFile>> PartFile::create(llvm::StringRef path,
                                                           unsigned mode) {
  removeAbandoned(path);
  std::string model = (path + infix + std::string(digits, '%')).str();
  while (true) {
    int descriptor = -1;
    llvm::SmallString<128> part;
    if (std::error_code code =
            fs::createUniqueFile(model, descriptor, part, fs::OF_None, mode))
      return llvm::errorCodeToError(code);
    // Where the file system knows no locks, others cannot take one either.
    (void)llvm::sys::RetryAfterSignal(
        -1, [&] { return ::flock(descriptor, LOCK_EX); });
    // Another process may have come between, and taken it for abandoned.
    if (isNameOf(std::string(part), descriptor))
      return std::unique_ptr<PartFile>(
          new PartFile(path.str(), std::string(part), descriptor));
    ::close(descriptor);
  }
}

PartFile::PartFile(std::string path, std::string part, int descriptor)
    : path(std::move(path)), part(std::move(part)), descriptor(descriptor) {
  // While NVRTC compiles, its own handlers of SIGINT and SIGTERM call exit().
  [[maybe_unused]] static const int atExit =
      std::atexit([] { llvm::sys::RunInterruptHandlers(); });
  IgnoredSignals ignored;
  llvm::sys::RemoveFileOnSignal(this->part);
}

PartFile::~PartFile() {
  // Renamed ones are no more under this name; the lock is held until then.
  if (!part.empty()) {
    ::unlink(part.c_str());
    llvm::sys::DontRemoveFileOnSignal(part);
  }
  ::close(descriptor);
}

/// Some file systems cannot, and some folders may not be read.
static llvm::Error syncFolder(llvm::StringRef folder) {
  int descriptor = openFile(folder.str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0)
    return llvm::Error::success();
  int code = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  return code == 0 || code == EINVAL || code == ENOTSUP ? llvm::Error::success()
                                                        : makeError(code);
}

llvm::Error PartFile::keep(Sync sync) {
  if (sync == Sync::Yes && ::fsync(descriptor) != 0)
    return makeError(errno);
  if (::rename(part.c_str(), path.c_str()) != 0)
    return makeError(errno);
  llvm::sys::DontRemoveFileOnSignal(part);
  part.clear();
  return sync == Sync::Yes ? syncFolder(getFolder(path))
                           : llvm::Error::success();
}
