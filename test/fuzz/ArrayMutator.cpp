// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/ArrayMutator.h"
#include "test/fuzz/BundleMutator.h"
#include "test/fuzz/JsonMutator.h"

#include <zlib.h>

using namespace fusec::fuzz;

static void appendNumber(std::string &bytes, uint64_t value, int count) {
  for (int i = 0; i != count; ++i)
    bytes.push_back(char(value >> (8 * i)));
}

static uint64_t readNumber(std::string_view bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = count; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + size_t(i)]);
  return value;
}

//===----------------------------------------------------------------------===//
// .npy
//===----------------------------------------------------------------------===//

static const char *const headers[] = {
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
    "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 3), }",
    "{'descr': '|b1', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<i8', 'fortran_order': False, 'shape': (0, 5), }",
    "{'descr': '|V2', 'fortran_order': True, 'shape': (2, 1, 4), }",
    "{'descr': '<f2', 'fortran_order': False, 'shape': (9223372036854775807, "
    "9), "
    "}",
    "{'shape': (3,), 'descr': '|u1', 'fortran_order': True}"};

/// The dictionary changes; its length stays right.
static std::string mutateNpy(std::string_view bytes, Random &random) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (bytes.size() < 12 || bytes.substr(0, 6) != magic)
    return "";
  int version = bytes[6], width = version == 1 ? 2 : 4;
  size_t start = 8 + size_t(width);
  uint64_t length = readNumber(bytes, 8, width);
  if (length > bytes.size() - start)
    return "";
  std::string text(bytes.substr(start, length)),
      data(bytes.substr(start + length));
  switch (random() % 6) {
  case 0:
    version = 1 + int(random() % 3);
    width = version == 1 ? 2 : 4;
    break;
  case 1:
    text = pick(headers, random);
    break;
  case 2:
    data = mutateBytes(data, data.size() + 32);
    break;
  default:
    text = mutateBytes(text, text.size() + 32);
  }
  std::string file(magic);
  file += char(version);
  file += '\0';
  appendNumber(file, text.size(), width);
  return file + text + data;
}

//===----------------------------------------------------------------------===//
// .npz
//===----------------------------------------------------------------------===//

namespace {
struct Member {
  std::string name, content;
};
} // namespace

static std::string inflateAll(std::string_view packed, uint64_t size) {
  std::string content(std::min<uint64_t>(size, 65536), '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return "";
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.avail_in = uInt(packed.size());
  stream.next_out = reinterpret_cast<Bytef *>(content.data());
  stream.avail_out = uInt(content.size());
  inflate(&stream, Z_FINISH);
  content.resize(stream.total_out);
  inflateEnd(&stream);
  return content;
}

static std::string deflateAll(std::string_view content) {
  std::string packed(content.size() + 64, '\0');
  z_stream stream = {};
  if (deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_FIXED) != Z_OK)
    return "";
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<char *>(content.data()));
  stream.avail_in = uInt(content.size());
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = uInt(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// Members one behind the other, as local headers describe them.
static std::vector<Member> readMembers(std::string_view bytes) {
  std::vector<Member> members;
  size_t at = 0;
  while (bytes.size() - at >= 30 && readNumber(bytes, at, 4) == 0x04034b50) {
    uint64_t method = readNumber(bytes, at + 8, 2),
             packed = readNumber(bytes, at + 18, 4),
             size = readNumber(bytes, at + 22, 4),
             name = readNumber(bytes, at + 26, 2),
             extra = readNumber(bytes, at + 28, 2);
    at += 30;
    if (name + extra > bytes.size() - at)
      break;
    Member &member = members.emplace_back();
    member.name = bytes.substr(at, name);
    at += name + extra;
    packed = std::min<uint64_t>(packed, bytes.size() - at);
    std::string_view content = bytes.substr(at, packed);
    member.content = method ? inflateAll(content, size) : std::string(content);
    at += packed;
  }
  return members;
}

static std::string writeMembers(const std::vector<Member> &members,
                                Random &random) {
  std::string file, directory;
  for (const Member &member : members) {
    bool deflated = random() % 2;
    std::string packed = deflated ? deflateAll(member.content) : member.content;
    std::string common;
    appendNumber(common, 20, 2); // version
    appendNumber(common, 0, 2);  // flags
    appendNumber(common, deflated ? 8 : 0, 2);
    appendNumber(common, 0, 4); // time
    appendNumber(common,
                 crc32(0,
                       reinterpret_cast<const Bytef *>(member.content.data()),
                       uInt(member.content.size())),
                 4);
    appendNumber(common, packed.size(), 4);
    appendNumber(common, member.content.size(), 4);
    appendNumber(common, member.name.size(), 2);
    appendNumber(common, 0, 2); // extra
    appendNumber(directory, 0x02014b50, 4);
    appendNumber(directory, 20, 2);
    directory += common;
    appendNumber(directory, 0, 4); // comment, disk
    appendNumber(directory, 0, 6); // attributes
    appendNumber(directory, file.size(), 4);
    directory += member.name;
    appendNumber(file, 0x04034b50, 4);
    file += common + member.name + packed;
  }
  uint64_t offset = file.size();
  std::string end;
  appendNumber(end, 0x06054b50, 4);
  appendNumber(end, 0, 4);
  appendNumber(end, members.size(), 2);
  appendNumber(end, members.size(), 2);
  appendNumber(end, directory.size(), 4);
  appendNumber(end, offset, 4);
  appendNumber(end, 0, 2);
  // What the directory says may be something else than what is there.
  if (random() % 3 == 0)
    setNumber(reinterpret_cast<uint8_t *>(directory.data()), directory.size(),
              random);
  if (random() % 6 == 0)
    setNumber(reinterpret_cast<uint8_t *>(end.data()) + 4, end.size() - 4,
              random);
  return file + directory + end;
}

static std::string mutateNpz(std::string_view bytes, std::string_view donor,
                             Random &random) {
  std::vector<Member> members = readMembers(bytes), donors = readMembers(donor);
  if (donors.empty())
    donors = members;
  if (members.empty())
    return "";
  Member &member = pick(members, random);
  switch (random() % 8) {
  case 0:
    if (members.size() < 20)
      members.push_back(Member(pick(donors, random)));
    break;
  case 1:
    members.erase(members.begin() + long(random() % members.size()));
    break;
  case 2:
    member.name = mutateBytes(member.name, member.name.size() + 8);
    break;
  case 3:
    member.content = mutateBytes(member.content, member.content.size() + 32);
    break;
  case 4:
    member.content = pick(donors, random).content;
    break;
  default: {
    std::string changed = mutateNpy(member.content, random);
    if (!changed.empty())
      member.content = changed;
  }
  }
  return writeMembers(members, random);
}

std::string fusec::fuzz::mutateArrays(std::string_view bytes,
                                      std::string_view donor, size_t maxSize,
                                      Random &random) {
  std::string changed;
  if (random() % 8)
    changed = bytes.substr(0, 2) == "PK" ? mutateNpz(bytes, donor, random)
                                         : mutateNpy(bytes, random);
  return changed.empty() ? mutateBytes(bytes, maxSize) : changed;
}

//===----------------------------------------------------------------------===//
// safetensors
//===----------------------------------------------------------------------===//

std::string fusec::fuzz::mutateSafetensors(std::string_view bytes,
                                           std::string_view donor,
                                           size_t maxSize, Random &random) {
  auto headerOf = [](std::string_view file) {
    if (file.size() < 8)
      return std::string_view();
    uint64_t length = readNumber(file, 0, 8);
    return length > file.size() - 8 ? std::string_view()
                                    : file.substr(8, length);
  };
  std::string_view header = headerOf(bytes), other = headerOf(donor);
  if (header.empty() || random() % 8 == 0)
    return mutateBytes(bytes, maxSize);
  std::string data(bytes.substr(8 + header.size()));
  std::string changed(header);
  if (random() % 8 == 0)
    data.resize(random() % 64);
  else
    changed =
        mutateJson(header, other.empty() ? header : other, maxSize, random);
  std::string file;
  appendNumber(file, changed.size(), 8);
  return file + changed + data;
}
