// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_TEST_FUZZ_EXPRTARGET_H
#define FUSEC_TEST_FUZZ_EXPRTARGET_H

#include <string_view>

namespace fusec::fuzz {

/// The text of an expression: what it prints is read as the same, and what the
/// compiler proves and writes of it holds for its values.
void readExpr(std::string_view text);

} // namespace fusec::fuzz

#endif // FUSEC_TEST_FUZZ_EXPRTARGET_H
