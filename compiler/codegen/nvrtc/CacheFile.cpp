// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/nvrtc/CacheFile.h"
#include "compiler/PartFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace fusec {

// A file is this line, the SHA-256 of the payload, and the payload.
static constexpr StringLiteral magic = "fusec kernel cache 1\n";
static constexpr size_t digestSize = 32;
// No kernel comes near; a larger file is not ours.
static constexpr uint64_t maxSize = uint64_t(256) << 20;

static std::string digestOf(StringRef text) {
  return toStringRef(SHA256::hash(arrayRefFromStringRef(text))).str();
}

static CacheRefusal refuseOwner(const std::string &path,
                                const struct stat &status) {
  if (status.st_uid == geteuid())
    return {};
  return fmt::format("{}: expected it to belong to user {}, found user {}",
                     path, geteuid(), status.st_uid);
}

static CacheRefusal refuse(const std::string &path, const struct stat &status) {
  if (CacheRefusal refusal = refuseOwner(path, status); !refusal.empty())
    return refusal;
  if (!(status.st_mode & (S_IWGRP | S_IWOTH)))
    return {};
  return fmt::format(
      "{}: expected that nobody else may write it, found mode {:04o}", path,
      status.st_mode & 07777);
}

CacheRefusal makeCacheFolder(const std::string &path) {
  (void)sys::fs::create_directories(path, /*IgnoreExisting=*/true,
                                    sys::fs::owner_all);
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0)
    return {}; // Neither is there anything to trust.
  if (S_ISLNK(status.st_mode)) {
    if (CacheRefusal refusal = refuseOwner(path, status); !refusal.empty())
      return refusal;
    if (::stat(path.c_str(), &status) != 0)
      return {};
  }
  return refuse(path, status);
}

std::optional<std::string> readCacheFile(const std::string &path,
                                         CacheRefusal &refusal) {
  // Opening a pipe must not wait for who writes to it.
  int descriptor = sys::RetryAfterSignal(-1, [&] {
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  });
  if (descriptor < 0) {
    if (errno == ELOOP)
      refusal = path + ": expected a file, found a symbolic link";
    return std::nullopt;
  }
  struct stat status;
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      std::make_error_code(std::errc::invalid_argument);
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
      uint64_t(status.st_size) <= maxSize) {
    refusal = refuse(path, status);
    if (refusal.empty())
      buffer = MemoryBuffer::getOpenFile(descriptor, path, status.st_size,
                                         /*RequiresNullTerminator=*/false,
                                         /*IsVolatile=*/true);
  }
  if (buffer)
    ::futimens(descriptor, nullptr);
  ::close(descriptor);
  if (!buffer)
    return std::nullopt;
  StringRef content = (*buffer)->getBuffer();
  if (!content.consume_front(magic) || content.size() < digestSize)
    return std::nullopt;
  StringRef payload = content.drop_front(digestSize);
  if (digestOf(payload) != content.take_front(digestSize))
    return std::nullopt;
  return payload.str();
}

void writeCacheFile(const std::string &path, StringRef payload) {
  if (!makeCacheFolder(sys::path::parent_path(path).str()).empty())
    return;
  Expected<std::unique_ptr<PartFile>> file = PartFile::create(path, 0600);
  if (!file)
    return consumeError(file.takeError());
  raw_fd_ostream os((*file)->getDescriptor(), /*shouldClose=*/false);
  os << magic << digestOf(payload) << payload;
  os.flush();
  bool failed = os.has_error();
  os.clear_error();
  if (!failed)
    consumeError((*file)->keep(PartFile::Sync::No));
}

} // namespace fusec
