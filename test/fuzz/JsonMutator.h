// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes to JSON that leave it JSON, with other contents.

#ifndef FUSEC_TEST_FUZZ_JSONMUTATOR_H
#define FUSEC_TEST_FUZZ_JSONMUTATOR_H

#include "test/fuzz/FuzzTarget.h"

namespace fusec::fuzz {

/// A Target's mutation of JSON text; of bytes where it is none.
std::string mutateJson(std::string_view text, std::string_view donor,
                       size_t maxSize, Random &random);

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_JSONMUTATOR_H
