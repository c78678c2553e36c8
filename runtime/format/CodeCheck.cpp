// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/format/CodeCheck.h"

#include "runtime/format/ElfFile.h"
#include "runtime/format/Where.h"

#include <algorithm>
#include <cstdio>

namespace fusec::format {

static void checkPtx(ByteSpan text, const std::string &name) {
  if (text.size == 0)
    throw ReadError{name + ": expected PTX, found no bytes"};
  const uint8_t *end = text.data + text.size;
  const uint8_t *other = std::find_if(text.data, end, [](uint8_t byte) {
    return (byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r') ||
           byte > '~';
  });
  if (other == end)
    return;
  char number[8];
  std::snprintf(number, sizeof(number), "0x%02x", *other);
  throw ReadError{name + ": expected PTX, which is text, found byte " + number +
                  " at offset " + std::to_string(other - text.data)};
}

void checkCode(const Section &section, const std::string &name) {
  if (section.kind == SectionKind::Cubin)
    ElfFile(section.bytes, name);
  if (section.kind == SectionKind::Ptx)
    checkPtx(section.bytes, name);
}

} // namespace fusec::format
