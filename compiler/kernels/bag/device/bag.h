// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding bags of any number of tables in one launch. A block finds the rows
// of its bags first, all indices at once. A group of lanes then reads a row; it
// takes several bags at a time where they are short, and rows of a long one
// together, so that several rows of a thread are on their way. Sums have a
// fixed order.

#ifndef FUSEC_DEVICE_BAG_H
#define FUSEC_DEVICE_BAG_H

#include "bag_config.h"
#include "gather.h"
#include "scalar.h"
#include "vector.h"

namespace fusec {

namespace detail {
/// What the threads of a block share: a table's bags from `first` on.
template <class T, class Id, class R> struct BagBlock {
  const T *table;
  i64 rows;
  const Id *ids;
  R *result; // of the table's first column
  i64 pitch; // from a bag's result to the next
  i64 first, end;
  u64 *faults;
};
template <class T, class Id, class R>
BagBlock(const T *, i64, const Id *, R *, i64, i64, i64, u64 *)
    -> BagBlock<T, Id, R>;

/// Rows of Bags bags at a time, Ids of each, by accesses of V elements.
/// Rows of Bags bags at a time, Ids of each, by accesses of V elements. `rows`
/// is shared by the block: those of each bag, some at a time, in the order of
/// its indices; -1 for what reads as zero.
template <GatherPolicy Policy, class Row, int V, int Bags, int Ids, class T,
          class Id, class R>
FUSEC_DEVICE void sumBags(const BagShape &shape,
                          const BagBlock<T, Id, R> &block, Row *rows) {
  const int chunk = bagStaged / shape.perBlock,
            bags = int(block.end - block.first);
  // On the host a thread is a group.
  const int lanes = launch::threads() == 1 ? 1 : shape.lanes,
            split = launch::threads() == 1 ? 1 : shape.split,
            lane = launch::thread() % lanes,
            share = launch::thread() / lanes % split,
            group = launch::thread() / (lanes * split),
            groups = launch::threads() / (lanes * split);
  auto findRows = [&](int from, int count, bool counts) {
    launch::barrier(); // Those before have been read.
    int missing = 0;
    for (int i = launch::thread(); i < bags * count; i += launch::threads()) {
      const int bag = i / count, k = i % count;
      i64 row;
      const bool isFound =
          findRow<Policy>(i64(block.ids[(block.first + bag) * shape.stride +
                                        i64(from + k) * shape.step]),
                          block.rows, row);
      missing += !isFound;
      rows[bag * chunk + k] = isFound ? Row(row) : Row(-1);
    }
    if (Policy == GatherPolicy::Flag && missing && counts)
      primitive::countAtomically(block.faults, missing);
    launch::barrier();
  };
  // Once, but on the host.
  for (int first = group; first - group < bags; first += groups * Bags)
    for (int start = 0; start < shape.width; start += lanes * V) {
      const int column = start + lane * V;
      const bool isInside = column < shape.width;
      const T *from = block.table + (isInside ? column : 0);
      float sum[Bags][V] = {};
      for (int done = 0; done < shape.count; done += chunk) {
        const int count =
            shape.count - done < chunk ? shape.count - done : chunk;
        findRows(done, count, first == group && start == 0);
        if (block.rows == 0)
          continue;
        for (int k = share * Ids; k < count; k += split * Ids) {
          // What is not there is read as row 0 and not added: loads under a
          // condition would wait for one another.
          Vec<T, V> read[Bags][Ids];
          bool adds[Bags][Ids];
          FUSEC_UNROLL
          for (int b = 0; b < Bags; ++b) {
            const int bag = first + b * groups, left = bag < bags ? count : 0;
            FUSEC_UNROLL
            for (int i = 0; i < Ids; ++i) {
              const Row row = k + i < left ? rows[bag * chunk + k + i] : -1;
              adds[b][i] = row >= 0;
              read[b][i] = load<V>(from + i64(row < 0 ? 0 : row) * shape.width);
            }
          }
          FUSEC_UNROLL
          for (int b = 0; b < Bags; ++b)
            FUSEC_UNROLL
          for (int i = 0; i < Ids; ++i)
            FUSEC_UNROLL
          for (int v = 0; v < V; ++v)
            sum[b][v] += adds[b][i] ? cast<float>(read[b][i][v]) : 0.0f;
        }
      }
      FUSEC_UNROLL
      for (int b = 0; b < Bags; ++b) {
        for (int mask = lanes; mask < lanes * split; mask *= 2)
          FUSEC_UNROLL
        for (int v = 0; v < V; ++v)
          sum[b][v] += primitive::shuffleXor(sum[b][v], mask);
        Vec<R, V> stored;
        FUSEC_UNROLL
        for (int v = 0; v < V; ++v)
          stored[v] = cast<R>(sum[b][v] * shape.scale);
        const int bag = first + b * groups;
        if (share == 0 && bag < bags && isInside)
          storeStream<V>(block.result + (block.first + bag) * block.pitch +
                             column,
                         stored);
      }
    }
}
} // namespace detail

/// The bags of all tables, whose rows Row counts. `shapes` are those of the
/// tables, `slots` say which table's share of a tile of `tileBags` bags a block
/// takes; blocks of one slot follow one another. Tables and ids are structs of
/// pointers `at` and `rows`.
template <GatherPolicy Policy, class Row, int V, int TileBags, class Tables,
          class Ids, class R>
FUSEC_DEVICE void sumAllBags(const BagShape *shapes, const BagSlot *slots,
                             int slotCount, const Tables &tables,
                             const Ids &ids, i64 bags, R *result, i64 pitch,
                             u64 *faults) {
  FUSEC_SHARED Row rows[bagStaged];
  const i64 tiles = (bags + TileBags - 1) / TileBags;
  for (i64 at = launch::block(); at < tiles * slotCount;
       at += launch::blocks()) {
    // Divisions of 64 bits take as long as a load.
    const BagSlot slot =
        slots[tiles * slotCount < 0x7fffffff ? int(at) / int(tiles)
                                             : int(at / tiles)];
    const BagShape &shape = shapes[slot.table];
    const i64 first = at % tiles * TileBags + i64(slot.part) * shape.perBlock,
              last = first + shape.perBlock, end = last < bags ? last : bags;
    if (first >= end)
      continue;
    const detail::BagBlock block{tables.at[slot.table],
                                 tables.rows[slot.table],
                                 ids.at[shape.ids] + shape.first,
                                 result + shape.column,
                                 pitch,
                                 first,
                                 end,
                                 faults};
    if (shape.count == 1)
      detail::sumBags<Policy, Row, V, 2, 1>(shape, block, rows);
    else if (shape.count <= 4)
      detail::sumBags<Policy, Row, V, 2, 2>(shape, block, rows);
    else
      detail::sumBags<Policy, Row, V, 1, 8>(shape, block, rows);
  }
}

} // namespace fusec

#endif // FUSEC_DEVICE_BAG_H
