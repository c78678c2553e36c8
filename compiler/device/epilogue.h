// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue protocol: a pure scalar function of the accumulators, and typed
// descriptors of what else it reads and writes. The emitter writes the function
// and picks the descriptors; templates own iteration, loads, stores and masks,
// so that one text compiles into every one of them.

#ifndef FUSEC_DEVICE_EPILOGUE_H
#define FUSEC_DEVICE_EPILOGUE_H

#include "vector.h"

namespace fusec {

// Axis maps: the offset, in elements, of an index along one axis. The emitter
// may add its own, for rows that are several tensor dimensions or a broadcast
// batch: any copyable struct with this member.

struct Contiguous {
  FUSEC_DEVICE i64 offset(i64 index) const { return index; }
};
struct Stride {
  i64 stride;
  FUSEC_DEVICE i64 offset(i64 index) const { return index * stride; }
};
/// The batch axis of what is shared by all batches.
struct Unbatched {
  FUSEC_DEVICE i64 offset(i64) const { return 0; }
};

/// Where an epilogue stands: V columns from `column` on, `count` of them valid.
struct Place {
  i64 batch, row, column;
  int count;
};

namespace detail {
template <int Alignment, int V, class T>
FUSEC_DEVICE void readRun(const T *p, int count, Compute<T> (&out)[V]) {
  constexpr int width = vectorOf<T>(Alignment, V);
  if (count == V) {
    FUSEC_UNROLL
    for (int i = 0; i < V; i += width) {
      Vec<T, width> v = load<width>(p + i);
      FUSEC_UNROLL
      for (int j = 0; j < width; ++j)
        out[i + j] = cast<Compute<T>>(v[j]);
    }
    return;
  }
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i)
    out[i] = i < count ? cast<Compute<T>>(p[i]) : Compute<T>(0);
}
template <int V, class T, class Columns>
FUSEC_DEVICE void readEach(const T *p, const Columns &columns, const Place &at,
                           Compute<T> (&out)[V]) {
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i)
    out[i] = i < at.count ? cast<Compute<T>>(p[columns.offset(at.column + i)])
                          : Compute<T>(0);
}
template <int V, class Value>
FUSEC_DEVICE void fillRun(Value value, Value (&out)[V]) {
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i)
    out[i] = value;
}
} // namespace detail

// Operands. T is the storage type, Value what the function sees. `Alignment`
// (bytes) is guaranteed for the pointer and for every offset of the other axes.

/// One value for all.
template <class T, class Batch = Unbatched> struct ScalarOperand {
  typedef Compute<T> Value;
  const T *pointer;
  Batch batch = {};
  template <int V>
  FUSEC_DEVICE void read(const Place &at, Value (&out)[V]) const {
    detail::fillRun(cast<Value>(pointer[batch.offset(at.batch)]), out);
  }
};

/// Varies with the column only: a row vector, a bias.
template <class T, class Columns = Contiguous, int Alignment = sizeof(T),
          class Batch = Unbatched>
struct RowOperand {
  typedef Compute<T> Value;
  const T *pointer;
  Columns columns = {};
  Batch batch = {};
  template <int V>
  FUSEC_DEVICE void read(const Place &at, Value (&out)[V]) const {
    const T *p = pointer + batch.offset(at.batch);
    if constexpr (isSame<Columns, Contiguous>)
      detail::readRun<Alignment>(p + at.column, at.count, out);
    else
      detail::readEach(p, columns, at, out);
  }
};

/// Varies with the row only: a column vector, a norm's scale.
template <class T, class Rows = Contiguous, class Batch = Unbatched>
struct ColumnOperand {
  typedef Compute<T> Value;
  const T *pointer;
  Rows rows = {};
  Batch batch = {};
  template <int V>
  FUSEC_DEVICE void read(const Place &at, Value (&out)[V]) const {
    detail::fillRun(
        cast<Value>(pointer[batch.offset(at.batch) + rows.offset(at.row)]),
        out);
  }
};

/// Varies with row and column: a residual.
template <class T, class Rows = Stride, class Columns = Contiguous,
          int Alignment = sizeof(T), class Batch = Unbatched>
struct FullOperand {
  typedef Compute<T> Value;
  const T *pointer;
  Rows rows;
  Columns columns = {};
  Batch batch = {};
  template <int V>
  FUSEC_DEVICE void read(const Place &at, Value (&out)[V]) const {
    const T *p = pointer + batch.offset(at.batch) + rows.offset(at.row);
    if constexpr (isSame<Columns, Contiguous>)
      detail::readRun<Alignment>(p + at.column, at.count, out);
    else
      detail::readEach(p, columns, at, out);
  }
};

/// A stored result; a slice of a larger tensor by pointer and strides.
template <class T, class Rows = Stride, class Columns = Contiguous,
          int Alignment = sizeof(T), class Batch = Unbatched>
struct FullResult {
  typedef T Element;
  typedef Compute<T> Value;
  T *pointer;
  Rows rows;
  Columns columns = {};
  Batch batch = {};
  template <int V>
  FUSEC_DEVICE void write(const Place &at, const Value (&in)[V]) const {
    T *p = pointer + batch.offset(at.batch) + rows.offset(at.row);
    constexpr int width =
        isSame<Columns, Contiguous> ? vectorOf<T>(Alignment, V) : 1;
    if (width > 1 && at.count == V) {
      FUSEC_UNROLL
      for (int i = 0; i < V; i += width) {
        Vec<T, width> v;
        FUSEC_UNROLL
        for (int j = 0; j < width; ++j)
          v[j] = cast<T>(in[i + j]);
        store<width>(p + at.column + i, v);
      }
      return;
    }
    FUSEC_UNROLL
    for (int i = 0; i < V; ++i)
      if (i < at.count)
        p[columns.offset(at.column + i)] = cast<T>(in[i]);
  }
};

/// Stored once a row, by whoever has its first column: a result of reductions
/// over the row (epilogue_rows.h).
template <class T, class Rows = Stride, class Batch = Unbatched>
struct ColumnResult {
  typedef T Element;
  typedef Compute<T> Value;
  T *pointer;
  Rows rows;
  Batch batch = {};
  template <int V>
  FUSEC_DEVICE void write(const Place &at, const Value (&in)[V]) const {
    if (at.column == 0)
      pointer[batch.offset(at.batch) + rows.offset(at.row)] = cast<T>(in[0]);
  }
};

/// A list of descriptors.
template <class... Items> struct Pack { static constexpr int size = 0; };
template <class First, class... Rest> struct Pack<First, Rest...> {
  static constexpr int size = 1 + int(sizeof...(Rest));
  First first;
  Pack<Rest...> rest;
  FUSEC_DEVICE Pack(First first, Rest... rest) : first(first), rest(rest...) {}
};

namespace detail {

/// V values of each item of a pack.
template <int V, class PackType> struct Values {};
template <int V, class First, class... Rest>
struct Values<V, Pack<First, Rest...>> {
  typename First::Value first[V];
  Values<V, Pack<Rest...>> rest;
};

template <int V>
FUSEC_DEVICE void readPack(const Pack<> &, const Place &, Values<V, Pack<>> &) {
}
template <int V, class First, class... Rest>
FUSEC_DEVICE void readPack(const Pack<First, Rest...> &pack, const Place &at,
                           Values<V, Pack<First, Rest...>> &values) {
  pack.first.read(at, values.first);
  readPack(pack.rest, at, values.rest);
}

template <int V>
FUSEC_DEVICE void writePack(const Pack<> &, const Place &,
                            const Values<V, Pack<>> &) {}
template <int V, class First, class... Rest>
FUSEC_DEVICE void writePack(const Pack<First, Rest...> &pack, const Place &at,
                            const Values<V, Pack<First, Rest...>> &values) {
  pack.first.write(at, values.first);
  writePack(pack.rest, at, values.rest);
}

// Calls apply(acc, operands..., results...) by peeling one value at a time.
template <class Epilogue, int J, int V, class... Arguments>
FUSEC_DEVICE void applyAt(int, const typename Epilogue::Accumulator (&acc)[J],
                          const Values<V, Pack<>> &, Values<V, Pack<>> &,
                          Arguments &...arguments) {
  Epilogue::apply(acc, arguments...);
}
template <class Epilogue, int J, int V, class First, class... Rest,
          class... Arguments>
FUSEC_DEVICE void applyAt(int i, const typename Epilogue::Accumulator (&acc)[J],
                          const Values<V, Pack<>> &operands,
                          Values<V, Pack<First, Rest...>> &results,
                          Arguments &...arguments) {
  applyAt<Epilogue>(i, acc, operands, results.rest, arguments...,
                    results.first[i]);
}
template <class Epilogue, int J, int V, class First, class... Rest,
          class Results, class... Arguments>
FUSEC_DEVICE void applyAt(int i, const typename Epilogue::Accumulator (&acc)[J],
                          const Values<V, Pack<First, Rest...>> &operands,
                          Values<V, Results> &results,
                          Arguments &...arguments) {
  applyAt<Epilogue>(i, acc, operands.rest, results, arguments...,
                    operands.first[i]);
}

/// The smallest element that a pack of results stores.
template <class PackType> struct SmallestElement {
  static constexpr int bytes = 16;
};
template <class First, class... Rest>
struct SmallestElement<Pack<First, Rest...>> {
  static constexpr int own = int(sizeof(typename First::Element));
  static constexpr int others = SmallestElement<Pack<Rest...>>::bytes;
  static constexpr int bytes = own < others ? own : others;
};

/// V neighbouring columns of a row of staged accumulators: `rows` rows of the
/// first behind each other, `pitch` elements apart, then those of the next.
template <class Acc, int J, int V>
FUSEC_DEVICE void readStagedRun(const Acc *staged, int rows, int pitch, int row,
                                int column, Acc (&to)[J][V]) {
  FUSEC_UNROLL
  for (int j = 0; j < J; ++j) {
    Vec<Acc, V> run = load<V>(staged + (j * rows + row) * pitch + column);
    FUSEC_UNROLL
    for (int i = 0; i < V; ++i)
      to[j][i] = run[i];
  }
}

} // namespace detail

/// How many columns a thread should evaluate at once, so that the narrowest
/// result is stored by 16-byte accesses.
template <class Epilogue>
constexpr int epilogueVector =
    detail::SmallestElement<typename Epilogue::Results>::bytes <= 2 ? 8 : 4;

/// Evaluates the epilogue at V neighbouring columns of one row; those at or
/// past `columns` are masked.
template <class Epilogue, int J, int V>
FUSEC_DEVICE void
evaluateRun(const Epilogue &epilogue, i64 batch, i64 row, i64 column,
            i64 columns, const typename Epilogue::Accumulator (&acc)[J][V]) {
  static_assert(J == Epilogue::accumulators, "one value an accumulator");
  if (column >= columns)
    return;
  Place at{batch, row, column,
           columns - column < V ? int(columns - column) : V};
  detail::Values<V, typename Epilogue::Operands> operands;
  detail::Values<V, typename Epilogue::Results> results;
  detail::readPack(epilogue.operands, at, operands);
  FUSEC_UNROLL
  for (int i = 0; i < V; ++i) {
    typename Epilogue::Accumulator values[J];
    FUSEC_UNROLL
    for (int j = 0; j < J; ++j)
      values[j] = acc[j][i];
    detail::applyAt<Epilogue>(i, values, operands, results);
  }
  detail::writePack(epilogue.results, at, results);
}

} // namespace fusec

#endif // FUSEC_DEVICE_EPILOGUE_H
