// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding up to an alignment.

#ifndef FUSEC_RUNTIME_FORMAT_ALIGNUP_H
#define FUSEC_RUNTIME_FORMAT_ALIGNUP_H

#include <cstdint>

namespace fusec::format {

// The alignment is at least 1; the result must fit.
constexpr uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

} // namespace fusec::format

#endif
