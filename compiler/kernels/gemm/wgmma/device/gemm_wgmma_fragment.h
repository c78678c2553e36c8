// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread holds of the epilogue's operands where they lie as wgmma leaves
// its accumulators: reads from memory or from what the copy engine has loaded.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_FRAGMENT_H
#define FUSEC_KERNELS_GEMM_WGMMA_FRAGMENT_H

#include "gemm_wgmma_operand.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// Accumulators of a consumer thread. Of a block of 64 rows and a group of
/// eight columns it has two rows (`half`, eight apart) of two columns. Those of
/// a block follow one another: wgmmaAccumulatorAt.
template <class Config, int J>
using WgmmaAccumulators = float[Config::blocksM][J * Config::tileN / 2];
template <class Config>
constexpr FUSEC_DEVICE int wgmmaAccumulatorAt(int j, int group, int half) {
  return j * (Config::tileN / 2) + group * 4 + half * 2;
}

/// Where some groups of a thread's columns stand: rows inside of the matrix,
/// the first column, the last column of the matrix. What the copy engine has
/// loaded for them lies at `buffer`, from group `firstGroup` on.
struct WgmmaPlace {
  i64 batch, row[2];
  int column, last;
  u32 buffer;
  int firstGroup;

  /// A group's two values. At the edge they are read one by one, and what lies
  /// past it is that of the last column: nobody stores it.
  template <bool Inside, class Operand>
  FUSEC_DEVICE void read(const Operand &operand, int half, int group,
                         typename Operand::Value (&out)[2]) const {
    int first = column + group * 8;
    if constexpr (Inside) {
      operand.read(Place{batch, row[half], first, 2}, out);
    } else {
      FUSEC_UNROLL
      for (int i = 0; i < 2; ++i) {
        typename Operand::Value one[1];
        operand.read(
            Place{batch, row[half], first + i < last ? first + i : last, 1},
            one);
        out[i] = one[0];
      }
    }
  }
  FUSEC_DEVICE Place at(int half) const {
    return {batch, row[half], column < last ? column : last, 1};
  }
};

/// What a thread holds of an operand; by default of one that varies with row
/// and column.
template <class Operand, int Groups, int Width> struct Fragment {
  typedef typename Operand::Value Value;
  static constexpr int values = 4 * Groups, loadedBytes = 0;
  Value held[2][Groups][2];
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &operand, const WgmmaPlace &place) {
    FUSEC_UNROLL
    for (int half = 0; half < 2; ++half)
      FUSEC_UNROLL
    for (int g = 0; g < Groups; ++g)
      place.read<Inside>(operand, half, g, held[half][g]);
  }
  FUSEC_DEVICE Value get(int half, int group, int i) const {
    return held[half][group][i];
  }
};
/// Of one that varies with the column: 16-bit floats stay in pairs as they lie
/// in memory.
template <class T, class Columns, int Alignment, class Batch, int Groups,
          int Width>
struct Fragment<RowOperand<T, Columns, Alignment, Batch>, Groups, Width> {
  typedef RowOperand<T, Columns, Alignment, Batch> Operand;
  typedef typename Operand::Value Value;
  static constexpr int values = (isHalf<T> ? 1 : 2) * Groups, loadedBytes = 0;
  typename Conditional<isHalf<T>, u32, Value[2]>::Type held[Groups];
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &operand, const WgmmaPlace &place) {
    FUSEC_UNROLL
    for (int g = 0; g < Groups; ++g)
      if constexpr (isHalf<T>) {
        RowOperand<u16, Columns, Alignment, Batch> bits{
            reinterpret_cast<const u16 *>(operand.pointer), operand.columns,
            operand.batch};
        u16 pair[2];
        place.read<Inside>(bits, 0, g, pair);
        held[g] = pair[0] | u32(pair[1]) << 16;
      } else {
        place.read<Inside>(operand, 0, g, held[g]);
      }
  }
  FUSEC_DEVICE Value get(int, int group, int i) const {
    if constexpr (isHalf<T>)
      return cast<Value>(T{u16(held[group] >> 16 * i)});
    else
      return held[group][i];
  }
};
template <class T, class Rows, class Batch, int Groups, int Width>
struct Fragment<ColumnOperand<T, Rows, Batch>, Groups, Width> {
  typedef ColumnOperand<T, Rows, Batch> Operand;
  typedef typename Operand::Value Value;
  static constexpr int values = 2, loadedBytes = 0;
  Value held[2][1];
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &operand, const WgmmaPlace &place) {
    operand.read(place.at(0), held[0]);
    operand.read(place.at(1), held[1]);
  }
  FUSEC_DEVICE Value get(int half, int, int) const { return held[half][0]; }
};
/// One value for all.
template <class Operand> struct FragmentValue {
  typedef typename Operand::Value Value;
  static constexpr int values = 1, loadedBytes = 0;
  Value held[1];
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &operand, const WgmmaPlace &place) {
    operand.read(place.at(0), held);
  }
  FUSEC_DEVICE Value get(int, int, int) const { return held[0]; }
};
template <class T, class Batch, int Groups, int Width>
struct Fragment<ScalarOperand<T, Batch>, Groups, Width>
    : FragmentValue<ScalarOperand<T, Batch>> {};

/// In a buffer of columns, 16 elements of 16 bits each, what a lane points
/// stmatrix.x4.trans and ldmatrix.x4.trans to: a column of a group or the next
/// one, its first or its last eight elements.
constexpr int wgmmaColumnBytes = 32;
FUSEC_DEVICE u32 wgmmaColumnUnit(int group, int lane) {
  return wgmmaSwizzledUnit(
      wgmmaColumnBytes, (group + (lane >> 4)) * 8 + (lane & 7), lane >> 3 & 1);
}

/// Of an operand that the copy engine has loaded: words of two 16-bit elements,
/// or two words. `Width` groups are a row of the buffer, or its columns.
template <class T, class Rows, class Columns, int Alignment, class Batch,
          int Groups, int Width>
struct Fragment<Mapped<FullOperand<T, Rows, Columns, Alignment, Batch>>, Groups,
                Width> {
  typedef Mapped<FullOperand<T, Rows, Columns, Alignment, Batch>> Operand;
  typedef typename Operand::Value Value;
  static constexpr int words = int(sizeof(T)) / 2;
  static constexpr bool alongRows = isSame<Rows, Contiguous>;
  static_assert(words == 1 || (words == 2 && !alongRows),
                "an element of 2 bytes, or 4 along columns");
  static constexpr int values = 2 * Groups * words;
  static constexpr int rowBytes = Width * 8 * int(sizeof(T));
  static constexpr int loadedBytes = 16 * rowBytes;
  u32 held[Groups][2][words];

  static FUSEC_DEVICE void load(const Operand &operand, u32 to, u32 barrier,
                                int column, int row, int batch) {
    int x = alongRows ? row : column, y = alongRows ? column : row;
    if constexpr (isSame<Batch, Unbatched>)
      primitive::copyBox<1>(to, operand.map, barrier, x, y);
    else
      primitive::copyBox<1>(to, operand.map, barrier, x, y, batch);
  }
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &, const WgmmaPlace &place) {
    int lane = launch::lane();
    if constexpr (words == 1) {
      FUSEC_UNROLL
      for (int g = 0; g < Groups; g += 2) {
        u32 m[4];
        if constexpr (alongRows)
          primitive::loadMatrix4Transposed(
              m, place.buffer + wgmmaColumnUnit(place.firstGroup + g, lane));
        else
          primitive::loadMatrix4(
              m, place.buffer +
                     wgmmaSwizzledUnit(rowBytes, lane & 15,
                                       (place.firstGroup + g) ^ lane >> 4));
        held[g][0][0] = m[0];
        held[g][1][0] = m[1];
        held[g + 1][0][0] = m[2];
        held[g + 1][1][0] = m[3];
      }
    } else {
      FUSEC_UNROLL
      for (int g = 0; g < Groups; ++g)
        FUSEC_UNROLL
      for (int half = 0; half < 2; ++half)
        primitive::loadShared(held[g][half],
                              place.buffer +
                                  wgmmaSwizzledUnit(rowBytes,
                                                    (lane >> 2) + half * 8,
                                                    (place.firstGroup + g) * 2 +
                                                        (lane >> 1 & 1)) +
                                  (lane & 1) * 8);
    }
  }
  FUSEC_DEVICE Value get(int half, int group, int i) const {
    if constexpr (isHalf<T>)
      return cast<Value>(T{u16(held[group][half][0] >> 16 * i)});
    else if constexpr (words == 1)
      return Value(T(u16(held[group][half][0] >> 16 * i)));
    else if constexpr (isSame<T, float>)
      return primitive::floatOf(held[group][half][i]);
    else
      return Value(held[group][half][i]);
  }
};

/// Of an operand that others hold.
template <class Operand> struct NoFragment {
  static constexpr int values = 0, loadedBytes = 0;
  template <bool Inside>
  FUSEC_DEVICE void read(const Operand &, const WgmmaPlace &) {}
};

/// Which operands of a pack: what varies with the column only is the same for
/// all rows of a tile.
enum class Holds { All, Nothing, ByColumn, Others };
template <class Operand> constexpr bool variesByColumn = false;
template <class T, class Columns, int Alignment, class Batch>
constexpr bool variesByColumn<RowOperand<T, Columns, Alignment, Batch>> = true;

/// The fragments of a pack of operands. Loaded ones lie behind each other.
template <class PackType, int Groups, int Width, Holds Which = Holds::All>
struct Fragments {
  static constexpr int values = 0, loadedBytes = 0;
  static FUSEC_DEVICE void load(const PackType &, u32, u32, int, int, int) {}
  static FUSEC_DEVICE void prefetch(const PackType &) {}
  template <bool Inside>
  FUSEC_DEVICE void read(const PackType &, const WgmmaPlace &) {}
  template <int V>
  FUSEC_DEVICE void get(int, int, int, Values<V, PackType> &) const {}
};
template <class First, class... Rest, int Groups, int Width, Holds Which>
struct Fragments<Pack<First, Rest...>, Groups, Width, Which> {
  typedef Pack<First, Rest...> PackType;
  static constexpr bool holds =
      Which == Holds::All ||
      Which == (variesByColumn<First> ? Holds::ByColumn : Holds::Others);
  typedef typename Conditional<holds, Fragment<First, Groups, Width>,
                               NoFragment<First>>::Type Own;
  typedef Fragments<Pack<Rest...>, Groups, Width, Which> Others;
  static constexpr int values = Own::values + Others::values;
  static constexpr int loadedBytes = Own::loadedBytes + Others::loadedBytes;
  Own first;
  Others rest;

  static FUSEC_DEVICE void load(const PackType &pack, u32 to, u32 barrier,
                                int column, int row, int batch) {
    if constexpr (Own::loadedBytes > 0)
      Own::load(pack.first, to, barrier, column, row, batch);
    Others::load(pack.rest, to + Own::loadedBytes, barrier, column, row, batch);
  }
  static FUSEC_DEVICE void prefetch(const PackType &pack) {
    if constexpr (Own::loadedBytes > 0)
      primitive::prefetchMap(pack.first.map);
    Others::prefetch(pack.rest);
  }
  template <bool Inside>
  FUSEC_DEVICE void read(const PackType &pack, WgmmaPlace place) {
    first.template read<Inside>(pack.first, place);
    place.buffer += Own::loadedBytes;
    rest.template read<Inside>(pack.rest, place);
  }
  template <int V>
  FUSEC_DEVICE void get(int half, int group, int i,
                        Values<V, PackType> &to) const {
    if constexpr (holds)
      to.first[i] = first.get(half, group, i);
    rest.get(half, group, i, to.rest);
  }
};

/// What an element of each mapped operand takes together.
template <class PackType> struct OperandMaps {
  static constexpr int bytes = 0;
};
template <class First, class... Rest> struct OperandMaps<Pack<First, Rest...>> {
  static constexpr int bytes = OperandMaps<Pack<Rest...>>::bytes;
};
template <class T, class Rows, class Columns, int Alignment, class Batch,
          class... Rest>
struct OperandMaps<
    Pack<Mapped<FullOperand<T, Rows, Columns, Alignment, Batch>>, Rest...>> {
  static constexpr int bytes =
      int(sizeof(T)) + OperandMaps<Pack<Rest...>>::bytes;
};

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_WGMMA_FRAGMENT_H
