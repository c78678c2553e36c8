// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/format/Printable.h"

#include <algorithm>
#include <cstdint>

namespace fusec::format {

namespace {
bool isContinuation(char c) { return (uint8_t(c) & 0xc0) == 0x80; }

// Bytes of the character that the text begins with: one that is printed as it
// is, or 0.
size_t characterBytes(std::string_view text) {
  uint8_t first = uint8_t(text.front());
  if (first < 0x80)
    return first >= 0x20 && first != 0x7f ? 1 : 0;
  size_t length = first < 0xc2   ? 0
                  : first < 0xe0 ? 2
                  : first < 0xf0 ? 3
                  : first < 0xf5 ? 4
                                 : 0;
  if (length == 0 || length > text.size() ||
      !std::all_of(text.begin() + 1, text.begin() + long(length),
                   isContinuation))
    return 0;
  // No longer than need be, no surrogates, at most U+10FFFF; U+0080 to U+009F
  // are control characters, too.
  uint8_t second = uint8_t(text[1]);
  bool isRefused =
      (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ||
      (first == 0xc2 && second < 0xa0);
  return isRefused ? 0 : length;
}
} // namespace

std::string printable(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    size_t length = characterBytes(text);
    if (length == 0) {
      uint8_t byte = uint8_t(text.front());
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
    result += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

std::string shorten(std::string_view text, size_t most) {
  if (text.size() <= most)
    return std::string(text);
  size_t length = most - 3;
  while (length != 0 && isContinuation(text[length]))
    --length;
  return std::string(text.substr(0, length)) + "...";
}

} // namespace fusec::format
