// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that L2 fetches before they are loaded.

#ifndef FUSEC_KERNELS_REDUCE_FETCH_H
#define FUSEC_KERNELS_REDUCE_FETCH_H

#include "prelude_hopper.h"
#include "vector.h"

namespace fusec {

/// Has L2 fetch `count` items, once for the block: whole vectors of 16 bytes.
/// `Stays`: they are to stay there longer than other data.
template <bool Stays, class T>
FUSEC_DEVICE void fetchForBlock(const T *items, int count) {
#ifndef FUSEC_HOST
  if (launch::thread() != 0)
    return;
  const u32 bytes = u32(count) * u32(sizeof(T));
  if constexpr (Stays)
    primitive::fetchBulkStaying(items, bytes);
  else
    primitive::fetchBulk(items, bytes);
#endif
}

template <bool Stays, class T, class Rule>
FUSEC_DEVICE void fetchForBlock(ReadBy<T, Rule> items, int count) {
  fetchForBlock<Stays>(items.at, count);
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_FETCH_H
