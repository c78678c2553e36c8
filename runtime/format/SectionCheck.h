// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What checks of a bundle's sections share. Private to the reader.

#ifndef FUSEC_RUNTIME_FORMAT_SECTIONCHECK_H
#define FUSEC_RUNTIME_FORMAT_SECTIONCHECK_H

#include "runtime/format/Bundle.h"
#include "runtime/format/Where.h"

namespace fusec::format {

// "bundle: section 1 (cubin)"
std::string sectionText(const std::vector<Section> &sections, size_t index);

// Throws ReadError where the table says another hash.
void checkDigest(const std::vector<Section> &sections, size_t index,
                 const Digest &found);

} // namespace fusec::format

#endif
