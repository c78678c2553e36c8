// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_TEST_FUZZ_BUNDLETARGET_H
#define FUSEC_TEST_FUZZ_BUNDLETARGET_H

#include <string_view>

namespace fusec::fuzz {

/// Loads a bundle on the fake driver, binds tensors of a few sizes, prepares
/// and runs; as it is, and with right hashes.
void runBundle(std::string_view bytes);

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_BUNDLETARGET_H
