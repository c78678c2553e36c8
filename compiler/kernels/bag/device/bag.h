// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding bags of any number of tables in one launch. A block finds the rows
// of its bags first, all indices at once. A group of lanes then reads a row; it
// takes several bags at a time where they are short, and rows of a long one
// together, so that several rows of a thread are on their way. Where offsets
// say which indices a bag has, a group finds the rows of its own. Sums have a
// fixed order.

#ifndef FUSEC_DEVICE_BAG_H
#define FUSEC_DEVICE_BAG_H

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

/// The row that each table leaves out.
struct BagPadding {
  static constexpr bool areThere = true;
  const i64 *rows;
};

/// What dequantises the rows of each table, where they are integers: a struct
/// of pointers, another or NoBagOperand, and the columns that share a factor
/// and a zero.
template <class Factors, class Zeros> struct BagFactors {
  static constexpr bool areThere = true,
                        haveZeros = !isSame<Zeros, NoBagOperand>;
  static constexpr int bits = 8;
  const Factors &factors;
  const Zeros &zeros;
  const int *widths;
};
template <class Factors, class Zeros>
BagFactors(const Factors &, const Zeros &, const int *)
    -> BagFactors<Factors, Zeros>;

/// The same of two columns a byte.
template <class Factors, class Zeros> struct PackedBagFactors {
  static constexpr bool areThere = true,
                        haveZeros = !isSame<Zeros, NoBagOperand>;
  static constexpr int bits = 4;
  const Factors &factors;
  const Zeros &zeros;
  const int *widths;
};
template <class Factors, class Zeros>
PackedBagFactors(const Factors &, const Zeros &, const int *)
    -> PackedBagFactors<Factors, Zeros>;

namespace detail {
/// What the threads of a block share: a table's bags from `first` on.
template <class T, class Id, class R, class Offsets, class Weights,
          class Padding, class Factors>
struct BagBlock {
  typedef R Result;
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
  /// The number of the row that index k of a bag names.
  template <GatherPolicy Policy, class Row>
  FUSEC_DEVICE Row find(const BagShape &shape, i64 bag, i64 k,
                        int &missing) const {
    i64 row;
    const bool isFound = findRow<Policy>(
        i64(ids[bag * orCount(shape.stride) + k * shape.step]), rows, row);
    missing += !isFound;
    if constexpr (Padding::areThere)
      if (isFound && row == padding.rows[number])
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
          class Padding, class Factors>
BagBlock(int, const T *, i64, const Id *, i64, int, R *, i64, i64, i64, i64,
         u64 *, Offsets, Weights, Padding, Factors)
    -> BagBlock<T, Id, R, Offsets, Weights, Padding, Factors>;

/// How a block's threads stand to one another. On the host one is a group.
struct BagLanes {
  int lanes, split, lane, share, group, groups;

  FUSEC_DEVICE BagLanes(int ofRow, int ofBag)
      : lanes(launch::threads() == 1 ? 1 : ofRow),
        split(launch::threads() == 1 ? 1 : ofBag),
        lane(launch::thread() % lanes), share(launch::thread() / lanes % split),
        group(launch::thread() / (lanes * split)),
        groups(launch::threads() / (lanes * split)) {}
};

/// Rows that were found, and their weights.
template <class Row> struct StagedRows {
  Row *rows;
  float *weights;
};

/// The rows of all of a block's bags, for each those of `count` indices from
/// `from` on, `chunk` apart; what is missing is counted if `counts`.
template <GatherPolicy Policy, class Row, class Block>
FUSEC_DEVICE void findRows(const BagShape &shape, const Block &block,
                           StagedRows<Row> staged, int chunk, int from,
                           int count, bool counts) {
  launch::barrier(); // Those before have been read.
  const int bags = int(block.end - block.first);
  int missing = 0;
  for (int i = launch::thread(); i < bags * count; i += launch::threads()) {
    const int bag = i / count, k = i % count, to = bag * chunk + k;
    staged.rows[to] = block.template find<Policy, Row>(shape, block.first + bag,
                                                       from + k, missing);
    if constexpr (decltype(block.weights)::areThere)
      staged.weights[to] = block.getWeight(block.first + bag, from + k);
  }
  if (Policy == GatherPolicy::Flag && missing && counts)
    primitive::countAtomically(block.faults, missing);
  launch::barrier();
}

/// Rows of Bags bags at a time, Ids of each, by accesses of V elements.
/// `staged` is shared by the block: the rows of each bag, some at a time, in
/// the order of its indices.
template <GatherPolicy Policy, BagMode Mode, class Row, int V, int Bags,
          int Ids, class Block>
FUSEC_DEVICE void sumBags(const BagShape &shape, const Block &block,
                          StagedRows<Row> staged) {
  const int chunk = bagStaged / shape.perBlock,
            bags = int(block.end - block.first);
  const BagLanes at(shape.lanes, shape.split);
  // Once, but on the host.
  for (int first = at.group; first - at.group < bags; first += at.groups * Bags)
    for (int start = 0; start < shape.width; start += at.lanes * V) {
      const int column = start + at.lane * V;
      const bool isInside = column < shape.width;
      const auto columns = block.getColumns(shape, isInside ? column : 0);
      BagSums<Mode, Bags, V> sums;
      for (int done = 0; done < block.count; done += chunk) {
        const int count =
            block.count - done < chunk ? block.count - done : chunk;
        findRows<Policy>(shape, block, staged, chunk, done, count,
                         first == at.group && start == 0);
        if (block.rows == 0)
          continue;
        for (int k = at.share * Ids; k < count; k += at.split * Ids) {
          auto place = [&](int b, int i) {
            return (first + b * at.groups) * chunk + k + i;
          };
          sums.template add<Row, Ids>(
              columns,
              [&](int b, int i) {
                const int left = first + b * at.groups < bags ? count : 0;
                return k + i < left ? staged.rows[place(b, i)] : Row(noRow);
              },
              [&](int b, int i, float x) {
                if constexpr (decltype(block.weights)::areThere)
                  return x * staged.weights[place(b, i)];
                return x;
              });
        }
      }
      sums.join(at.lanes, at.split);
      FUSEC_UNROLL
      for (int b = 0; b < Bags; ++b) {
        const int bag = first + b * at.groups;
        if (at.share == 0 && bag < bags && isInside)
          storeStream<V>(
              block.result + (block.first + bag) * block.pitch + column,
              sums.template get<typename Block::Result>(b, shape.scale));
      }
    }
}

template <int V, class Block>
FUSEC_DEVICE void storeZeros(const BagShape &shape, const Block &block) {
  for (i64 bag = block.first; bag < block.end; ++bag)
    for (int column = launch::thread() * V; column < shape.width;
         column += launch::threads() * V)
      storeStream<V>(block.result + bag * block.pitch + column,
                     Vec<typename Block::Result, V>{});
}

/// The same where the block finds all rows at once, and a group takes a bag.
template <GatherPolicy Policy, BagMode Mode, class Row, int V, int Ids,
          class Block>
FUSEC_DEVICE void sumShortBags(const BagShape &shape, const Block &block,
                               StagedRows<Row> staged) {
  const int count = block.count, bags = int(block.end - block.first);
  findRows<Policy>(shape, block, staged, count, 0, count, /*counts=*/true);
  if (block.rows == 0)
    return storeZeros<V>(shape, block);
  const BagLanes at(shape.lanes, 1);
  // Once, but for wide rows and on the host.
  for (int bag = at.group; bag < bags; bag += at.groups)
    for (int column = at.lane * V; column < shape.width;
         column += at.lanes * V) {
      const auto columns = block.getColumns(shape, column);
      const Row *rows = staged.rows + bag * count;
      const float *weights = staged.weights + bag * count;
      BagSums<Mode, 1, V> sums;
      for (int k = 0; k < count; k += Ids)
        sums.template add<Row, Ids>(
            columns,
            [&](int, int i) {
              return k + i < count ? rows[k + i] : Row(noRow);
            },
            [&](int, int i, float x) {
              if constexpr (decltype(block.weights)::areThere)
                return x * weights[k + i];
              return x;
            });
      storeStream<V>(block.result + (block.first + bag) * block.pitch + column,
                     sums.template get<typename Block::Result>(0, shape.scale));
    }
}

/// Rows alone, of Bags bags of one index each at a time.
template <GatherPolicy Policy, class Row, int V, int Bags, class Block>
FUSEC_DEVICE void copyRows(const BagShape &shape, const Block &block,
                           StagedRows<Row> staged) {
  const int bags = int(block.end - block.first);
  const BagLanes at(shape.lanes, 1);
  launch::barrier(); // Those before have been read.
  int missing = 0;
  for (int i = launch::thread(); i < bags; i += launch::threads())
    staged.rows[i] =
        block.template find<Policy, Row>(shape, block.first + i, 0, missing);
  if (Policy == GatherPolicy::Flag && missing)
    primitive::countAtomically(block.faults, missing);
  launch::barrier();
  // A table without rows has none to read in place of what is not there.
  if (block.rows == 0)
    return storeZeros<V>(shape, block);
  for (int first = at.group; first < bags; first += at.groups * Bags)
    for (int column = at.lane * V; column < shape.width;
         column += at.lanes * V) {
      const auto columns = block.getColumns(shape, column);
      decltype(columns.template read<V>(0)) read[Bags];
      bool isThere[Bags];
      FUSEC_UNROLL
      for (int b = 0; b < Bags; ++b) {
        const int bag = first + b * at.groups;
        const Row row = bag < bags ? staged.rows[bag] : Row(noRow);
        isThere[b] = row >= 0;
        read[b] = columns.template read<V>(row < 0 ? 0 : row);
      }
      FUSEC_UNROLL
      for (int b = 0; b < Bags; ++b) {
        const int bag = first + b * at.groups;
        if (bag >= bags)
          break;
        const float scale = shape.scale * block.getWeight(block.first + bag, 0);
        Vec<typename Block::Result, V> result;
        FUSEC_UNROLL
        for (int v = 0; v < V; ++v)
          result[v] = cast<typename Block::Result>(
              isThere[b] ? read[b].get(v) * scale : 0.0f);
        storeStream<V>(
            block.result + (block.first + bag) * block.pitch + column, result);
      }
    }
}

/// The most that a thread of the warp has.
FUSEC_DEVICE i64 findMost(i64 count) {
  for (int mask = 1; mask < 32; mask *= 2) {
    const i64 other = primitive::shuffleXor(count, mask);
    count = other > count ? other : count;
  }
  return count;
}

/// The same where offsets say which indices a bag has: each group finds the
/// rows of its bag. The more indices a bag has on average, the more groups of a
/// warp share it.
template <GatherPolicy Policy, BagMode Mode, class Row, int V, int Ids,
          class Block>
FUSEC_DEVICE void sumRanges(const BagShape &shape, const Block &block,
                            StagedRows<Row> staged) {
  const BagLanes at(shape.lanes,
                    bagSplit(block.idCount / block.bags, shape.lanes));
  const int chunk = bagStaged / at.groups, bags = int(block.end - block.first);
  Row *rows = staged.rows + at.group * chunk;
  float *weights = staged.weights + at.group * chunk;
  for (int bag = at.group; bag - at.group < bags; bag += at.groups) {
    const i64 begin = bag < bags ? block.getOffset(block.first + bag) : 0,
              end = bag < bags ? block.getOffset(block.first + bag + 1) : 0,
              // Lanes of a warp go together.
        most = findMost(end - begin);
    for (int start = 0; start < shape.width; start += at.lanes * V) {
      const int column = start + at.lane * V;
      const bool isInside = column < shape.width;
      const auto columns = block.getColumns(shape, isInside ? column : 0);
      BagSums<Mode, 1, V> sums;
      for (i64 done = 0; done < most; done += chunk) {
        const i64 left = end - begin - done;
        const int count = left < 0 ? 0 : left < chunk ? int(left) : chunk;
        launch::warpBarrier(); // Those before have been read.
        int missing = 0;
        for (int k = at.share * at.lanes + at.lane; k < count;
             k += at.lanes * at.split) {
          rows[k] = block.template find<Policy, Row>(shape, 0, begin + done + k,
                                                     missing);
          if constexpr (decltype(block.weights)::areThere)
            weights[k] = block.getWeight(0, begin + done + k);
        }
        if (Policy == GatherPolicy::Flag && missing && start == 0)
          primitive::countAtomically(block.faults, missing);
        launch::warpBarrier();
        if (block.rows == 0)
          continue;
        for (int k = at.share * Ids; k < count; k += at.split * Ids)
          sums.template add<Row, Ids>(
              columns,
              [&](int, int i) {
                return k + i < count ? rows[k + i] : Row(noRow);
              },
              [&](int, int i, float x) {
                if constexpr (decltype(block.weights)::areThere)
                  return x * weights[k + i];
                return x;
              });
      }
      sums.join(at.lanes, at.split);
      if (at.share == 0 && bag < bags && isInside)
        storeStream<V>(
            block.result + (block.first + bag) * block.pitch + column,
            sums.template get<typename Block::Result>(0, shape.scale));
    }
  }
}
} // namespace detail

/// The bags of all tables, whose rows Row counts. `shapes` are those of the
/// tables, of the forms `Forms` (with offsets none), `slots` say which table's
/// share of a tile of `tileBags` bags a block takes; blocks of one slot follow
/// one another. Tables and ids are structs of pointers `at` and `rows`.
template <GatherPolicy Policy, class Row, int V, int TileBags, int Forms,
          BagMode Mode = BagMode::Sum, class Tables, class Ids, class R,
          class Offsets = NoBagOperand, class Weights = NoBagOperand,
          class Padding = NoBagOperand, class Factors = NoBagOperand>
FUSEC_DEVICE void
sumAllBags(const BagShape *shapes, const BagSlot *slots, int slotCount,
           const Tables &tables, const Ids &ids, i64 bags, R *result, i64 pitch,
           u64 *faults, Offsets offsets = {}, Weights weights = {},
           Padding padding = {}, Factors factors = {}) {
  FUSEC_SHARED Row rows[bagStaged];
  FUSEC_SHARED float weightsOfRows[Weights::areThere ? bagStaged : 1];
  const detail::StagedRows<Row> staged{rows, weightsOfRows};
  const i64 tiles = (bags + TileBags - 1) / TileBags;
  for (i64 at = launch::block(); at < tiles * slotCount;
       at += launch::blocks()) {
    // Divisions of 64 bits take as long as a load.
    const int number =
        tiles * slotCount < 0x7fffffff ? int(at) / int(tiles) : int(at / tiles);
    const BagSlot slot = slots[number];
    const BagShape &shape = shapes[slot.table];
    const i64 tile = at - number * tiles,
              first = tile * TileBags + i64(slot.part) * shape.perBlock,
              last = first + shape.perBlock, end = last < bags ? last : bags;
    if (first >= end)
      continue;
    // What a size says is how many indices there are.
    const i64 idCount = ids.rows[shape.ids];
    const int count = shape.count ? shape.count : int(idCount);
    const detail::BagBlock block{slot.table,
                                 tables.at[slot.table],
                                 tables.rows[slot.table],
                                 ids.at[shape.ids] + shape.first,
                                 idCount,
                                 count,
                                 result + shape.column,
                                 pitch,
                                 first,
                                 end,
                                 bags,
                                 faults,
                                 offsets,
                                 weights,
                                 padding,
                                 factors};
    // What rows are multiplied with and shifted by takes registers, too.
    constexpr int most = Factors::areThere && Mode == BagMode::Max ? 3
                         : Weights::areThere || Factors::haveZeros ? 4
                                                                   : 5;
    if constexpr (Offsets::areThere) {
      detail::sumRanges<Policy, Mode, Row, V, most>(shape, block, staged);
    } else {
      const int form = bagForm(shape);
      if constexpr ((Forms & bagCopy) != 0)
        if (Forms == bagCopy || form == bagCopy)
          detail::copyRows<Policy, Row, V, 4>(shape, block, staged);
      if constexpr ((Forms & bagFew) != 0)
        if (Forms == bagFew || form == bagFew)
          detail::sumBags<Policy, Mode, Row, V, 2, 2>(shape, block, staged);
      if constexpr ((Forms & bagShort) != 0)
        if (Forms == bagShort || form == bagShort)
          detail::sumShortBags<Policy, Mode, Row, V, most>(shape, block,
                                                           staged);
      if constexpr ((Forms & bagLong) != 0)
        if (Forms == bagLong || form == bagLong)
          detail::sumBags<Policy, Mode, Row, V, 1, most>(shape, block, staged);
    }
  }
}

} // namespace fusec

#endif // FUSEC_DEVICE_BAG_H
