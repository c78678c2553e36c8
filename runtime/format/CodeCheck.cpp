// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/format/CodeCheck.h"

#include "runtime/format/ElfFile.h"
#include "runtime/format/Where.h"

namespace fusec::format {

void checkCode(const Section &section, const std::string &name) {
  if (section.kind == SectionKind::Cubin)
    ElfFile(section.bytes, name);
  if (section.kind == SectionKind::Ptx && section.bytes.size == 0)
    throw ReadError{name + ": expected PTX, found no bytes"};
}

} // namespace fusec::format
