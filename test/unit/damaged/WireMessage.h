// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A protobuf message as a tree of fields without its schema, so that damage can
// be done to fields, and the lengths around them stay right: what comes out is
// read as a message, with other contents.

#ifndef FUSEC_TEST_UNIT_DAMAGED_WIREMESSAGE_H
#define FUSEC_TEST_UNIT_DAMAGED_WIREMESSAGE_H

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace fusec::test {

struct WireField {
  uint32_t number = 0;
  unsigned type = 0;      // protobuf's wire type: 0, 1, 2 or 5
  uint64_t value = 0;     // of a number
  std::string bytes;      // of a string
  bool isMessage = false; // bytes that read as fields are taken for a message
  std::vector<WireField> fields;
};
using WireMessage = std::vector<WireField>;

/// What nests deeper than `depth` is left as bytes.
std::optional<WireMessage> parseWire(std::string_view bytes,
                                     unsigned depth = 100);
std::string writeWire(const WireMessage &message);

/// As nobody writes a message: numbers take more bytes than they need, up to
/// more than is allowed, tags have bits beyond 32, and unknown fields of every
/// wire type stand between the others, groups among them.
std::string writeLoosely(const WireMessage &message, std::mt19937 &random);

/// Damages one field: removes, repeats or swaps it, puts in its place one of
/// the same number from `donor`, or changes what it holds.
void damage(WireMessage &message, WireMessage &donor, std::mt19937 &random);

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_DAMAGED_WIREMESSAGE_H
