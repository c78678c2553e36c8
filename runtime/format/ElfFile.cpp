// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The extents of an ELF file, and its sections.

#include "runtime/format/ElfFile.h"

#include "runtime/format/Where.h"

#include <algorithm>
#include <cstring>

namespace fusec::format {

namespace {
// Of 64-bit ELF, as are the offsets below.
constexpr size_t headerBytes = 64;
constexpr uint64_t segmentEntryBytes = 56, sectionEntryBytes = 64;
// 64 bits, little endian, of the current version.
constexpr uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
// Sections that have a size, but no bytes in the file: the standard one, and
// global, local, shared and reserved shared memory as NVIDIA's linker has them.
constexpr uint32_t typesWithoutBytes[] = {8, 0x70000007, 0x70000009, 0x7000000a,
                                          0x70000015};

} // namespace

ElfFile::ElfFile(ByteSpan file, std::string name)
    : file(file), name(std::move(name)) {
  if (file.size < headerBytes ||
      std::memcmp(file.data, ident, sizeof(ident)) != 0)
    fail("expected an ELF file of 64 bits, little endian");
  uint64_t segments = at<uint64_t>(32), sections = at<uint64_t>(40);
  unsigned segmentCount = at<uint16_t>(56);
  count = at<uint16_t>(60);
  checkTable("program headers", segments, segmentCount, at<uint16_t>(54),
             segmentEntryBytes);
  checkTable("section headers", sections, count, at<uint16_t>(58),
             sectionEntryBytes);
  for (unsigned i = 0; i != segmentCount; ++i) {
    uint64_t entry = segments + i * segmentEntryBytes;
    checkRange("program header " + std::to_string(i), at<uint64_t>(entry + 8),
               at<uint64_t>(entry + 32));
  }
  for (unsigned i = 0; i != count; ++i)
    if (hasBytes(i))
      checkRange("section header " + std::to_string(i),
                 at<uint64_t>(header(i) + 24), at<uint64_t>(header(i) + 32));
}

void ElfFile::fail(const std::string &what) const {
  throw ReadError{name + ": " + what};
}

uint64_t ElfFile::header(unsigned index) const {
  return at<uint64_t>(40) + index * sectionEntryBytes;
}

bool ElfFile::hasBytes(unsigned index) const {
  return std::count(std::begin(typesWithoutBytes), std::end(typesWithoutBytes),
                    at<uint32_t>(header(index) + 4)) == 0;
}

ByteSpan ElfFile::sectionBytes(unsigned index) const {
  if (!hasBytes(index))
    return {};
  return {file.data + at<uint64_t>(header(index) + 24),
          size_t(at<uint64_t>(header(index) + 32))};
}

uint32_t ElfFile::sectionInfo(unsigned index) const {
  return at<uint32_t>(header(index) + 44);
}

std::string_view ElfFile::sectionName(unsigned index, size_t most) const {
  unsigned table = at<uint16_t>(62);
  if (table >= count)
    return {};
  ByteSpan names = sectionBytes(table);
  uint64_t begin = at<uint32_t>(header(index));
  if (begin >= names.size)
    return {};
  const uint8_t *start = names.data + begin;
  const void *end =
      std::memchr(start, 0, std::min<size_t>(most + 1, names.size - begin));
  if (!end)
    return {};
  return {reinterpret_cast<const char *>(start),
          size_t(static_cast<const uint8_t *>(end) - start)};
}

void ElfFile::checkTable(const char *table, uint64_t offset, uint64_t count,
                         uint64_t entryBytes, uint64_t expectedBytes) const {
  // A count of 0 beside an offset says that the count is elsewhere.
  if (count == 0 && offset == 0)
    return;
  if (count == 0 || entryBytes != expectedBytes)
    fail(std::string("ELF ") + table + ": expected entries of " +
         std::to_string(expectedBytes) + " bytes, found " +
         std::to_string(count) + " of " + std::to_string(entryBytes));
  checkRange(table, offset, count * entryBytes);
}

void ElfFile::checkRange(const std::string &what, uint64_t offset,
                         uint64_t size) const {
  if (offset > file.size || size > file.size - offset)
    fail("ELF " + what + ": expected a range within the section's " +
         std::to_string(file.size) + " bytes, found " + std::to_string(size) +
         " bytes at offset " + std::to_string(offset));
}

} // namespace fusec::format
