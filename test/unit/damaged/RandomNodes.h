// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of a few nodes with every operator and operands that fit more or less:
// sizes, axes and bounds come from a small pool that holds the extremes.

#ifndef FUSEC_TEST_UNIT_DAMAGED_RANDOMNODES_H
#define FUSEC_TEST_UNIT_DAMAGED_RANDOMNODES_H

#include <random>
#include <string>

namespace fusec::test {

/// The bytes of a ModelProto.
std::string makeRandomNodes(std::mt19937 &random);

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_DAMAGED_RANDOMNODES_H
