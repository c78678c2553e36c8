// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index checks of lookups: indices are data of the user and never trusted.

#ifndef FUSEC_DEVICE_GATHER_H
#define FUSEC_DEVICE_GATHER_H

#include "prelude.h"

namespace fusec {

/// The row that a raw index names: negative indices count from the end, once.
/// False (and row 0) when it names none of `size` rows.
FUSEC_DEVICE bool gatherIndex(i64 raw, i64 size, i64 &row) {
  row = raw < 0 ? raw + size : raw;
  if (row >= 0 && row < size)
    return true;
  row = 0;
  return false;
}

/// What an index outside its table does: counts a fault and reads as zero,
/// reads as zero, or takes the nearest row.
enum class GatherPolicy { Flag, Zero, Clamp };

/// The row by the policy; false, with row 0, means that it reads as zero, which
/// under Flag is a fault that the caller counts.
template <GatherPolicy Policy>
FUSEC_DEVICE bool findRow(i64 raw, i64 size, i64 &row) {
  if (gatherIndex(raw, size, row))
    return true;
  if (Policy != GatherPolicy::Clamp || size <= 0)
    return false;
  row = raw < 0 ? 0 : size - 1;
  return true;
}

/// The same, counting the fault. `faults` is null in all policies but Flag.
/// Call once for an index, not for an element.
template <GatherPolicy Policy>
FUSEC_DEVICE bool gatherRow(i64 raw, i64 size, i64 &row, u64 *faults) {
  bool isFound = findRow<Policy>(raw, size, row);
  if constexpr (Policy == GatherPolicy::Flag)
    if (!isFound)
      primitive::countAtomically(faults, 1);
  return isFound;
}

/// Counts a row that findRow() did not find, after others have been found and
/// are on their way: no load then waits behind this branch.
FUSEC_DEVICE void countMissing(bool isMissing, u64 *faults) {
  if (isMissing)
    primitive::countAtomically(faults, 1);
}

/// As gatherRow, from any lane, but counting only where `owner` is set: for
/// kernels in which several threads share one index.
template <GatherPolicy Policy>
FUSEC_DEVICE bool gatherRowShared(i64 raw, i64 size, i64 &row, u64 *faults,
                                  bool owner) {
  if (Policy == GatherPolicy::Flag && !owner)
    return gatherIndex(raw, size, row);
  return gatherRow<Policy>(raw, size, row, faults);
}

} // namespace fusec

#endif // FUSEC_DEVICE_GATHER_H
