// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of a few hundred bytes, or a few thousand, that become large: calls
// that double with each level, values joined with themselves, constants that
// grow, names that pile up, messages inside messages.

#ifndef FUSEC_TEST_UNIT_DAMAGED_BOMBS_H
#define FUSEC_TEST_UNIT_DAMAGED_BOMBS_H

#include <random>
#include <string>

namespace fusec::test {

/// The bytes of a ModelProto. Numbers of levels are from a few to far too many;
/// what is legal and only long has at most so many nodes.
std::string makeBomb(std::mt19937 &random, unsigned most);

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_DAMAGED_BOMBS_H
