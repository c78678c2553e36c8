// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes to ONNX models: to what they mean, so that most still import, and to
// their fields, so that most do not.

#ifndef FUSEC_TEST_FUZZ_MODELMUTATOR_H
#define FUSEC_TEST_FUZZ_MODELMUTATOR_H

#include "test/fuzz/FuzzTarget.h"

namespace fusec::fuzz {

/// A Target's mutation of the bytes of a ModelProto.
std::string mutateModel(std::string_view bytes, std::string_view donor,
                        size_t maxSize, Random &random);

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_MODELMUTATOR_H
