// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A left operand made in registers: what it is made of passes through the ring
// in its own type, each warp loads its share as fragments lie, computes the
// elements there, and multiplies from the registers. Of two sets of fragments
// one is made while the tensor cores read the other.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_MADE_H
#define FUSEC_KERNELS_GEMM_WGMMA_MADE_H

#include "gemm_wgmma_ring.h"

#ifndef FUSEC_HOST
namespace fusec {
namespace detail {

/// Elements as a thread multiplies them: of a step of 16 ks four words of two,
/// in the order of rows g and g + 8 at its ks, then at those 8 further on.
template <class T> using WgmmaSourceWords = T[4][4][2];

/// Hands each two bytes of a thread to `take`, with the step and the part that
/// they are of: of rows of `RowBytes` the 64 bytes that are tile `tile`.
template <u32 RowBytes, class Take>
FUSEC_DEVICE void readBytePairs(u32 stage, u32 rows, int tile, Take take) {
  static_assert(RowBytes == 64 || RowBytes == 128, "rows of a swizzle");
  int row = launch::lane() >> 2, pair = launch::lane() & 3;
  int swizzle = RowBytes == 64 ? row >> 1 & 3 : row;
  u32 at = stage + rows + row * RowBytes + pair * 2;
  FUSEC_UNROLL
  for (int step = 0; step < 4; ++step)
    FUSEC_UNROLL
  for (int part = 0; part < 4; ++part)
    take(step, part,
         primitive::loadSharedPair(at + (part & 1) * 8 * RowBytes +
                                   ((tile * 4 + step) ^ swizzle) * 16 +
                                   (part >> 1) * 8));
}

/// Reads a warp's 16 rows by 64 ks, which begin at byte `rows` of each box;
/// boxes are `BoxBytes` apart. Of bytes a row may have two tiles of 64.
template <u32 RowBytes, u32 BoxBytes, class T>
FUSEC_DEVICE void readSource(u32 stage, u32 rows, int tile,
                             WgmmaSourceWords<T> &to) {
  int row = launch::lane() >> 2, pair = launch::lane() & 3;
  if constexpr (sizeof(T) == 2) {
    u32 first = stage + rows +
                wgmmaSwizzledUnit(wgmmaRowBytes, launch::lane() & 15,
                                  launch::lane() >> 4);
    FUSEC_UNROLL
    for (int step = 0; step < 4; ++step) {
      u32 words[4];
      primitive::loadMatrix4(words, first ^ step * 32);
      FUSEC_UNROLL
      for (int part = 0; part < 4; ++part)
        FUSEC_UNROLL
      for (int i = 0; i < 2; ++i)
        to[step][part][i] = T{u16(words[part] >> 16 * i)};
    }
  } else if constexpr (sizeof(T) == 4) {
    // Neighbouring rows would meet in the banks: they read the two steps of a
    // box in another order.
    bool swaps = row & 1;
    u32 at = stage + rows + row * wgmmaRowBytes + (pair & 1) * 8;
    FUSEC_UNROLL
    for (int box = 0; box < 2; ++box)
      FUSEC_UNROLL
    for (int part = 0; part < 4; ++part) {
      u32 words[2][2];
      FUSEC_UNROLL
      for (int turn = 0; turn < 2; ++turn) {
        int unit = (turn ^ int(swaps)) * 4 + (part >> 1) * 2 + (pair >> 1);
        primitive::loadShared(words[turn], at + box * BoxBytes +
                                               (part & 1) * 8 * wgmmaRowBytes +
                                               (unit ^ row) * 16);
      }
      FUSEC_UNROLL
      for (int i = 0; i < 2; ++i) {
        to[box * 2][part][i] =
            primitive::floatOf(swaps ? words[1][i] : words[0][i]);
        to[box * 2 + 1][part][i] =
            primitive::floatOf(swaps ? words[0][i] : words[1][i]);
      }
    }
  } else {
    readBytePairs<RowBytes>(stage, rows, tile,
                            [&](int step, int part, u32 both) {
                              to[step][part][0] = T(both);
                              to[step][part][1] = T(both >> 8);
                            });
  }
}

/// An element as the function reads it. Bytes become floats as the last byte of
/// one, of 2^23 and more, which takes two instructions where a conversion takes
/// four times as long as one.
template <class Read, class T> FUSEC_DEVICE Read readElement(T stored) {
  if constexpr (isInteger<T> && isSame<Read, float>) {
    constexpr u32 flip = isUnsigned<T> ? 0 : 0x80;
    return primitive::floatOf(0x4b000000u | (u8(stored) ^ flip)) -
           float(0x800000 + flip);
  } else {
    return cast<Read>(stored);
  }
}

/// Two bytes as fp16: each is the last byte of a number of 1024 and more, from
/// which what is too much is taken, exactly.
template <class T> FUSEC_DEVICE u32 convertBytePair(u32 both) {
  constexpr u32 flip = isUnsigned<T> ? 0 : 0x80;
  constexpr u32 more = 0x6400 + flip; // 1024 + flip
  u32 wide = primitive::permuteBytes(both ^ flip * 0x101, 0x64646464, 0x4140);
  return primitive::subtractHalves(wide, more * 0x10001);
}

/// Makes a warp's fragments of a matrix, of whose tiles `Source` knows how they
/// lie in a stage.
template <class Matrix, class Source> struct WgmmaMaker {
  static constexpr int tileK = 64;
  typedef typename Matrix::Element Element;
  typedef typename Source::T Stored;
  typedef decltype(Matrix::function) Function;
  typedef typename Function::Operands Operands;
  typedef typename Function::Accumulator Read;
  /// Of 64 ks, in eights as an epilogue's columns.
  static constexpr int groups = 8;
  typedef Fragments<Operands, groups, 1, Holds::Others> Others;
  typedef Fragments<Operands, groups, 1, Holds::ByColumn> AlongK;

  const Function &function;
  int ks;
  u32 rows; // where the warp's are in a box
  WgmmaPlace place;
  Others others;

  /// `first`: the warp's first row in the tile that begins at `row`.
  FUSEC_DEVICE WgmmaMaker(const Matrix &matrix, int ks, int outers, int batch,
                          int row, int first)
      : function(matrix.function), ks(ks), rows(first * Source::kBytes) {
    int mine = row + first + (launch::lane() >> 2), last = outers - 1;
    place = {batch, {min(mine, last), min(mine + 8, last)}, 0, ks - 1, 0, 0};
    others.template read<true>(function.operands, place);
  }

  /// What the 64 ks from `k` on need of memory.
  FUSEC_DEVICE void prepare(AlongK &alongK, int k) {
    place.column = k + (launch::lane() & 3) * 2;
    if (ks % tileK == 0 || k + tileK <= ks)
      alongK.template read<true>(function.operands, place);
    else
      alongK.template read<false>(function.operands, place);
  }
  /// The fragments of the stage's tile that begins at `k`. Beyond the last k
  /// are zeros, whatever the function makes of nothing.
  FUSEC_DEVICE void make(u32 (&to)[4][4], const AlongK &alongK, u32 stage,
                         int k, int tile = 0) const {
    if constexpr (convertsPairs)
      readBytePairs<Source::kBytes>(
          stage, rows, tile, [&](int step, int part, u32 both) {
            to[step][part] = convertBytePair<Stored>(both);
          });
    else
      apply(to, alongK, stage, tile);
    if (ks % tileK != 0 && k + tileK > ks)
      clear(to, k);
  }

private:
  static constexpr bool convertsPairs =
      isConversion<Function> && isInteger<Stored> && isSame<Element, f16>;

  FUSEC_DEVICE void apply(u32 (&to)[4][4], const AlongK &alongK, u32 stage,
                          int tile) const {
    WgmmaSourceWords<Stored> read;
    readSource<Source::kBytes, Source::bytes>(stage, rows, tile, read);
    FUSEC_UNROLL
    for (int step = 0; step < 4; ++step)
      FUSEC_UNROLL
    for (int part = 0; part < 4; ++part) {
      int group = step * 2 + (part >> 1), half = part & 1;
      float made[2];
      FUSEC_UNROLL
      for (int i = 0; i < 2; ++i) {
        Values<2, Operands> values;
        others.get(half, group, i, values);
        alongK.get(half, group, i, values);
        made[i] = makeElement<Function>(
            i, readElement<Read>(read[step][part][i]), values);
      }
      to[step][part] = primitive::packPair(Element{}, made[0], made[1]);
    }
  }
  FUSEC_DEVICE void clear(u32 (&made)[4][4], int k) const {
    int left = ks - k - (launch::lane() & 3) * 2;
    FUSEC_UNROLL
    for (int step = 0; step < 4; ++step)
      FUSEC_UNROLL
    for (int part = 0; part < 4; ++part) {
      int first = step * 16 + (part >> 1) * 8;
      u32 kept = first + 1 < left ? ~0u : first < left ? 0xffffu : 0;
      made[step][part] &= kept;
    }
  }
};

/// Multiplies the stages of a tile. Leaves the matmul of the last under way.
template <class Config, int J, class SegmentType>
FUSEC_DEVICE void wgmmaConsumeMade(const SegmentType &segment, int m,
                                   WgmmaTile tile, int firstBlock,
                                   WgmmaRing<Config, J> &ring,
                                   WgmmaAccumulators<Config, J> &acc) {
  typedef WgmmaSegment<Config, J, SegmentType> Segment;
  typedef WgmmaMaker<typename SegmentType::A, typename Segment::A> Maker;
  static_assert(Config::tileK == Maker::tileK, "a tile a stage");
  typedef typename Segment::B B;
  typedef primitive::Wgmma<typename SegmentType::A::Element, Segment::width>
      Wgmma;
  Maker maker(segment.a, segment.k, m, tile.batch, tile.row,
              firstBlock * 64 + (launch::warp() & 3) * 16);
  u32 made[2][4][4];
  int k = 0;
  typename Maker::AlongK alongK;
  maker.prepare(alongK, 0);
  auto multiply = [&](u32(&a)[4][4]) {
    ring.enter();
    u32 at = ring.base + ring.stage * ring.stageBytes;
    maker.make(a, alongK, at, k);
    k += Config::tileK;
    if (Maker::AlongK::values > 0 && k < segment.k)
      maker.prepare(alongK, k);
    u64 b = B::descriptor(at + Segment::offsetB);
    primitive::fenceWgmma();
    FUSEC_UNROLL
    for (int step = 0; step < 4; ++step)
      FUSEC_UNROLL
    for (int column = 0; column < J * Config::tileN; column += Segment::width)
      Wgmma::template run<!B::alongK>(
          acc[0] + column / 2, a[step],
          b + column / Config::tileN * (B::bytes / 16) + step * B::step,
          step > 0 || ring.adds != 0);
    ring.adds = 1;
    ring.leave();
  };
  int stages = Segment::tiles(segment);
  FUSEC_UNROLL_BY(1)
  for (; stages > 1; stages -= 2) {
    multiply(made[0]);
    multiply(made[1]);
  }
  if (stages > 0)
    multiply(made[0]);
}

} // namespace detail
} // namespace fusec
#endif // FUSEC_HOST

#endif // FUSEC_KERNELS_GEMM_WGMMA_MADE_H
