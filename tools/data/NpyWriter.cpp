// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/data/Npy.h"
#include "tools/data/NpyHeader.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/core.h>
#include <set>
#include <zlib.h>

namespace fusec::data {

namespace {
/// A file being written; the first failure sticks.
class Output {
public:
  explicit Output(const std::string &path)
      : path(path), file(std::fopen(path.c_str(), "wb")) {
    if (!file)
      error = path + ": " + std::strerror(errno);
  }
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;
  ~Output() {
    if (file)
      std::fclose(file);
  }
  void write(const void *data, uint64_t size) {
    if (size > 0 && !error && std::fwrite(data, 1, size, file) != size)
      error = path + ": " + std::strerror(errno);
    offset += size;
  }
  void write(const std::string &text) { write(text.data(), text.size()); }
  std::optional<std::string> close() {
    if (file && std::fclose(file) != 0 && !error)
      error = path + ": " + std::strerror(errno);
    file = nullptr;
    return error;
  }

  std::string path;
  uint64_t offset = 0;
  std::optional<std::string> error;

private:
  std::FILE *file;
};

/// Little-endian fields of a zip record.
struct Record {
  std::string bytes;
  Record &u16(uint64_t value) { return put(value, 2); }
  Record &u32(uint64_t value) { return put(value, 4); }
  Record &u64(uint64_t value) { return put(value, 8); }
  Record &put(uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
      bytes.push_back(char(value >> (8 * i)));
    return *this;
  }
};

struct Written {
  std::string name;
  uint32_t crc;
  uint64_t size, offset;
};
} // namespace

static uint32_t extendCrc(uint32_t crc, const void *data, uint64_t size) {
  const Bytef *bytes = static_cast<const Bytef *>(data);
  return size > 0 ? uint32_t(crc32_z(crc, bytes, size)) : crc;
}

std::optional<std::string> writeNpy(const std::string &path,
                                    const TensorView &tensor) {
  std::optional<uint64_t> bytes = tensorBytes(tensor.dtype, tensor.sizes);
  if (!bytes)
    return fmt::format("{}: the sizes of {} are negative or overflow", path,
                       tensorType(tensor.dtype, tensor.sizes));
  Output output(path);
  output.write(formatNpyHeader(tensor.dtype, tensor.sizes));
  output.write(tensor.data, *bytes);
  return output.close();
}

// Stored members with zip64 sizes everywhere: one form for all sizes. The
// time is the format's earliest, so that the same tensors give the same bytes.
static constexpr uint64_t version = 45, date = 0x21, fieldIn64 = 0xffffffff,
                          utf8Flag = 0x800;

static std::string localHeader(const Written &member) {
  Record r;
  r.u32(0x04034b50)
      .u16(version)
      .u16(utf8Flag)
      .u16(0)
      .u16(0)
      .u16(date)
      .u32(member.crc);
  r.u32(fieldIn64).u32(fieldIn64).u16(member.name.size()).u16(20);
  r.bytes += member.name;
  return r.u16(1).u16(16).u64(member.size).u64(member.size).bytes;
}

static std::string directoryEntry(const Written &member) {
  Record r;
  r.u32(0x02014b50)
      .u16(version)
      .u16(version)
      .u16(utf8Flag)
      .u16(0)
      .u16(0)
      .u16(date)
      .u32(member.crc);
  r.u32(fieldIn64)
      .u32(fieldIn64)
      .u16(member.name.size())
      .u16(28)
      .u16(0)
      .u16(0)
      .u16(0)
      .u32(0)
      .u32(fieldIn64);
  r.bytes += member.name;
  return r.u16(1)
      .u16(24)
      .u64(member.size)
      .u64(member.size)
      .u64(member.offset)
      .bytes;
}

static std::string directoryEnd(uint64_t count, uint64_t size,
                                uint64_t offset) {
  Record r;
  r.u32(0x06064b50)
      .u64(44)
      .u16(version)
      .u16(version)
      .u32(0)
      .u32(0)
      .u64(count)
      .u64(count)
      .u64(size)
      .u64(offset);
  r.u32(0x07064b50).u32(0).u64(offset + size).u32(1);
  r.u32(0x06054b50)
      .u16(0)
      .u16(0)
      .u16(0xffff)
      .u16(0xffff)
      .u32(fieldIn64)
      .u32(fieldIn64)
      .u16(0);
  return r.bytes;
}

std::optional<std::string>
writeNpz(const std::string &path,
         const std::vector<std::pair<std::string, TensorView>> &members) {
  std::set<std::string> names;
  for (const auto &[name, tensor] : members) {
    if (name.empty() || name.size() > 0x8000 || !names.insert(name).second)
      return fmt::format(
          "{}: expected unique names of 1 to 32768 bytes, found '{}'", path,
          name.substr(0, 64));
    if (!tensorBytes(tensor.dtype, tensor.sizes))
      return fmt::format("{}: '{}': the sizes of {} are negative or overflow",
                         path, name, tensorType(tensor.dtype, tensor.sizes));
  }
  Output output(path);
  std::string directory;
  for (const auto &[name, tensor] : members) {
    std::string header = formatNpyHeader(tensor.dtype, tensor.sizes);
    uint64_t bytes = *tensorBytes(tensor.dtype, tensor.sizes);
    uint32_t crc = extendCrc(extendCrc(0, header.data(), header.size()),
                             tensor.data, bytes);
    Written member{name + ".npy", crc, header.size() + bytes, output.offset};
    output.write(localHeader(member));
    output.write(header);
    output.write(tensor.data, bytes);
    directory += directoryEntry(member);
  }
  uint64_t offset = output.offset;
  output.write(directory);
  output.write(directoryEnd(members.size(), directory.size(), offset));
  return output.close();
}

} // namespace fusec::data
