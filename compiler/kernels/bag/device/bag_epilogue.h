// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is computed of bags in registers, in place of storing them: an epilogue
// of epilogue.h, or of epilogue_rows.h, for which a group of lanes holds whole
// rows.

#ifndef FUSEC_DEVICE_BAG_EPILOGUE_H
#define FUSEC_DEVICE_BAG_EPILOGUE_H

#include "prelude.h"

#include "bag_config.h"
#include "epilogue_rows.h"

namespace fusec {

/// An epilogue over [bag, column of the result]; over [bag, table, column]
/// where tables `AreApart`. Rows that it reduces have `Columns` columns.
template <class Epilogue, int Columns, bool AreApart> struct BagEpilogue {
  static constexpr bool areThere = true,
                        reducesRows = fusec::reducesRows<Epilogue>;
  static constexpr int columns = Columns;
  Epilogue epilogue;

  /// Lanes that hold a row in runs of V columns, on the host one for all; those
  /// that are apart, and how many runs each has.
  template <int V>
  static constexpr int lanes = bagLanes((Columns + V - 1) / V, 32);
  template <int V>
  static constexpr int apart = lanes<V> / launch::workersOf(lanes<V>);
  template <int V>
  static constexpr int slots = (Columns + apart<V> * V - 1) / (apart<V> * V);

  /// Of run s of a lane the first column; of one beyond the row any of it. Only
  /// the last run may be: others are at constants from one another.
  template <int V> static FUSEC_DEVICE int columnOf(int s, int lane) {
    const int column = (s * apart<V> + lane) * V;
    return (s + 1) * apart<V> * V <= Columns || column < Columns ? column : 0;
  }

  /// At V columns of a bag from one of its table's on: there are as many, since
  /// V divides all widths.
  template <int V, class Sums>
  FUSEC_DEVICE void evaluate(const BagShape &shape, i64 bag, int column,
                             const Sums &sums) const {
    const Place at{0, bag, shape.column + column, V};
    detail::Values<V, typename Epilogue::Operands> operands;
    detail::Values<V, typename Epilogue::Results> results;
    detail::readPack(epilogue.operands, at, operands);
    FUSEC_UNROLL
    for (int v = 0; v < V; ++v) {
      const float acc[1] = {sums[v]};
      detail::applyAt<Epilogue>(v, acc, operands, results);
    }
    detail::writePack(epilogue.results, at, results);
  }

  /// On the row of a bag of a table, which lanes<V> lanes hold; those of which
  /// none is there have no columns. `read(s, acc)` gives the sums of run s.
  template <int V, class Read>
  FUSEC_DEVICE void evaluateRowOf(int table, i64 bag, bool isThere, int lane,
                                  Read read) const {
    const i64 batch = AreApart ? bag : 0, row = AreApart ? i64(table) : bag;
    evaluateRuns<lanes<V>, V, slots<V>, /*AreWhole=*/true>(
        epilogue, batch, row, isThere ? Columns : 0,
        [&](int s) { return (s * apart<V> + lane) * V; },
        [&](int s, int, float(&acc)[1][V]) { read(s, acc[0]); });
  }
};

} // namespace fusec

#endif // FUSEC_DEVICE_BAG_EPILOGUE_H
