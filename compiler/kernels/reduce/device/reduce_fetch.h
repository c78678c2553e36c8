// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that L2 fetches before they are loaded.

#ifndef FUSEC_KERNELS_REDUCE_FETCH_H
#define FUSEC_KERNELS_REDUCE_FETCH_H

#include "prelude_hopper.h"
#include "vector.h"

namespace fusec {

/// Has L2 fetch `count` items, once for the block: whole vectors of 16 bytes.
template <class T> FUSEC_DEVICE void fetchForBlock(const T *items, int count) {
#ifndef FUSEC_HOST
  if (launch::thread() == 0)
    primitive::fetchBulk(items, u32(count) * u32(sizeof(T)));
#endif
}

template <class T, bool Stays>
FUSEC_DEVICE void fetchForBlock(ReadOnce<T, Stays> items, int count) {
  fetchForBlock(items.at, count);
}

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_FETCH_H
