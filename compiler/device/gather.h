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

/// Applies the policy; false means that the row reads as zero. `faults` is
/// null in all policies but Flag. Call once for an index, not for an element.
template <GatherPolicy Policy>
FUSEC_DEVICE bool gatherRow(i64 raw, i64 size, i64 &row, u64 *faults) {
  if (gatherIndex(raw, size, row))
    return true;
  if constexpr (Policy == GatherPolicy::Clamp) {
    row = raw < 0 ? 0 : size - 1;
    if (size > 0)
      return true;
    row = 0;
  }
  if constexpr (Policy == GatherPolicy::Flag)
    primitive::countAtomically(faults, 1);
  return false;
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
