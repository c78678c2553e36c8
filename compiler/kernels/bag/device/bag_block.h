// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a block of the bag family knows of its table, and how it finds the rows
// of its bags: all indices at once, before any row is read.

#ifndef FUSEC_DEVICE_BAG_BLOCK_H
#define FUSEC_DEVICE_BAG_BLOCK_H

#include "bag_epilogue.h"
#include "bag_sums.h"

namespace fusec {

/// Offsets or weights: `buffers` is a struct of pointers `at` and counts
/// `rows`, `places` says where a table's begin.
template <class Buffers> struct BagOperand {
  static constexpr bool areThere = true;
  const Buffers &buffers;
  const BagPlace *places;
};
template <class Buffers>
BagOperand(const Buffers &, const BagPlace *) -> BagOperand<Buffers>;

/// The row that each table leaves out, -1 for none.
struct BagPadding {
  static constexpr bool areThere = true;
  const i64 *rows;

  FUSEC_DEVICE bool leavesOut(int table, i64, i64 row, bool isFound) const {
    return isFound && row == rows[table];
  }
};

/// The same by the index that names it, of which a row has two.
struct BagIndexPadding {
  static constexpr bool areThere = true;
  const i64 *indices;

  FUSEC_DEVICE bool leavesOut(int table, i64 index, i64, bool) const {
    return indices[table] >= 0 && index == indices[table];
  }
};

/// All indices up to the one that names it.
struct BagLeadPadding {
  static constexpr bool areThere = true;
  const i64 *indices;

  FUSEC_DEVICE bool leavesOut(int table, i64 index, i64, bool) const {
    return indices[table] >= 0 && index <= indices[table];
  }
};

/// How many of its indices each bag has: `buffers` is a struct of pointers
/// `at`, and the step of a table's place is the number of its buffer, -1 for
/// none. Means divide by the length, or by `least` where it is more, if
/// `divides`; `fill` stands for rows beyond in maxima if `fills`.
template <class Buffers> struct BagLengths {
  static constexpr bool areThere = true;
  const Buffers &buffers;
  const BagPlace *places;
  bool divides;
  float least;
  bool fills;
  float fill;
};
template <class Buffers>
BagLengths(const Buffers &, const BagPlace *, bool, float, bool, float)
    -> BagLengths<Buffers>;

/// Whether each table has maxima in place of a kernel's mode.
struct BagMaxima {
  static constexpr bool areThere = true;
  const bool *are;
};

/// What dequantises the rows of each table, where they are integers of Bits
/// bits: a struct of pointers, another or NoBagOperand, and the columns that
/// share a factor and a zero.
template <class Factors, class Zeros, int Bits = 8> struct BagFactors {
  static constexpr bool areThere = true,
                        haveZeros = !isSame<Zeros, NoBagOperand>;
  static constexpr int bits = Bits;
  const Factors &factors;
  const Zeros &zeros;
  const int *widths;
};
template <class Factors, class Zeros>
BagFactors(const Factors &, const Zeros &, const int *)
    -> BagFactors<Factors, Zeros>;

/// The same of two columns a byte.
template <class Factors, class Zeros>
struct PackedBagFactors : BagFactors<Factors, Zeros, 4> {};
template <class Factors, class Zeros>
PackedBagFactors(const Factors &, const Zeros &, const int *)
    -> PackedBagFactors<Factors, Zeros>;

namespace detail {
/// What the threads of a block share: a table's bags from `first` on.
template <class T, class Id, class R, class Offsets, class Weights,
          class Padding, class Factors, class Lengths, class After>
struct BagBlock {
  typedef R Result;
  typedef Id Index;
  static constexpr bool haveOffsets = Offsets::areThere,
                        haveWeights = Weights::areThere,
                        haveZeros = Factors::haveZeros,
                        areNarrow = Factors::areThere,
                        reduceRows = After::reducesRows;
  int number; // of the table
  const T *table;
  i64 rows;
  const Id *ids;
  i64 idCount; // of all bags that have offsets, or of each
  int count;   // of each bag that has none
  R *result;   // of the table's first column
  i64 pitch;   // from a bag's result to the next
  i64 first, end, bags;
  u64 *faults;
  Offsets offsets;
  Weights weights;
  Padding padding;
  Factors factors;
  Lengths lengths;
  After after;

  /// Stores V columns of a bag, or what becomes of them.
  template <int V>
  FUSEC_DEVICE void storeRun(const BagShape &shape, i64 bag, int column,
                             const Vec<R, V> &sums) const {
    if constexpr (After::areThere)
      after.template evaluate<V>(shape, bag, column, sums);
    else
      storeStream<V>(result + bag * pitch + column, sums);
  }
  FUSEC_DEVICE auto getColumns(const BagShape &shape, int column) const {
    if constexpr (Factors::areThere) {
      const int width = shape.width, blockWidth = factors.widths[number];
      const bool isOne = blockWidth == width;
      const int block = isOne ? 0 : column / blockWidth;
      return createNarrowColumns<Factors::bits>(
          table, width, column, factors.factors.at[number] + block,
          getZeros(factors.zeros, block), isOne ? 1 : width / blockWidth);
    } else {
      return BagColumns<T>{table + column, shape.width};
    }
  }
  FUSEC_DEVICE NoBagOperand getZeros(NoBagOperand, int) const { return {}; }
  template <class Zeros>
  FUSEC_DEVICE auto getZeros(const Zeros &zeros, int block) const {
    return zeros.at[number] + block;
  }
  FUSEC_DEVICE Id getIndex(const BagShape &shape, i64 bag, i64 k) const {
    return ids[bag * orCount(shape.stride) + k * shape.step];
  }
  /// The number of the row that an index names.
  template <GatherPolicy Policy, class Row>
  FUSEC_DEVICE Row find(i64 index, int &missing) const {
    i64 row;
    const bool isFound = findRow<Policy>(index, rows, row);
    missing += !isFound;
    if constexpr (Padding::areThere)
      if (padding.leavesOut(number, index, row, isFound))
        return noRow;
    return isFound ? Row(row) : Row(zeroRow);
  }
  FUSEC_DEVICE i64 orCount(i64 stride) const {
    return stride < 0 ? count : stride;
  }
  FUSEC_DEVICE float getWeight(i64 bag, i64 k) const {
    if constexpr (Weights::areThere) {
      const BagPlace &place = weights.places[number];
      return cast<float>(
          weights.buffers.at[number][place.first + bag * orCount(place.stride) +
                                     k * place.step]);
    }
    return 1;
  }
  /// As it is given.
  FUSEC_DEVICE i64 getLength(i64 bag) const {
    if constexpr (Lengths::areThere) {
      const BagPlace &place = lengths.places[number];
      if (place.step >= 0)
        return i64(
            lengths.buffers.at[place.step][place.first + bag * place.stride]);
    }
    return count;
  }
  /// Of indices that a bag has.
  FUSEC_DEVICE int getCount(i64 bag) const {
    const i64 length = getLength(bag);
    return length < 0 ? 0 : length < count ? int(length) : count;
  }
  FUSEC_DEVICE bool isMeasured() const {
    if constexpr (Lengths::areThere)
      return lengths.places[number].step >= 0;
    return false;
  }
  /// Where the indices of a bag begin.
  FUSEC_DEVICE i64 getOffset(i64 bag) const {
    if constexpr (Offsets::areThere)
      if (bag < offsets.buffers.rows[number]) {
        const BagPlace &place = offsets.places[number];
        const i64 at =
            offsets.buffers.at[number][place.first + bag * place.step];
        return at < 0 ? 0 : at < idCount ? at : idCount;
      }
    return idCount;
  }
};

template <class T, class Id, class R, class Offsets, class Weights,
          class Padding, class Factors, class Lengths, class After>
BagBlock(int, const T *, i64, const Id *, i64, int, R *, i64, i64, i64, i64,
         u64 *, Offsets, Weights, Padding, Factors, Lengths, After)
    -> BagBlock<T, Id, R, Offsets, Weights, Padding, Factors, Lengths, After>;

/// Rows that were found, and their weights.
template <class Row> struct StagedRows {
  Row *rows;
  float *weights;
};

/// Finds rows of a block's bags as findRows() does, with AtOnce indices of a
/// thread on their way. Returns how many are missing.
template <int AtOnce, GatherPolicy Policy, class Row, class Block>
FUSEC_DEVICE int findRowsTogether(const BagShape &shape, const Block &block,
                                  StagedRows<Row> staged, int chunk, int from,
                                  int count, int all) {
  const int threads = launch::threads();
  // Rounded down, so that it takes the multiples of `count` for a little less
  // than that: exact of one more, up to bagStaged.
  const u32 inverse = 0xffffffffu / u32(count);
  const i64 stride = block.orCount(shape.stride);
  const auto *ids = block.ids + block.first * stride + i64(from) * shape.step;
  int missing = 0;
  for (int first = launch::thread(); first < all; first += threads * AtOnce) {
    typename Block::Index indices[AtOnce];
    float weights[AtOnce];
    int places[AtOnce];
    bool isBeyond[AtOnce];
    // What is not there is the first again: under a condition a load would wait
    // for what is found of the one before.
    FUSEC_UNROLL
    for (int j = 0; j < AtOnce; ++j) {
      const int i = first + j * threads < all ? first + j * threads : first,
                bag = int(u64(u32(i) + 1) * inverse >> 32), k = i - bag * count;
      places[j] = bag * chunk + k;
      indices[j] = ids[i64(u64(u32(bag)) * u64(stride)) + i64(k) * shape.step];
      weights[j] = block.getWeight(block.first + bag, from + k);
      isBeyond[j] = from + k >= block.getLength(block.first + bag);
    }
    FUSEC_UNROLL
    for (int j = 0; j < AtOnce; ++j) {
      int notFound = 0;
      staged.rows[places[j]] =
          block.template find<Policy, Row>(i64(indices[j]), notFound);
      if constexpr (decltype(block.lengths)::areThere)
        if (isBeyond[j]) {
          staged.rows[places[j]] = noRow;
          notFound = 0;
        }
      missing += first + j * threads < all ? notFound : 0;
      if constexpr (decltype(block.weights)::areThere)
        staged.weights[places[j]] = weights[j];
    }
  }
  return missing;
}

/// The rows of all of a block's bags, for each those of `count` indices from
/// `from` on, `chunk` apart; what is missing is counted if `counts`.
template <GatherPolicy Policy, class Row, class Block>
FUSEC_DEVICE void findRows(const BagShape &shape, const Block &block,
                           StagedRows<Row> staged, int chunk, int from,
                           int count, bool counts) {
  launch::barrier(); // Those before have been read.
  const int all = int(block.end - block.first) * count;
  const int threads = launch::threads();
  int missing;
  if (all <= threads)
    missing = findRowsTogether<1, Policy>(shape, block, staged, chunk, from,
                                          count, all);
  else if (all <= 2 * threads)
    missing = findRowsTogether<2, Policy>(shape, block, staged, chunk, from,
                                          count, all);
  else
    missing = findRowsTogether<bagIdsAtOnce, Policy>(shape, block, staged,
                                                     chunk, from, count, all);
  if (Policy == GatherPolicy::Flag && missing && counts)
    primitive::countAtomically(block.faults, missing);
  launch::barrier();
}

/// The rows of a group's bag whose indices are those from `begin` to `end`,
/// behind the first `done` of them up to `chunk`, and how many they are.
template <GatherPolicy Policy, class Row, class Block>
FUSEC_DEVICE int findRowsOfRange(const BagShape &shape, const Block &block,
                                 const BagLanes &at, Row *rows, float *weights,
                                 i64 begin, i64 end, i64 done, int chunk,
                                 bool counts) {
  const i64 left = end - begin - done;
  const int count = left < 0 ? 0 : left < chunk ? int(left) : chunk;
  launch::warpBarrier(); // Those before have been read.
  int missing = 0;
  for (int k = at.share * at.lanes + at.lane; k < count;
       k += at.lanes * at.split) {
    rows[k] = block.template find<Policy, Row>(
        i64(block.getIndex(shape, 0, begin + done + k)), missing);
    if constexpr (decltype(block.weights)::areThere)
      weights[k] = block.getWeight(0, begin + done + k);
  }
  if (Policy == GatherPolicy::Flag && missing && counts)
    primitive::countAtomically(block.faults, missing);
  launch::warpBarrier();
  return count;
}
} // namespace detail

} // namespace fusec

#endif // FUSEC_DEVICE_BAG_BLOCK_H
