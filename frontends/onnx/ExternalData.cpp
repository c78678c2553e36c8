// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/ExternalData.h"
#include "frontends/onnx/Problems.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fusec::onnx {

namespace {
/// A file descriptor that closes itself.
struct Descriptor {
  int fd;
  explicit Descriptor(int fd) : fd(fd) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor &) = delete;
  void reset(int other) {
    if (fd >= 0)
      ::close(fd);
    fd = other;
  }
};
} // namespace

MappedFile::~MappedFile() {
  if (size)
    ::munmap(const_cast<char *>(data), size);
}

void MappedFile::release(const char *begin, size_t count) const {
  if (begin < data || begin >= data + size)
    return;
  // Whole pages: their neighbours may be in use.
  uintptr_t page = ::sysconf(_SC_PAGESIZE);
  uintptr_t first = (reinterpret_cast<uintptr_t>(begin) + page - 1) & -page;
  uintptr_t last = (reinterpret_cast<uintptr_t>(begin) + count) & -page;
  if (first < last)
    ::madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED);
}

/// The parts of a relative path without `..`, or nothing.
static bool splitLocation(llvm::StringRef location,
                          llvm::SmallVectorImpl<llvm::StringRef> &parts,
                          std::string &error) {
  if (location.empty() || location.contains('\0')) {
    error = "expected a relative path, got " + quoted(location);
    return false;
  }
  if (location.starts_with("/")) {
    error = "expected a relative path, got the absolute " + quoted(location);
    return false;
  }
  location.split(parts, '/', -1, /*KeepEmpty=*/false);
  llvm::erase_if(parts, [](llvm::StringRef part) { return part == "."; });
  if (llvm::is_contained(parts, "..")) {
    error =
        "expected a path inside the model's folder, got " + quoted(location);
    return false;
  }
  if (parts.empty()) {
    error = "expected the path of a file, got " + quoted(location);
    return false;
  }
  return true;
}

std::shared_ptr<MappedFile> ExternalData::open(llvm::StringRef location,
                                               std::string &error) {
  if (auto it = files.find(location); it != files.end())
    return it->second;
  llvm::SmallVector<llvm::StringRef> parts;
  if (!splitLocation(location, parts, error))
    return nullptr;
  auto fail = [&](llvm::StringRef part) {
    error = errno == ELOOP || errno == ENOTDIR
                ? fmt::format("expected no symbolic link in {}, got one at {}",
                              quoted(location), quoted(part))
                : fmt::format("cannot open {}: {}", quoted(location),
                              std::strerror(errno));
    return nullptr;
  };
  Descriptor current(::open(folder.empty() ? "." : folder.c_str(),
                            O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (current.fd < 0)
    return fail(folder);
  for (llvm::StringRef part : llvm::ArrayRef(parts).drop_back()) {
    int next = ::openat(current.fd, part.str().c_str(),
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
      return fail(part);
    current.reset(next);
  }
  // A pipe must not block the open, nor a device react to it.
  int file =
      ::openat(current.fd, parts.back().str().c_str(),
               O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0)
    return fail(parts.back());
  current.reset(file);
  struct stat status;
  if (::fstat(file, &status) != 0)
    return fail(parts.back());
  if (!S_ISREG(status.st_mode)) {
    error = "expected a regular file, got " + quoted(location);
    return nullptr;
  }
  size_t size = status.st_size;
  void *data = nullptr;
  if (size) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
      return fail(parts.back());
  }
  std::shared_ptr<MappedFile> mapped(
      new MappedFile(static_cast<const char *>(data), size));
  files[location] = mapped;
  return mapped;
}

std::vector<std::shared_ptr<const MappedFile>> ExternalData::getFiles() const {
  std::vector<std::shared_ptr<const MappedFile>> all;
  for (const auto &entry : files)
    all.push_back(entry.second);
  return all;
}

std::vector<std::string> ExternalData::getPaths() const {
  std::vector<std::string> paths;
  for (llvm::StringRef location : files.keys()) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, location);
    paths.push_back(path.str().str());
  }
  return paths;
}

} // namespace fusec::onnx
