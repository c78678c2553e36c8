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
  long long stride; // from a bag's first index to the next bag's, -1: count
  int step;         // elements from one index of a bag to the next
  int count;        // indices of a bag, 0 where offsets or a size say how many
  int width;        // elements of a row
  long long column; // of the result, where the table's begin
  int lanes;        // threads that read a row
  int split;        // groups of lanes that share a bag
  int perBlock;     // bags that a block takes
  float scale;      // of the sums
};

/// Where a table's offsets or weights lie in their tensor; a stride of -1 is a
/// bag's number of indices.
struct BagPlace {
  long long first, stride;
  int step;
};

/// A block's work: the `part`-th of a tile's bags of a table.
struct BagSlot {
  int table, part;
};

/// Small blocks, so that while some find their rows many others read theirs.
constexpr int bagThreads = 128;
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

/// What bags of as many indices each are like: one row, a few, as many as a
/// block finds at once for all of its bags, or more. A kernel has the code of
/// those that it has bags of.
enum BagForm : int { bagCopy = 1, bagFew = 2, bagShort = 4, bagLong = 8 };

constexpr FUSEC_DEVICE BagForm bagForm(const BagShape &shape) {
  return shape.count == 1                       ? bagCopy
         : shape.count >= 2 && shape.count <= 4 ? bagFew
         : shape.count != 0 && shape.split == 1 &&
                 shape.count * shape.perBlock <= bagStaged
             ? bagShort
             : bagLong;
}

/// Blocks that a multiprocessor has registers for, by the forms that a kernel
/// has (none: offsets), whether its bags are sums of rows without weights,
/// padding or zeros, and whether rows are integers, and are compared.
constexpr FUSEC_DEVICE int bagResident(int forms, bool isPlain, bool isNarrow,
                                       bool isMax) {
  const bool isLight = (forms & (bagFew | bagLong)) == 0;
  return forms == 0          ? (isNarrow ? 5 : 6)
         : isPlain           ? (isLight ? 8 : 6)
         : isLight           ? 6
         : isNarrow && isMax ? 4
                             : 5;
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
