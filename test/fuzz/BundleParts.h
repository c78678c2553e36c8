// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bundle taken apart and put together again, whatever it holds.

#ifndef FUSEC_TEST_FUZZ_BUNDLEPARTS_H
#define FUSEC_TEST_FUZZ_BUNDLEPARTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::fuzz {

struct BundlePart {
  uint32_t kind = 0, flags = 0;
  std::string content;
};

/// The sections that a table names; nothing where it does not lie in the bytes.
std::optional<std::vector<BundlePart>> takeApart(std::string_view bytes);

/// Sections on pages of their own and the manifest, the first, at the end.
std::vector<uint8_t> putTogether(const std::vector<BundlePart> &parts);

/// Writes the hashes that the bytes have, and their number, so that what is
/// refused is refused for what it says.
void rehash(std::vector<uint8_t> &file);

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_BUNDLEPARTS_H
