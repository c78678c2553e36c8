// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The extents of an ELF file.

#include "runtime/format/CodeCheck.h"

#include "runtime/format/BundleLayout.h"
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

std::string text(uint64_t number) { return std::to_string(number); }

class Elf {
public:
  Elf(ByteSpan file, const std::string &name) : file(file), name(name) {}

  void check() const {
    if (file.size < headerBytes ||
        std::memcmp(file.data, ident, sizeof(ident)) != 0)
      fail("expected an ELF file of 64 bits, little endian");
    uint64_t segments = at<uint64_t>(32), sections = at<uint64_t>(40);
    unsigned segmentCount = at<uint16_t>(56), sectionCount = at<uint16_t>(60);
    checkTable("program headers", segments, segmentCount, at<uint16_t>(54),
               segmentEntryBytes);
    checkTable("section headers", sections, sectionCount, at<uint16_t>(58),
               sectionEntryBytes);
    for (unsigned i = 0; i != segmentCount; ++i) {
      uint64_t entry = segments + i * segmentEntryBytes;
      checkRange("program header " + text(i), at<uint64_t>(entry + 8),
                 at<uint64_t>(entry + 32));
    }
    for (unsigned i = 0; i != sectionCount; ++i) {
      uint64_t entry = sections + i * sectionEntryBytes;
      if (std::count(std::begin(typesWithoutBytes), std::end(typesWithoutBytes),
                     at<uint32_t>(entry + 4)) == 0)
        checkRange("section header " + text(i), at<uint64_t>(entry + 24),
                   at<uint64_t>(entry + 32));
    }
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw ReadError{name + ": " + what};
  }
  template <typename T> T at(uint64_t offset) const {
    return loadLittle<T>(file.data + offset);
  }

  void checkTable(const char *table, uint64_t offset, uint64_t count,
                  uint64_t entryBytes, uint64_t expectedBytes) const {
    // A count of 0 beside an offset says that the count is elsewhere.
    if (count == 0 && offset == 0)
      return;
    if (count == 0 || entryBytes != expectedBytes)
      fail(std::string("ELF ") + table + ": expected entries of " +
           text(expectedBytes) + " bytes, found " + text(count) + " of " +
           text(entryBytes));
    checkRange(table, offset, count * entryBytes);
  }

  void checkRange(const std::string &what, uint64_t offset,
                  uint64_t size) const {
    if (offset > file.size || size > file.size - offset)
      fail("ELF " + what + ": expected a range within the section's " +
           text(file.size) + " bytes, found " + text(size) +
           " bytes at offset " + text(offset));
  }

  ByteSpan file;
  const std::string &name;
};
} // namespace

void checkCode(const Section &section, const std::string &name) {
  if (section.kind == SectionKind::Cubin)
    Elf(section.bytes, name).check();
  if (section.kind == SectionKind::Ptx && section.bytes.size == 0)
    throw ReadError{name + ": expected PTX, found no bytes"};
}

} // namespace fusec::format
