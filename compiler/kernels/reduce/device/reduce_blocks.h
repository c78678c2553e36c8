// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which worker it is of those that reduce a row in several blocks.

#ifndef FUSEC_KERNELS_REDUCE_BLOCKS_H
#define FUSEC_KERNELS_REDUCE_BLOCKS_H

#include "reduce.h"

namespace fusec {

/// What scopes of `Blocks` blocks of `Threads` threads, which follow one
/// another in the grid, have in common. On the host the first block does it
/// all.
template <int Threads, int Blocks> struct BlocksOfRow {
  static constexpr int maxSize = Threads * Blocks, threads = Threads;
  /// Which of the row's blocks it is, of how many.
  static constexpr int blocks = Blocks / launch::workersOf(Blocks);
  static FUSEC_DEVICE int block() { return launch::block() % blocks; }
  static FUSEC_DEVICE int rank() {
    return launch::block() % Blocks * (Threads / launch::workersOf(Threads)) +
           launch::thread();
  }
  static constexpr FUSEC_DEVICE int size() {
    return maxSize / launch::workersOf(maxSize);
  }
  static FUSEC_DEVICE i64 group() { return launch::block() / Blocks; }
  static FUSEC_DEVICE i64 groups() { return launch::blocks() / Blocks; }
};

} // namespace fusec

#endif // FUSEC_KERNELS_REDUCE_BLOCKS_H
