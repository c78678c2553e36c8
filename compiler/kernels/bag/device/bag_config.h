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
  int split;        // groups of lanes that share a bag, of one warp or several
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
/// Where bags are few, smaller ones for short bags and larger ones for long.
constexpr int bagThreads = 128, fewBagThreads = 64, mostBagThreads = 512;
/// Rows that a block finds before it reads them: of each of its bags as many.
constexpr int bagStaged = 2048;
/// Indices that a thread finds the rows of at a time.
constexpr int bagIdsAtOnce = 4;
/// Tables of a kernel: their pointers and row counts, and those of indices, are
/// parameters, of which there are 32,764 bytes.
constexpr int mostBagTables = 1000;
/// Elements of a row, and indices of a bag.
constexpr int mostOfBag = 1 << 20;

/// Of bags of at most so many rows a group of lanes takes several at a time.
constexpr int mostOfFewRows = 4;

/// Bags that a group of lanes has on their way, by the indices of a bag: those
/// of sumAllBags().
constexpr FUSEC_DEVICE int bagsAtOnce(long long count) {
  return count == 1 ? 4 : count <= mostOfFewRows ? 2 : 1;
}

/// Rows of a bag that a thread has on their way. What rows are multiplied with
/// and shifted by takes registers, too.
constexpr FUSEC_DEVICE int bagRowsAtOnce(bool haveWeights, bool haveZeros,
                                         bool areNarrowMaxima) {
  return areNarrowMaxima ? 3 : haveWeights || haveZeros ? 4 : 5;
}

/// Lanes that read rows of so many accesses: as many, up to `most`.
constexpr FUSEC_DEVICE int bagLanes(long long accesses, int most) {
  int lanes = 1;
  while (lanes < most && lanes < accesses)
    lanes *= 2;
  return lanes;
}

/// What bags of as many indices each are like: one row, a few, as many as a
/// block finds at once for all of its bags, or more. A kernel has the code of
/// those that it has bags of, and of groups that share bags where some do.
enum BagForm : int {
  bagCopy = 1,
  bagFew = 2,
  bagShort = 4,
  bagLong = 8,
  bagShared = 16
};

constexpr FUSEC_DEVICE BagForm bagForm(const BagShape &shape) {
  return shape.count == 1                                   ? bagCopy
         : shape.count >= 2 && shape.count <= mostOfFewRows ? bagFew
         : shape.count != 0 && shape.count * shape.perBlock <= bagStaged
             ? bagShort
             : bagLong;
}

/// Blocks of bagThreads that a multiprocessor has registers for, by the forms
/// that a kernel has (none: offsets), whether its bags are sums of rows without
/// weights, padding or zeros, and whether rows are integers, and are compared.
/// With fewer registers the compiler would read rows one after another.
constexpr FUSEC_DEVICE int bagResident(int forms, bool isPlain, bool isNarrow,
                                       bool isMax) {
  const bool isLight = (forms & (bagFew | bagLong)) == 0;
  return forms == 0          ? (isNarrow ? 5 : 6)
         : isPlain           ? (!isLight                        ? 6
                                : isNarrow && forms & bagShared ? 7
                                                                : 8)
         : isLight           ? 6
         : isNarrow && isMax ? 4
                             : 5;
}

/// How many threads of a block may share a bag, so that none has more rows than
/// so many: those of a warp where there are many bags, so that blocks hide one
/// another's latencies, or bags are short.
constexpr FUSEC_DEVICE int bagSharing(long long threads) {
  return threads > bagThreads ? int(threads) : 32;
}
constexpr FUSEC_DEVICE int bagRows(long long threads) {
  return threads < bagThreads ? 8 : threads == bagThreads ? 64 : 16;
}

/// Groups of lanes that share a bag: so many that none has more than `rows`
/// indices, where the bag then has at most `most` threads.
constexpr FUSEC_DEVICE int bagSplit(long long count, int lanes, int rows,
                                    int most) {
  int split = 1;
  while (split * lanes < most && count > (long long)(rows)*split)
    split *= 2;
  return split;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_DEVICE_BAG_CONFIG_H
