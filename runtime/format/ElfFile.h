// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An ELF file that nobody vouches for. Private to the checks of device code.

#ifndef FUSEC_RUNTIME_FORMAT_ELFFILE_H
#define FUSEC_RUNTIME_FORMAT_ELFFILE_H

#include "runtime/format/BundleLayout.h"

#include <string_view>

namespace fusec::format {

class ElfFile {
public:
  // Throws ReadError, which begins with `name`, unless the file is an ELF file
  // of 64 bits whose headers, segments and sections lie within its bytes.
  ElfFile(ByteSpan file, std::string name);

  [[noreturn]] void fail(const std::string &what) const;

  unsigned sectionCount() const { return count; }
  // What follows takes an index below the number of sections.
  ByteSpan sectionBytes(unsigned index) const;
  // The section that one of this kind of section belongs to.
  uint32_t sectionInfo(unsigned index) const;
  // Empty where the file has no names, and of one of more than `most` bytes.
  std::string_view sectionName(unsigned index, size_t most) const;

private:
  template <typename T> T at(uint64_t offset) const {
    return loadLittle<T>(file.data + offset);
  }
  uint64_t header(unsigned index) const;
  bool hasBytes(unsigned index) const;
  void checkTable(const char *table, uint64_t offset, uint64_t count,
                  uint64_t entryBytes, uint64_t expectedBytes) const;
  void checkRange(const std::string &what, uint64_t offset,
                  uint64_t size) const;

  ByteSpan file;
  std::string name;
  unsigned count = 0; // of sections
};

} // namespace fusec::format

#endif
