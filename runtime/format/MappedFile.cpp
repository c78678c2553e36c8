// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading a file, or mapping it.

#include "runtime/format/AlignUp.h"
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
  std::swap(isMapped, other.isMapped);
  return *this;
}

MappedFile::~MappedFile() {
  if (span.data)
    munmap(const_cast<uint8_t *>(span.data), span.size);
}

void MappedFile::release(ByteSpan bytes) const {
  if (!isMapped)
    return;
  const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  uint64_t begin = alignUp(uint64_t(bytes.data - span.data), page);
  uint64_t end = uint64_t(bytes.data - span.data) + bytes.size;
  end -= end % page;
  // Advice that is not taken costs time at the end alone.
  if (begin < end)
    madvise(const_cast<uint8_t *>(span.data) + begin, end - begin,
            MADV_DONTNEED);
}

// Fills anonymous memory; false with `reason` set where the file is shorter
// than it was.
static bool readWhole(int file, uint8_t *data, size_t size,
                      std::string &reason) {
  for (size_t done = 0; done != size;) {
    ssize_t count = pread(file, data + done, size - done, off_t(done));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      reason = count < 0 ? std::string("cannot be read: ") + strerror(errno)
                         : "became shorter while it was read";
      return false;
    }
    done += size_t(count);
  }
  return true;
}

bool MappedFile::open(const std::string &path, std::string &error) {
  auto fail = [&](const std::string &what) {
    error = path + ": " + what;
    return false;
  };
  struct File {
    ~File() { close(number); }
    int number;
    // A pipe must not block the open.
  } file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0)
    return fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status;
  if (fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode))
    return fail("is not a regular file");
  size_t size = size_t(status.st_size);
  if (size == 0)
    return fail("is empty");
  bool reads = size <= mostRead;
  void *data = mmap(nullptr, size, reads ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_PRIVATE | (reads ? MAP_ANONYMOUS : 0),
                    reads ? -1 : file.number, 0);
  if (data == MAP_FAILED)
    return fail(std::string("cannot be mapped: ") + std::strerror(errno));
  MappedFile mapped;
  mapped.span = {static_cast<const uint8_t *>(data), size};
  mapped.isMapped = !reads;
  std::string reason;
  if (reads &&
      !readWhole(file.number, static_cast<uint8_t *>(data), size, reason))
    return fail(reason);
  *this = std::move(mapped);
  return true;
}

} // namespace fusec::format
