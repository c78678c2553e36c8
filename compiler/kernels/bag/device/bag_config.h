// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What host and device share of embedding bags: how the bags of a table are
// divided among threads and blocks.

#ifndef FUSEC_DEVICE_BAG_CONFIG_H
#define FUSEC_DEVICE_BAG_CONFIG_H

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// A table's bags.
struct BagShape {
  int ids;          // which of the index tensors
  long long first;  // element of the first bag's first index
  long long stride; // elements from a bag's first index to the next bag's
  int step;         // elements from one index of a bag to the next
  int count;        // indices of a bag, 0 where offsets say how many
  int width;        // elements of a row
  long long column; // of the result, where the table's begin
  int lanes;        // threads that read a row
  int split;        // groups of lanes that share a bag
  int perBlock;     // bags that a block takes
  float scale;      // of the sums
};

/// Where a table's offsets or weights lie in their tensor.
struct BagPlace {
  long long first, stride;
  int step;
};

/// A block's work: the `part`-th of a tile's bags of a table.
struct BagSlot {
  int table, part;
};

/// Small blocks, so that while some find their rows many others read theirs; as
/// many as a multiprocessor has registers for, by the elements of an access.
constexpr int bagThreads = 128;
constexpr FUSEC_DEVICE int bagResident(long long vector) {
  return vector > 8 ? 4 : 6;
}
/// Rows that a block finds before it reads them: of each of its bags as many.
/// There are at most 512 of these.
constexpr int bagStaged = 2048;
/// Tables of a kernel: their pointers and row counts, and those of indices, are
/// parameters, of which there are 32,764 bytes.
constexpr int mostBagTables = 1000;
/// Elements of a row, and indices of a bag.
constexpr int mostOfBag = 1 << 20;

/// Bags that a group of lanes has on their way, by the indices of a bag: those
/// of sumAllBags().
constexpr FUSEC_DEVICE int bagsAtOnce(long long count) {
  return count == 1 ? 4 : count <= 4 ? 2 : 1;
}

/// Lanes that read rows of so many accesses: as many, up to a warp's.
constexpr FUSEC_DEVICE int bagLanes(long long accesses) {
  int lanes = 1;
  while (lanes < 32 && lanes < accesses)
    lanes *= 2;
  return lanes;
}

/// Groups of a warp's lanes that share a bag: so many that none has more than
/// 32 indices, where there are enough.
constexpr FUSEC_DEVICE int bagSplit(long long count, int lanes) {
  int split = 1;
  while (split * lanes < 32 && count > 32 * split)
    split *= 2;
  return split;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_DEVICE_BAG_CONFIG_H
