// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a section of device code must be. The driver is given its address only:
// it must find the end by itself.

#ifndef FUSEC_RUNTIME_FORMAT_CODECHECK_H
#define FUSEC_RUNTIME_FORMAT_CODECHECK_H

#include "runtime/format/Bundle.h"

namespace fusec::format {

// Throws ReadError, which begins with `name`, unless a cubin is an ELF file
// that ends within its bytes, and PTX is text: the driver tells them apart by
// their first bytes alone. Other sections are good.
void checkCode(const Section &section, const std::string &name);

} // namespace fusec::format

#endif
