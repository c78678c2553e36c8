// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_TEST_FUZZ_BUNDLEMUTATOR_H
#define FUSEC_TEST_FUZZ_BUNDLEMUTATOR_H

#include "test/fuzz/FuzzTarget.h"

namespace fusec::fuzz {

/// A Target's mutation of bundles: of the manifest, of what other sections
/// hold, and of the table.
std::string mutateBundle(std::string_view bytes, std::string_view donor,
                         size_t maxSize, Random &random);

/// Puts a number at the edge of what fits into 1, 2, 4 or 8 of the bytes.
void setNumber(uint8_t *bytes, size_t size, Random &random);

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_BUNDLEMUTATOR_H
