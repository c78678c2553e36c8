// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of a file that nobody vouches for, inside messages.

#ifndef FUSEC_RUNTIME_FORMAT_PRINTABLE_H
#define FUSEC_RUNTIME_FORMAT_PRINTABLE_H

#include <string>
#include <string_view>

namespace fusec::format {

// Text in which no byte moves a terminal's cursor or begins a line of its own:
// control characters, and what is no UTF-8, as "\x1b".
std::string printable(std::string_view text);

// As much of a text as a message quotes: whole characters.
std::string shorten(std::string_view text, size_t most = 100);

} // namespace fusec::format

#endif
