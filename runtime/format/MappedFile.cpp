// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mapping a file into memory.

#include "runtime/format/Bundle.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fusec::format {

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(span, other.span);
  return *this;
}

MappedFile::~MappedFile() {
  if (span.data)
    munmap(const_cast<uint8_t *>(span.data), span.size);
}

bool MappedFile::open(const std::string &path, std::string &error) {
  auto fail = [&](const std::string &what) {
    error = path + ": " + what;
    return false;
  };
  // A pipe must not block the open.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status;
  bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular || status.st_size == 0) {
    close(file);
    return fail(regular ? "is empty" : "is not a regular file");
  }
  void *data =
      mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  int reason = errno;
  close(file);
  if (data == MAP_FAILED)
    return fail(std::string("cannot be mapped: ") + std::strerror(reason));
  MappedFile mapped;
  mapped.span = {static_cast<const uint8_t *>(data), size_t(status.st_size)};
  *this = std::move(mapped);
  return true;
}

} // namespace fusec::format
