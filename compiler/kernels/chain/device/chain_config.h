// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory of a chain. Plain C++ arithmetic: generated kernels and the
// scheduler share it.

#ifndef FUSEC_KERNELS_CHAIN_CONFIG_H
#define FUSEC_KERNELS_CHAIN_CONFIG_H

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// A block has at least these.
constexpr int chainLeastThreads = 128;

/// Elements from one row of a tile to the next: an odd number of 16-byte units,
/// so that vectors at one column of neighbouring rows lie in different banks.
constexpr FUSEC_DEVICE int chainStride(int columns, int elementBytes) {
  int units = (columns * elementBytes + 15) / 16;
  return (units | 1) * 16 / elementBytes;
}

constexpr FUSEC_DEVICE int chainTileBytes(int rows, int columns,
                                          int elementBytes) {
  return rows * chainStride(columns, elementBytes) * elementBytes;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_CHAIN_CONFIG_H
