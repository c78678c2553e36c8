// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/data/Input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fusec::data {

namespace {
class FileInput : public Input {
public:
  FileInput(const std::string &path, uint64_t size, int descriptor)
      : Input(path, size), descriptor(descriptor) {}
  FileInput(const FileInput &) = delete;
  FileInput &operator=(const FileInput &) = delete;
  ~FileInput() override { close(descriptor); }

  bool read(uint64_t offset, void *to, uint64_t count) override {
    if (offset > size() || count > size() - offset)
      return false;
    char *out = static_cast<char *>(to);
    while (count > 0) {
      ssize_t got = pread(descriptor, out, std::min<uint64_t>(count, 1u << 30),
                          off_t(offset));
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return false;
      out += got;
      offset += uint64_t(got);
      count -= uint64_t(got);
    }
    return true;
  }

private:
  int descriptor;
};

class MemoryInput : public Input {
public:
  MemoryInput(std::string name, std::string_view bytes)
      : Input(std::move(name), bytes.size()), bytes(bytes) {}
  bool read(uint64_t offset, void *to, uint64_t count) override {
    if (offset > bytes.size() || count > bytes.size() - offset)
      return false;
    if (count > 0)
      std::memcpy(to, bytes.data() + offset, count);
    return true;
  }

private:
  std::string_view bytes;
};

class WholeStream : public Stream {
public:
  explicit WholeStream(Input &input) : input(input) {}
  uint64_t size() const override { return input.size(); }
  std::optional<std::string> read(void *to, uint64_t count) override {
    if (!input.read(offset, to, count))
      return fmt::format(
          "expected {} bytes at offset {}, found the end of its {}", count,
          offset, input.size());
    offset += count;
    return std::nullopt;
  }

private:
  Input &input;
  uint64_t offset = 0;
};
} // namespace

Result<std::unique_ptr<Input>> openFile(const std::string &path) {
  using R = Result<std::unique_ptr<Input>>;
  // A FIFO would block in open, a device has no size.
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return R::failure(path + ": " + std::strerror(errno));
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return R::failure(path + ": expected a regular file");
  }
  return R(
      std::make_unique<FileInput>(path, uint64_t(status.st_size), descriptor));
}

std::unique_ptr<Input> openMemory(std::string name, std::string_view bytes) {
  return std::make_unique<MemoryInput>(std::move(name), bytes);
}

std::unique_ptr<Stream> streamOf(Input &input) {
  return std::make_unique<WholeStream>(input);
}

} // namespace fusec::data
