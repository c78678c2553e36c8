// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bags whose rows are reduced, as norms do: a group of lanes holds the sums of
// all columns, up to several accesses of each lane, before it stores any. All
// lanes of a warp go together, since they exchange what they found.

#ifndef FUSEC_DEVICE_BAG_ROWS_H
#define FUSEC_DEVICE_BAG_ROWS_H

#include "bag_block.h"

namespace fusec {

namespace detail {

/// The most that a thread of the warp has.
FUSEC_DEVICE i64 findMost(i64 count) {
  for (int mask = 1; mask < 32; mask *= 2) {
    const i64 other = primitive::shuffleXor(count, mask);
    count = other > count ? other : count;
  }
  return count;
}

/// Sums of Bags bags, of which each lane has Slots accesses of V columns.
template <BagMode Mode, int Bags, int V, int Slots> struct RowSums {
  BagSums<Mode, Bags, V> slots[Slots];

  /// Adds Ids rows to each bag, as BagSums does.
  template <class Row, int Ids, class Block, class RowOf, class WeightOf>
  FUSEC_DEVICE void add(const BagShape &shape, const Block &block,
                        const BagLanes &at, RowOf row, WeightOf weight) {
    FUSEC_UNROLL
    for (int s = 0; s < Slots; ++s) {
      const int column =
          decltype(block.after)::template columnOf<V>(s, at.lane);
      slots[s].template add<Row, Ids>(block.getColumns(shape, column), row,
                                      weight);
    }
  }

  template <int Sharing>
  FUSEC_DEVICE void join(const BagLanes &at, float *partials) {
    FUSEC_UNROLL
    for (int s = 0; s < Slots; ++s)
      slots[s].template join<Sharing>(at, partials);
  }

  /// Evaluates the epilogue on the bags from `first` on, which share 0 of each
  /// group has.
  template <class Block>
  FUSEC_DEVICE void store(const BagShape &, const Block &block,
                          const BagLanes &at, float scaled, int first) {
    FUSEC_UNROLL
    for (int b = 0; b < Bags; ++b) {
      const i64 bag = block.first + first + b * at.groups;
      const bool isThere = at.share == 0 && bag < block.end;
      i64 length = 0;
      if constexpr (decltype(block.lengths)::areThere)
        length = isThere && block.isMeasured() ? block.getLength(bag) : 0;
      block.after.template evaluateRowOf<V>(
          block.number, bag, isThere, at.lane, [&](int s, float(&to)[V]) {
            float scale = scaled;
            if constexpr (decltype(block.lengths)::areThere)
              if (block.isMeasured())
                slots[s].finish(b, block.lengths, length, length < block.count,
                                scale);
            const Vec<float, V> sums = slots[s].template get<float>(b, scale);
            FUSEC_UNROLL
            for (int v = 0; v < V; ++v)
              to[v] = sums[v];
          });
    }
  }
};

/// Bags of as many indices each: sumStagedBags() of whole rows.
template <GatherPolicy Policy, BagMode Mode, class Row, int V, int Bags,
          int Ids, bool InParts, bool AreShared, int Sharing, class Block>
FUSEC_DEVICE void sumStagedRows(const BagShape &shape, const Block &block,
                                StagedRows<Row> staged, float *partials) {
  constexpr int slots = decltype(block.after)::template slots<V>;
  const int bags = int(block.end - block.first),
            chunk = InParts ? bagStaged / shape.perBlock : block.count;
  if constexpr (!InParts)
    findRows<Policy>(shape, block, staged, chunk, 0, chunk, /*counts=*/true);
  const BagLanes at(shape.lanes, AreShared ? shape.split : 1);
  // Once, but on the host.
  for (int first = at.group; first - at.group < bags;
       first += at.groups * Bags) {
    const int apart = at.groups * chunk;
    const Row *rows = staged.rows + first * chunk;
    const float *weights = staged.weights + first * chunk;
    RowSums<Mode, Bags, V, slots> sums;
    for (int done = 0; InParts ? done < block.count : done == 0;
         done += InParts ? chunk : 1) {
      int left = block.count - done;
      if constexpr (InParts) {
        left = left < chunk ? left : chunk;
        findRows<Policy>(shape, block, staged, chunk, done, left,
                         first == at.group);
      }
      // A table without rows has none to read in place of what is not there.
      int last = first < bags && block.rows != 0 ? left : 0;
      if constexpr (decltype(block.lengths)::areThere && Bags == 1)
        if (last > 0) { // Rows beyond a length are not read.
          const int own = block.getCount(block.first + first) - done;
          last = own < left ? own : left;
        }
      addStaged<Ids, decltype(block.weights)::areThere, /*OneTurn=*/true>(
          at, rows, weights, apart, left, last,
          [&](int b) { return first + b * at.groups < bags; },
          [&](auto row, auto weight) {
            sums.template add<Row, Ids>(shape, block, at, row, weight);
          });
    }
    if constexpr (AreShared)
      sums.template join<Sharing>(at, partials);
    sums.store(shape, block, at, shape.scale, first);
  }
}

/// Bags whose indices offsets say: sumRanges() of whole rows.
template <GatherPolicy Policy, BagMode Mode, class Row, int V, int Ids,
          class Block>
FUSEC_DEVICE void sumRangesOfRows(const BagShape &shape, const Block &block,
                                  StagedRows<Row> staged) {
  constexpr int slots = decltype(block.after)::template slots<V>;
  const BagLanes at(shape.lanes,
                    bagSplit(block.idCount / block.bags, shape.lanes, 32, 32));
  const int chunk = bagStaged / at.groups, bags = int(block.end - block.first);
  Row *rows = staged.rows + at.group * chunk;
  float *weights = staged.weights + at.group * chunk;
  for (int bag = at.group; bag - at.group < bags; bag += at.groups) {
    const i64 begin = bag < bags ? block.getOffset(block.first + bag) : 0,
              end = bag < bags ? block.getOffset(block.first + bag + 1) : 0,
              most = findMost(end - begin);
    RowSums<Mode, 1, V, slots> sums;
    for (i64 done = 0; done < most; done += chunk) {
      const int count =
          findRowsOfRange<Policy>(shape, block, at, rows, weights, begin, end,
                                  done, chunk, /*counts=*/true);
      if (block.rows == 0)
        continue;
      addStaged<Ids, decltype(block.weights)::areThere, /*OneTurn=*/true>(
          at, rows, weights, 0, count, count, [](int) { return true; },
          [&](auto row, auto weight) {
            sums.template add<Row, Ids>(shape, block, at, row, weight);
          });
    }
    sums.template join<0>(at, nullptr);
    sums.store(shape, block, at, shape.scale, bag);
  }
}

/// sumBlock() of whole rows. Bags of one index are a few rows: none is a copy.
/// Rows of several accesses a lane are fewer at a time.
template <GatherPolicy Policy, BagMode Mode, class Row, int V, int Forms,
          int Most, int Sharing, class Block>
FUSEC_DEVICE void sumWholeRows(const BagShape &found, const Block &block,
                               StagedRows<Row> staged, float *partials) {
  // What is the same in all tables needs no registers.
  BagShape shape = found;
  shape.width = decltype(block.after)::columns;
  shape.lanes = decltype(block.after)::template lanes<V>;
  constexpr int forms = Forms & ~bagShared, few = bagCopy | bagFew,
                slots = decltype(block.after)::template slots<V>,
                ofFew = slots > 1 ? 1 : 2,
                most = Most / slots > 1 ? Most / slots : 1;
  constexpr bool areShared = forms != Forms;
  const int form = bagForm(shape);
  if constexpr (Block::haveOffsets)
    return sumRangesOfRows<Policy, Mode, Row, V, most>(shape, block, staged);
  if constexpr ((forms & few) != 0)
    if ((forms & ~few) == 0 || form & few)
      sumStagedRows<Policy, Mode, Row, V, ofFew, ofFew, /*InParts=*/false,
                    /*AreShared=*/false, 0>(shape, block, staged, nullptr);
  if constexpr ((forms & bagShort) != 0)
    if (forms == bagShort || form == bagShort)
      sumStagedRows<Policy, Mode, Row, V, 1, most, /*InParts=*/false, areShared,
                    Sharing>(shape, block, staged, partials);
  if constexpr ((forms & bagLong) != 0)
    if (forms == bagLong || form == bagLong)
      sumStagedRows<Policy, Mode, Row, V, 1, most, /*InParts=*/true, areShared,
                    Sharing>(shape, block, staged, partials);
}
} // namespace detail

} // namespace fusec

#endif // FUSEC_DEVICE_BAG_ROWS_H
