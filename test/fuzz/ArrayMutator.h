// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes to files of tensors that keep the lengths and sums around what they
// change right.

#ifndef FUSEC_TEST_FUZZ_ARRAYMUTATOR_H
#define FUSEC_TEST_FUZZ_ARRAYMUTATOR_H

#include "test/fuzz/FuzzTarget.h"

namespace fusec::fuzz {

/// A Target's mutation of .npy and .npz.
std::string mutateArrays(std::string_view bytes, std::string_view donor,
                         size_t maxSize, Random &random);

/// A Target's mutation of safetensors.
std::string mutateSafetensors(std::string_view bytes, std::string_view donor,
                              size_t maxSize, Random &random);

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_ARRAYMUTATOR_H
