// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic of the tensor-core tiles: every map is a bijection, every
// access pattern touches each bank once.

#include "gemm_layout.h"
#include "gemm_mma_config.h"

#include "gtest/gtest.h"

#include <set>
#include <vector>

namespace {

using namespace fusec;

/// 8 addresses of 16 bytes must lie in 8 different groups of 4 banks.
void expectConflictFree(const std::vector<int> &offsets, int bytes) {
  std::set<int> groups;
  for (int offset : offsets)
    groups.insert(offset % 128 / bytes);
  EXPECT_EQ(groups.size(), offsets.size());
}

template <class T, bool AlongK, int Tile, int TileK> void checkTile() {
  typedef SharedTile<T, AlongK, Tile, TileK> Layout;
  std::set<int> seen;
  for (int outer = 0; outer < Tile; ++outer)
    for (int k = 0; k < TileK; ++k) {
      int offset = Layout::elementOffset(outer, k);
      EXPECT_GE(offset, 0);
      EXPECT_LE(offset + int(sizeof(T)), Layout::bytes);
      seen.insert(offset);
    }
  EXPECT_EQ(seen.size(), size_t(Tile) * TileK);

  if (Layout::byWords) {
    // One word a lane: 8 outer indices by 4 neighbouring ks.
    for (int outer = 0; outer < Tile; outer += 8)
      for (int k = 0; k < TileK; k += 4) {
        std::vector<int> words;
        for (int lane = 0; lane < 32; ++lane)
          words.push_back(
              Layout::elementOffset(outer + lane / 4, k + lane % 4));
        expectConflictFree(words, 4);
      }
  } else {
    // ldmatrix: 8 rows at one chunk; copies: neighbouring chunks of rows.
    for (int row = 0; row < Layout::rows; row += 8)
      for (int chunk = 0; chunk < Layout::chunksPerRow; ++chunk) {
        std::vector<int> chunks;
        for (int i = 0; i < 8; ++i)
          chunks.push_back(Layout::offset(row + i, chunk));
        expectConflictFree(chunks, 16);
      }
  }
  for (int id = 0; id < Layout::rows * Layout::chunksPerRow; id += 8) {
    std::vector<int> chunks;
    for (int i = id; i < id + 8; ++i)
      chunks.push_back(
          Layout::offset(i / Layout::chunksPerRow, i % Layout::chunksPerRow));
    expectConflictFree(chunks, 16);
  }
}

TEST(Layout, TilesAreBijectiveAndConflictFree) {
  checkTile<f16, true, 128, 64>();
  checkTile<f16, true, 64, 32>();
  checkTile<f16, true, 64, 16>();
  checkTile<f16, true, 16, 128>();
  checkTile<f16, false, 128, 64>();
  checkTile<f16, false, 256, 32>();
  checkTile<f16, false, 32, 64>();
  checkTile<f16, false, 16, 64>();
  checkTile<float, true, 128, 32>();
  checkTile<float, true, 64, 16>();
  checkTile<float, false, 128, 32>();
  checkTile<float, false, 32, 32>();
}

/// The steps of MmaFragments: an XOR along one axis, an addition along the
/// other, from the lane's first offset.
template <class T, bool AlongK, int Tile, int TileK, int WarpOuter>
void checkSteps() {
  typedef SharedTile<T, AlongK, Tile, TileK> Layout;
  constexpr int rowBytes = Layout::chunksPerRow * 16;
  constexpr int steps = TileK * int(sizeof(T)) / 32, stepK = TileK / steps;
  for (int first = 0; first < Tile; first += WarpOuter)
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < WarpOuter / 16; ++i)
        for (int step = 0; step < steps; ++step) {
          if (Layout::byWords) {
            int start = Layout::elementOffset(first + (lane >> 2), lane & 3);
            for (int part = 0; part < 4; ++part)
              EXPECT_EQ((start ^ (i * 64 + (part & 1) * 32)) +
                            (step * 8 + (part >> 1) * 4) * rowBytes,
                        Layout::elementOffset(
                            first + i * 16 + (part & 1) * 8 + (lane >> 2),
                            step * 8 + (part >> 1) * 4 + (lane & 3)));
          } else if (AlongK) {
            FragmentPlace at = fragmentOfA(lane);
            int start = Layout::offset(first + at.outer, at.half);
            EXPECT_EQ(
                (start ^ (step * 32)) + i * 16 * rowBytes,
                Layout::offset(first + i * 16 + at.outer, step * 2 + at.half));
          } else {
            TransposedPlace at = transposedOfB(lane);
            int start = Layout::elementOffset(first + at.outer, at.k);
            EXPECT_EQ((start ^ (i * 32)) + step * 16 * rowBytes,
                      Layout::elementOffset(first + i * 16 + at.outer,
                                            step * stepK + at.k));
          }
        }
}

TEST(Layout, StepsOfFragmentsAreOneXorAndOneConstant) {
  checkSteps<f16, true, 128, 64, 64>();
  checkSteps<f16, true, 64, 32, 32>();
  checkSteps<f16, true, 64, 128, 16>();
  checkSteps<f16, false, 128, 64, 32>();
  checkSteps<f16, false, 256, 32, 64>();
  checkSteps<f16, false, 64, 64, 16>();
  checkSteps<float, true, 128, 32, 64>();
  checkSteps<float, true, 64, 16, 32>();
  checkSteps<float, false, 128, 32, 32>();
  checkSteps<float, false, 64, 32, 16>();
}

TEST(Layout, FragmentsCoverTheirBlock) {
  std::set<std::pair<int, int>> a, b, ta, tb, c;
  for (int lane = 0; lane < 32; ++lane) {
    a.insert({fragmentOfA(lane).outer, fragmentOfA(lane).half});
    b.insert({fragmentOfB(lane).outer, fragmentOfB(lane).half});
    ta.insert({transposedOfA(lane).k, transposedOfA(lane).outer});
    tb.insert({transposedOfB(lane).k, transposedOfB(lane).outer});
    for (int half = 0; half < 2; ++half)
      for (int i = 0; i < 2; ++i)
        c.insert({accumulatorPlace(lane, half).row,
                  accumulatorPlace(lane, half).column + i});
  }
  EXPECT_EQ(a.size(), 32u);
  EXPECT_EQ(b.size(), 32u);
  EXPECT_EQ(ta.size(), 32u);
  EXPECT_EQ(tb.size(), 32u);
  EXPECT_EQ(c.size(), 128u);
}

TEST(Layout, EachTileHasOneBlock) {
  for (int tilesM : {1, 7, 8, 9, 16, 37})
    for (int tilesN : {1, 3, 8, 11}) {
      std::set<std::vector<int>> seen;
      int blocks = tilesM * tilesN * 3;
      for (int block = 0; block < blocks; ++block) {
        TilePlace at = tileOf(block, tilesM, tilesN);
        EXPECT_TRUE(at.m >= 0 && at.m < tilesM && at.n >= 0 && at.n < tilesN &&
                    at.batch < 3);
        seen.insert({at.batch, at.m, at.n});
      }
      EXPECT_EQ(int(seen.size()), blocks);
    }
  // A wave of 64 blocks shares 8 rows and 8 columns of tiles.
  std::set<int> rows, columns;
  for (int block = 0; block < 64; ++block) {
    rows.insert(tileOf(block, 32, 32).m);
    columns.insert(tileOf(block, 32, 32).n);
  }
  EXPECT_EQ(rows.size(), 8u);
  EXPECT_EQ(columns.size(), 8u);
}

TEST(Layout, StagedAccumulatorsAreConflictFree) {
  for (int warpN : {16, 32, 64}) {
    int pitch = warpN + stagingPadding;
    // A store of 8 bytes a lane goes in two half-warps.
    std::set<int> banks;
    for (int lane = 0; lane < 16; ++lane) {
      AccumulatorPlace at = accumulatorPlace(lane, 0);
      banks.insert((at.row * pitch + at.column) % 32 / 2);
    }
    EXPECT_EQ(banks.size(), 16u) << warpN;
  }
}

TEST(Layout, SharedMemoryFormulas) {
  EXPECT_EQ(mmaSharedBytes(128, 256, 64, 2, 4, 3, 1, 2),
            3 * (128 + 256) * 64 * 2);
  // Where the ring is small, staging decides.
  EXPECT_EQ(
      mmaSharedBytes(16, 64, 32, 1, 4, 2, 1, 2),
      std::max(2 * (16 + 64) * 32 * 2, 4 * 16 * (16 + stagingPadding) * 4));
  EXPECT_LE(mmaSharedBytes(128, 128, 64, 2, 4, 3, 1, 2), 99 * 1024);
  EXPECT_EQ(tilesOf(0, 128), 0);
  EXPECT_EQ(tilesOf(129, 128), 2);
  EXPECT_EQ(tilesOf(2147483647, 128), 16777216);
}

} // namespace
