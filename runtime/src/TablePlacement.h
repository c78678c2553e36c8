// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rows of a plan's tables lie on the device, where not all of them may.

#ifndef FUSEC_RUNTIME_SRC_TABLEPLACEMENT_H
#define FUSEC_RUNTIME_SRC_TABLEPLACEMENT_H

#include "runtime/format/Manifest.h"

#include <map>
#include <string>
#include <vector>

namespace fusec::rt {

// What the caller wants.
struct MemoryBudget {
  uint64_t deviceBytes = 0; // that weights may take; 0: as many as there are
  // Of tables by name: how many of their first rows lie on the device.
  std::map<std::string, int64_t> rows;
};

// For each weight of the plan the bytes of it that lie on the device: all of
// what is no table; of tables their first bytes, all or whole pages of
// SplitMemory. Weights of one range have the same. Where the budget does not do
// for all, tables without a number of rows get equally many bytes, those that
// need fewer all that they need: of ids sorted by frequency, as they usually
// are distributed, no byte elsewhere would then be read more often. Throws
// Failure where the budget is too small, or names what is no table.
std::vector<uint64_t> placeWeights(const format::Plan &plan,
                                   const MemoryBudget &budget);

} // namespace fusec::rt

#endif
