// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Epilogues that reduce over the columns of their row: softmax, norms, sums.
// They run where one tile holds whole rows. Such an epilogue has, beside what
// epilogue.h says,
//
//   struct Row { ... };              the results of its reductions
//   typedef Phases<...> Phases;      the reductions, in order, each with
//     Accumulator, Combiner          (of reduce.h)
//     of(Row &)                      where its result goes
//     apply(acc, row, operands..., value &)
//
// and every function sees the row after the accumulators. A phase sees the
// results of those before it.

#ifndef FUSEC_DEVICE_EPILOGUE_ROWS_H
#define FUSEC_DEVICE_EPILOGUE_ROWS_H

#include "epilogue.h"
#include "reduce.h"

namespace fusec {

template <class... Items> struct Phases {};

namespace detail {

template <class...> struct VoidOf { typedef void Type; };
template <class Epilogue, class = void> struct HasPhases {
  static constexpr bool value = false;
};
template <class Epilogue>
struct HasPhases<Epilogue, typename VoidOf<typename Epilogue::Phases>::Type> {
  static constexpr bool value = true;
};

/// What a phase computes at a point, as its combiner takes it.
template <class Item> struct PhaseItem {
  typedef Item Value;
  static FUSEC_DEVICE Item of(Value value, i64) { return value; }
};
template <class T> struct PhaseItem<Indexed<T>> {
  typedef T Value;
  static FUSEC_DEVICE Indexed<T> of(Value value, i64 column) {
    return {value, column};
  }
};

/// Runs of V columns of one row, as one of its lanes holds them.
template <class Epilogue, int V, int Slots> struct RowRuns {
  typedef typename Epilogue::Accumulator Accumulator;
  static constexpr int J = Epilogue::accumulators;
  Accumulator acc[Slots][J][V];
  Place places[Slots];
  Values<V, typename Epilogue::Operands> operands[Slots];

  FUSEC_DEVICE void get(int slot, int i, Accumulator (&to)[J]) const {
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      to[j] = acc[slot][j][i];
  }
};

template <class Phase, int Lanes, class Epilogue, int V, int Slots>
FUSEC_DEVICE void runPhase(const RowRuns<Epilogue, V, Slots> &runs,
                           typename Epilogue::Row &row) {
  typedef typename Phase::Combiner Combiner;
  typedef PhaseItem<typename Combiner::Value> Item;
  typename Combiner::Value total = Combiner::identity();
  FUSEC_UNROLL
  for (int s = 0; s < Slots; ++s) {
    Values<V, Pack<Item>> values;
    FUSEC_UNROLL
    for (int i = 0; i < V; ++i) {
      if (i >= runs.places[s].count)
        continue;
      typename Epilogue::Accumulator acc[Epilogue::accumulators];
      runs.get(s, i, acc);
      applyAt<Phase>(i, acc, runs.operands[s], values,
                     static_cast<const typename Epilogue::Row &>(row));
      total = Combiner::combine(
          total, Item::of(values.first[i], runs.places[s].column + i));
    }
  }
  if constexpr (Lanes > 1)
    total = reduceLanes<Combiner, Lanes>(total);
  Phase::of(row) = total;
}

template <int Lanes, class Epilogue, int V, int Slots, class... Items>
FUSEC_DEVICE void runPhases(Phases<Items...>,
                            const RowRuns<Epilogue, V, Slots> &runs,
                            typename Epilogue::Row &row) {
  (runPhase<Items, Lanes>(runs, row), ...);
}

} // namespace detail

/// Whether an epilogue reduces rows.
template <class Epilogue>
constexpr bool reducesRows = detail::HasPhases<Epilogue>::value;

/// Evaluates the epilogue on one row, which `Lanes` neighbouring lanes hold
/// together, `Slots` runs of V columns each; run s of this lane is at column
/// `columnOf(s)`. `read(s, column, acc)` gives its accumulators. Of a row past
/// the last one `columns` is 0; its lanes take part all the same. Where runs
/// `AreWhole`, V divides the columns.
template <int Lanes, int V, int Slots, bool AreWhole, class Epilogue,
          class ColumnOf, class Read>
FUSEC_DEVICE void evaluateRuns(const Epilogue &epilogue, i64 batch, i64 row,
                               int columns, ColumnOf columnOf, Read read) {
  detail::RowRuns<Epilogue, V, Slots> runs;
  FUSEC_UNROLL
  for (int s = 0; s < Slots; ++s) {
    int column = columnOf(s), left = columns - column;
    runs.places[s] = {batch, row, column, left < V ? left : V};
    if (left <= 0)
      continue;
    if (AreWhole)
      runs.places[s].count = V;
    read(s, column, runs.acc[s]);
    detail::readPack(epilogue.operands, runs.places[s], runs.operands[s]);
  }
  typename Epilogue::Row results;
  detail::runPhases<Lanes>(typename Epilogue::Phases(), runs, results);
  const typename Epilogue::Row &reduced = results;
  FUSEC_UNROLL
  for (int s = 0; s < Slots; ++s) {
    Place place = runs.places[s];
    if (place.count <= 0)
      continue;
    if constexpr (AreWhole) {
      place.count = V;
      // Again: what only the results need takes no registers before.
      detail::readPack(epilogue.operands, place, runs.operands[s]);
    }
    detail::Values<V, typename Epilogue::Results> values;
    FUSEC_UNROLL
    for (int i = 0; i < V; ++i) {
      typename Epilogue::Accumulator acc[Epilogue::accumulators];
      runs.get(s, i, acc);
      detail::applyAt<Epilogue>(i, acc, runs.operands[s], values, reduced);
    }
    detail::writePack(epilogue.results, place, values);
  }
}

/// The same where accumulators are found by their column.
template <int Lanes, int V, int Slots, class Epilogue, class ColumnOf,
          class Read>
FUSEC_DEVICE void evaluateRow(const Epilogue &epilogue, i64 batch, i64 row,
                              int columns, ColumnOf columnOf, Read read) {
  evaluateRuns<Lanes, V, Slots, /*AreWhole=*/false>(
      epilogue, batch, row, columns, columnOf,
      [&](int, int column,
          typename Epilogue::Accumulator(&acc)[Epilogue::accumulators][V]) {
        read(column, acc);
      });
}

/// How `Warps` warps share `Rows` rows of `Columns` columns that lie in shared
/// memory.
template <class Epilogue, int Columns, int Rows, int Warps> struct RowShare {
  static constexpr int V = epilogueVector<Epilogue>;
  /// Of one row: eight, which access 128 bytes together and wait for short
  /// trees only; more where warps would be idle, or a lane hold too much.
  static constexpr FUSEC_DEVICE int lanesOf() {
    constexpr int held = Epilogue::accumulators + Epilogue::Operands::size;
    int lanes = 8;
    while (lanes < 32 &&
           (lanes * Rows < 32 * Warps || Columns / lanes * held > 48))
      lanes *= 2;
    while (lanes > 1 && lanes * V > Columns)
      lanes /= 2;
    return lanes;
  }
  static constexpr int lanes = lanesOf();
  static constexpr int slots = (Columns + lanes * V - 1) / (lanes * V);
  static constexpr int together = 32 / lanes;

  /// Evaluates the rows; this is the `warp`th of the warps. `rowOf(i)` is the
  /// row of the matrix, and `read(i, column, acc)` gives its accumulators.
  template <class RowOf, class Read>
  static FUSEC_DEVICE void evaluate(const Epilogue &epilogue, i64 batch, i64 m,
                                    int n, int warp, RowOf rowOf, Read read) {
    int group = launch::lane() / lanes, lane = launch::lane() % lanes;
    FUSEC_UNROLL_BY(1)
    for (int first = warp * together; first < Rows; first += Warps * together) {
      int i = first + group;
      i64 row = i < Rows ? i64(rowOf(i)) : m;
      evaluateRow<lanes, V, slots>(
          epilogue, batch, row, row < m ? n : 0,
          [&](int slot) { return (slot * lanes + lane) * V; },
          [&](int column,
              typename Epilogue::Accumulator(&acc)[Epilogue::accumulators][V]) {
            read(i, column, acc);
          });
    }
  }
};

} // namespace fusec

#endif // FUSEC_DEVICE_EPILOGUE_ROWS_H
