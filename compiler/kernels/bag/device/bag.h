// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding bags of any number of tables in one launch. A block finds the rows
// of its bags first (bag_block.h). A group of lanes then reads a row; it takes
// several bags at a time where they are short, and rows of a long one together,
// so that several rows of a thread are on their way. Where offsets say which
// indices a bag has, a group finds the rows of its own. Sums have a fixed
// order.

#ifndef FUSEC_DEVICE_BAG_H
#define FUSEC_DEVICE_BAG_H

#include "bag_rows.h"

namespace fusec {

namespace detail {
/// Stores what share 0 of a group has of the bags from `first` on.
template <int V, class Sums, int Bags, class Block>
FUSEC_DEVICE void storeBags(const BagShape &shape, const Block &block,
                            const BagLanes &at, Sums &sums, int first,
                            int column) {
  if (at.share != 0 || column >= shape.width)
    return;
  FUSEC_UNROLL
  for (int b = 0; b < Bags; ++b) {
    const i64 bag = block.first + first + b * at.groups;
    float scale = shape.scale;
    if constexpr (decltype(block.lengths)::areThere)
      if (bag < block.end && block.isMeasured()) {
        const i64 length = block.getLength(bag);
        sums.finish(b, block.lengths, length, length < block.count, scale);
      }
    if (bag < block.end)
      block.template storeRun<V>(
          shape, bag, column,
          sums.template get<typename Block::Result>(b, scale));
  }
}

template <int V, class Block>
FUSEC_DEVICE void storeZeros(const BagShape &shape, const Block &block) {
  for (i64 bag = block.first; bag < block.end; ++bag)
    for (int column = launch::thread() * V; column < shape.width;
         column += launch::threads() * V)
      block.template storeRun<V>(shape, bag, column,
                                 Vec<typename Block::Result, V>{});
}

/// Ids rows of Bags bags at a time. `staged` is shared by the block: the rows
/// of each bag in the order of its indices, all at once, or `InParts` some at a
/// time. Bags that no groups share need neither joins nor lanes that stay
/// together, which take registers of rows.
template <GatherPolicy Policy, BagMode Mode, class Row, int V, int Bags,
          int Ids, bool InParts, bool AreShared, int Sharing, class Block>
FUSEC_DEVICE void sumStagedBags(const BagShape &shape, const Block &block,
                                StagedRows<Row> staged, float *partials) {
  const int bags = int(block.end - block.first),
            chunk = InParts ? bagStaged / shape.perBlock : block.count;
  if constexpr (!InParts) {
    findRows<Policy>(shape, block, staged, chunk, 0, chunk, /*counts=*/true);
    if (block.rows == 0)
      return storeZeros<V>(shape, block);
  }
  constexpr bool stayTogether = InParts || AreShared;
  const BagLanes at(shape.lanes, AreShared ? shape.split : 1);
  // Once, but for wide rows and on the host.
  for (int first = at.group; first - (stayTogether ? at.group : 0) < bags;
       first += at.groups * Bags)
    for (int start = 0; start < shape.width; start += at.lanes * V) {
      const int column = start + at.lane * V, apart = at.groups * chunk;
      if (!stayTogether && column >= shape.width)
        break;
      const auto columns =
          block.getColumns(shape, column < shape.width ? column : 0);
      const Row *rows = staged.rows + first * chunk;
      const float *weights = staged.weights + first * chunk;
      BagSums<Mode, Bags, V> sums;
      for (int done = 0; InParts ? done < block.count : done == 0;
           done += InParts ? chunk : 1) {
        int left = block.count - done;
        if constexpr (InParts) {
          left = left < chunk ? left : chunk;
          findRows<Policy>(shape, block, staged, chunk, done, left,
                           first == at.group && start == 0);
        }
        if ((stayTogether && first >= bags) || (InParts && block.rows == 0))
          left = 0;
        int last = left;
        if constexpr (decltype(block.lengths)::areThere && Bags == 1)
          if (left > 0) { // Rows beyond a length are not read.
            const int own = block.getCount(block.first + first) - done;
            last = own < left ? own : left;
          }
        addStaged<Ids, decltype(block.weights)::areThere>(
            at, rows, weights, apart, left, last,
            [&](int b) { return first + b * at.groups < bags; },
            [&](auto row, auto weight) {
              sums.template add<Row, Ids>(columns, row, weight);
            });
      }
      if constexpr (AreShared)
        sums.template join<Sharing>(at, partials);
      storeBags<V, decltype(sums), Bags>(shape, block, at, sums, first, column);
    }
}

/// Rows alone, of Bags bags of one index each at a time.
template <GatherPolicy Policy, class Row, int V, int Bags, class Block>
FUSEC_DEVICE void copyRows(const BagShape &shape, const Block &block,
                           StagedRows<Row> staged) {
  const int bags = int(block.end - block.first);
  const BagLanes at(shape.lanes, 1);
  findRows<Policy>(shape, block, staged, /*chunk=*/1, 0, /*count=*/1,
                   /*counts=*/true);
  // A table without rows has none to read in place of what is not there.
  if (block.rows == 0)
    return storeZeros<V>(shape, block);
  for (int first = at.group; first < bags; first += at.groups * Bags)
    for (int column = at.lane * V; column < shape.width;
         column += at.lanes * V) {
      const auto columns = block.getColumns(shape, column);
      decltype(columns.template read<V>(Row(0))) read[Bags];
      bool isThere[Bags];
      FUSEC_UNROLL
      for (int b = 0; b < Bags; ++b) {
        const int bag = first + b * at.groups;
        const Row row = bag < bags ? staged.rows[bag] : Row(noRow);
        isThere[b] = row >= 0;
        read[b] = columns.template read<V>(row < 0 ? Row(0) : row);
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
        block.template storeRun<V>(shape, block.first + bag, column, result);
      }
    }
}

/// The same where offsets say which indices a bag has: each group finds the
/// rows of its bag. The more indices a bag has on average, the more groups of a
/// warp share it.
template <GatherPolicy Policy, BagMode Mode, class Row, int V, int Ids,
          class Block>
FUSEC_DEVICE void sumRanges(const BagShape &shape, const Block &block,
                            StagedRows<Row> staged) {
  const BagLanes at(shape.lanes,
                    bagSplit(block.idCount / block.bags, shape.lanes, 32, 32));
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
        const int count =
            findRowsOfRange<Policy>(shape, block, at, rows, weights, begin, end,
                                    done, chunk, start == 0);
        if (block.rows == 0)
          continue;
        addStaged<Ids, decltype(block.weights)::areThere>(
            at, rows, weights, 0, count, count, [](int) { return true; },
            [&](auto row, auto weight) {
              sums.template add<Row, Ids>(columns, row, weight);
            });
      }
      sums.template join<0>(at, nullptr);
      storeBags<V, decltype(sums), 1>(shape, block, at, sums, bag, column);
    }
  }
}

/// Rows of a thread on their way.
template <BagMode Mode, class Block>
constexpr FUSEC_DEVICE int getRowsAtOnce() {
  return bagRowsAtOnce(Block::haveWeights, Block::haveZeros,
                       Block::areNarrow && Mode == BagMode::Max);
}

/// What a block adds or compares.
template <GatherPolicy Policy, class Row, int V, int Forms, BagMode Mode,
          int Sharing, class Block>
FUSEC_DEVICE void sumBlock(const BagShape &shape, const Block &block,
                           StagedRows<Row> staged, float *partials) {
  constexpr int most = getRowsAtOnce<Mode, Block>();
  if constexpr (Block::reduceRows)
    return sumWholeRows<Policy, Mode, Row, V, Forms, most, Sharing>(
        shape, block, staged, partials);
  else if constexpr (Block::haveOffsets)
    return sumRanges<Policy, Mode, Row, V, most>(shape, block, staged);
  constexpr int forms = Block::reduceRows ? 0 : Forms & ~bagShared;
  constexpr bool areShared = (Forms & bagShared) != 0;
  const int form = bagForm(shape);
  if constexpr ((forms & bagCopy) != 0)
    if (forms == bagCopy || form == bagCopy)
      copyRows<Policy, Row, V, 4>(shape, block, staged);
  if constexpr ((forms & bagFew) != 0)
    if (forms == bagFew || form == bagFew)
      sumStagedBags<Policy, Mode, Row, V, 2, 2, /*InParts=*/false,
                    /*AreShared=*/false, 0>(shape, block, staged, nullptr);
  if constexpr ((forms & bagShort) != 0)
    if (forms == bagShort || form == bagShort)
      sumStagedBags<Policy, Mode, Row, V, 1, most, /*InParts=*/false, areShared,
                    Sharing>(shape, block, staged, partials);
  if constexpr ((forms & bagLong) != 0)
    if (forms == bagLong || form == bagLong)
      sumStagedBags<Policy, Mode, Row, V, 1, most, /*InParts=*/true, areShared,
                    Sharing>(shape, block, staged, partials);
}
} // namespace detail

/// The bags of all tables, whose rows Row counts. `shapes` are those of the
/// tables, of the forms `Forms` (with offsets none), `slots` say which table's
/// share of a tile of `TileBags` bags a block takes, both by index; blocks of
/// one slot follow one another. What an epilogue `after` makes of the bags it
/// stores itself. Tables and ids are structs of pointers `at` and `rows`. Of
/// bags that several warps share `Sharing` is a block's threads.
template <GatherPolicy Policy, class Row, int V, int TileBags, int Forms,
          BagMode Mode = BagMode::Sum, int Sharing = 0, class Shapes,
          class Slots, class Tables, class Ids, class R,
          class Offsets = NoBagOperand, class Weights = NoBagOperand,
          class Padding = NoBagOperand, class Factors = NoBagOperand,
          class Lengths = NoBagOperand, class Maxima = NoBagOperand,
          class After = NoBagOperand>
FUSEC_DEVICE void
sumAllBags(const Shapes &shapes, const Slots &slots, int slotCount,
           const Tables &tables, const Ids &ids, i64 bags, R *result, i64 pitch,
           u64 *faults, Offsets offsets = {}, Weights weights = {},
           Padding padding = {}, Factors factors = {}, Lengths lengths = {},
           Maxima maxima = {}, After after = {}) {
  FUSEC_SHARED Row rows[bagStaged];
  FUSEC_SHARED float weightsOfRows[Weights::areThere ? bagStaged : 1];
  const detail::StagedRows<Row> staged{rows, weightsOfRows};
  FUSEC_SHARED float partials[Sharing ? Sharing * (V + (Mode != BagMode::Sum ||
                                                        Maxima::areThere))
                                      : 1];
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
                                 factors,
                                 lengths,
                                 after};
    if constexpr (Maxima::areThere)
      if (maxima.are[slot.table]) {
        detail::sumBlock<Policy, Row, V, Forms, BagMode::Max, Sharing>(
            shape, block, staged, partials);
        continue;
      }
    detail::sumBlock<Policy, Row, V, Forms, Mode, Sharing>(shape, block, staged,
                                                           partials);
  }
}

} // namespace fusec

#endif // FUSEC_DEVICE_BAG_H
