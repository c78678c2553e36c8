// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/data/ZipReader.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>
#include <zlib.h>

namespace fusec::data {

static constexpr uint64_t saturated16 = 0xffff, saturated32 = 0xffffffff;
static constexpr size_t endSize = 22, locatorSize = 20, end64Size = 56,
                        entrySize = 46, localSize = 30;
// 100000 members with names of 160 bytes.
static constexpr uint64_t maxDirectory = 16 << 20;
// Deflate cannot expand by more than 1032.
static constexpr uint64_t maxExpansion = 1032;

/// The little-endian number of `count` bytes at `at`; the caller has checked
/// the range.
static uint64_t field(const std::string &bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = count; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

static bool readString(Input &input, uint64_t offset, uint64_t count,
                       std::string &bytes) {
  if (offset > input.size() || count > input.size() - offset)
    return false;
  bytes.resize(count);
  return input.read(offset, bytes.data(), count);
}

namespace {
struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
};
} // namespace

/// Members that share bytes would let a small file claim any amount of memory.
static const ZipMember *findOverlap(const std::vector<ZipMember> &members) {
  std::vector<const ZipMember *> sorted;
  for (const ZipMember &member : members)
    sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(),
            [](const ZipMember *a, const ZipMember *b) {
              return a->offset < b->offset;
            });
  for (size_t i = 1; i < sorted.size(); ++i) {
    uint64_t gap = sorted[i]->offset - sorted[i - 1]->offset;
    if (gap < localSize || sorted[i - 1]->packedSize > gap - localSize)
      return sorted[i];
  }
  return nullptr;
}

static Result<Directory> findDirectory(Input &input) {
  using R = Result<Directory>;
  // The end record is followed by a comment of at most 65535 bytes.
  uint64_t tailSize = std::min<uint64_t>(input.size(), endSize + saturated16);
  std::string tail;
  if (!readString(input, input.size() - tailSize, tailSize, tail))
    return R::failure("cannot be read");
  size_t at = std::string::npos;
  for (size_t i = tailSize >= endSize ? tailSize - endSize + 1 : 0; i-- > 0;)
    if (field(tail, i, 4) == 0x06054b50 &&
        i + endSize + field(tail, i + 20, 2) == tailSize) {
      at = i;
      break;
    }
  if (at == std::string::npos)
    return R::failure(
        "not a zip archive: no end record; the file may be truncated");
  uint64_t endOffset = input.size() - tailSize + at;
  Directory directory{field(tail, at + 16, 4), field(tail, at + 12, 4),
                      field(tail, at + 10, 2)};
  bool is64 = directory.offset == saturated32 ||
              directory.size == saturated32 || directory.count == saturated16;
  std::string locator, end64;
  if (is64 && endOffset >= locatorSize &&
      readString(input, endOffset - locatorSize, locatorSize, locator) &&
      field(locator, 0, 4) == 0x07064b50) {
    if (!readString(input, field(locator, 8, 8), end64Size, end64) ||
        field(end64, 0, 4) != 0x06064b50)
      return R::failure(fmt::format("expected a zip64 end record at offset {}",
                                    field(locator, 8, 8)));
    directory = {field(end64, 48, 8), field(end64, 40, 8), field(end64, 32, 8)};
  }
  if (directory.offset > endOffset ||
      directory.size > endOffset - directory.offset)
    return R::failure(
        fmt::format("the directory at offset {} with {} bytes exceeds the file",
                    directory.offset, directory.size));
  if (directory.size > maxDirectory ||
      directory.count > directory.size / entrySize)
    return R::failure(fmt::format("the directory claims {} members in {} bytes",
                                  directory.count, directory.size));
  return directory;
}

/// Replaces saturated fields by those of the zip64 extra field, which holds
/// only these, in this order.
static bool applyZip64(const std::string &bytes, size_t at, size_t end,
                       ZipMember &member) {
  uint64_t *wide[] = {&member.size, &member.packedSize, &member.offset};
  bool needed = std::any_of(std::begin(wide), std::end(wide),
                            [](uint64_t *v) { return *v == saturated32; });
  while (needed && end - at >= 4) {
    uint64_t id = field(bytes, at, 2), size = field(bytes, at + 2, 2);
    at += 4;
    if (size > end - at)
      return false;
    if (id == 1) {
      size_t next = at;
      for (uint64_t *value : wide) {
        if (*value != saturated32)
          continue;
        if (at + size - next < 8)
          return false;
        *value = field(bytes, next, 8);
        next += 8;
      }
      return true;
    }
    at += size;
  }
  return !needed;
}

Result<std::vector<ZipMember>> readZipDirectory(Input &input) {
  using R = Result<std::vector<ZipMember>>;
  auto failure = [&](const std::string &message) {
    return R::failure(input.name() + ": " + message);
  };
  Result<Directory> directory = findDirectory(input);
  if (!directory)
    return failure(directory.error());
  std::string bytes;
  if (!readString(input, directory->offset, directory->size, bytes))
    return failure("the directory cannot be read");

  std::vector<ZipMember> members;
  std::set<std::string> names;
  size_t at = 0;
  for (uint64_t i = 0; i < directory->count; ++i) {
    std::string where = fmt::format("directory entry {}", i);
    if (bytes.size() - at < entrySize || field(bytes, at, 4) != 0x02014b50)
      return failure(fmt::format(
          "{}: expected its signature at byte {} of the directory", where, at));
    size_t nameSize = field(bytes, at + 28, 2),
           extraSize = field(bytes, at + 30, 2),
           commentSize = field(bytes, at + 32, 2);
    if (nameSize + extraSize + commentSize > bytes.size() - at - entrySize)
      return failure(where +
                     ": its name and extra fields exceed the directory");
    ZipMember member;
    member.name = bytes.substr(at + entrySize, nameSize);
    where = fmt::format("member '{}'", member.name);
    uint64_t flags = field(bytes, at + 8, 2), method = field(bytes, at + 10, 2);
    member.crc = uint32_t(field(bytes, at + 16, 4));
    member.packedSize = field(bytes, at + 20, 4);
    member.size = field(bytes, at + 24, 4);
    member.offset = field(bytes, at + 42, 4);
    member.limit = directory->offset;
    member.deflated = method == 8;
    size_t extra = at + entrySize + nameSize;
    if (!applyZip64(bytes, extra, extra + extraSize, member))
      return failure(where + ": malformed zip64 extra field");
    if (flags & 1)
      return failure(where + ": encrypted; store it without a password");
    if (method != 0 && method != 8)
      return failure(
          fmt::format("{}: expected method 0 (stored) or 8 (deflate), found {}",
                      where, method));
    if (!member.deflated && member.size != member.packedSize)
      return failure(fmt::format("{}: stored, but its sizes differ: {} and {}",
                                 where, member.packedSize, member.size));
    if (member.size / maxExpansion > member.packedSize)
      return failure(
          fmt::format("{}: claims {} bytes in {}, more than deflate can pack",
                      where, member.size, member.packedSize));
    if (!names.insert(member.name).second)
      return failure(where + ": occurs twice");
    members.push_back(std::move(member));
    at += entrySize + nameSize + extraSize + commentSize;
  }
  if (const ZipMember *member = findOverlap(members))
    return failure(
        fmt::format("member '{}': overlaps another member", member->name));
  return members;
}

namespace {
class MemberStream : public Stream {
public:
  MemberStream(Input &input, const ZipMember &member, uint64_t begin)
      : input(input), offset(begin), packedLeft(member.packedSize),
        left(member.size), total(member.size), expectedCrc(member.crc),
        deflated(member.deflated) {}
  MemberStream(const MemberStream &) = delete;
  MemberStream &operator=(const MemberStream &) = delete;
  ~MemberStream() override {
    if (started)
      inflateEnd(&state);
  }
  uint64_t size() const override { return total; }

  std::optional<std::string> read(void *to, uint64_t count) override {
    if (count > left)
      return fmt::format("expected {} bytes, found the end of its {}", count,
                         total);
    left -= count;
    Bytef *out = static_cast<Bytef *>(to);
    if (auto reason = deflated ? unpack(out, count) : copy(out, count))
      return reason;
    if (count > 0)
      crc = uint32_t(crc32_z(crc, out, count));
    return std::nullopt;
  }

  std::optional<std::string> finish() override {
    if (crc != expectedCrc)
      return "its checksum does not match the directory's; the file is damaged";
    return std::nullopt;
  }

private:
  std::optional<std::string> copy(Bytef *out, uint64_t count) {
    if (!input.read(offset, out, count))
      return "cannot be read";
    offset += count;
    return std::nullopt;
  }

  std::optional<std::string> unpack(Bytef *out, uint64_t count) {
    if (!started && inflateInit2(&state, -MAX_WBITS) != Z_OK)
      return "cannot start zlib";
    started = true;
    while (count > 0) {
      uInt step = uInt(std::min<uint64_t>(count, 1u << 30));
      state.next_out = out;
      state.avail_out = step;
      if (state.avail_in == 0) {
        uint64_t packed = std::min<uint64_t>(packedLeft, sizeof buffer);
        if (packed > 0 && !input.read(offset, buffer, packed))
          return "cannot be read";
        offset += packed;
        packedLeft -= packed;
        state.next_in = buffer;
        state.avail_in = uInt(packed);
      }
      int result = inflate(&state, Z_NO_FLUSH);
      uInt got = step - state.avail_out;
      out += got;
      count -= got;
      bool starved = got == 0 && state.avail_in == 0 && packedLeft == 0;
      if ((result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END) ||
          (count > 0 && (result == Z_STREAM_END || starved)))
        return "its deflated data are damaged";
    }
    return std::nullopt;
  }

  Input &input;
  uint64_t offset, packedLeft, left, total;
  uint32_t expectedCrc, crc = 0;
  bool deflated, started = false;
  z_stream state = {};
  Bytef buffer[1 << 16];
};
} // namespace

Result<std::unique_ptr<Stream>> openZipMember(Input &input,
                                              const ZipMember &member) {
  using R = Result<std::unique_ptr<Stream>>;
  std::string local;
  if (!readString(input, member.offset, localSize, local) ||
      field(local, 0, 4) != 0x04034b50)
    return R::failure(
        fmt::format("expected its local header at offset {}", member.offset));
  uint64_t begin =
      member.offset + localSize + field(local, 26, 2) + field(local, 28, 2);
  if (begin > member.limit || member.packedSize > member.limit - begin)
    return R::failure(fmt::format("its {} bytes at offset {} exceed the file",
                                  member.packedSize, begin));
  return R(std::make_unique<MemberStream>(input, member, begin));
}

} // namespace fusec::data
