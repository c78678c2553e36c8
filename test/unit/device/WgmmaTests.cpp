// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of the wgmma template: its shared memory, the banks of its
// staging, and, on the host's plain loop, persistent blocks over all tiles.

#include "gemm_wgmma.h"

#include "Tilings.h"
#include "gtest/gtest.h"

#include <set>
#include <vector>

namespace {

using namespace fusec;

TEST(Wgmma, StagedUnitsAreEachTheirOwn) {
  for (int columns : {64, 32, 16}) {
    std::set<int> places;
    for (int row = 0; row < 16; ++row)
      for (int unit = 0; unit < columns / 4; ++unit)
        places.insert(wgmmaStagedUnit(columns, row, unit));
    EXPECT_EQ(places.size(), size_t(16 * columns / 4));
    EXPECT_EQ(*places.begin(), 0);
    EXPECT_EQ(*places.rbegin(), (16 * columns / 4 - 1) * 16);
  }
}

/// 8-byte stores meet in no bank: half a warp writes 128 bytes.
TEST(Wgmma, FragmentsAreStagedWithoutConflicts) {
  for (int columns : {64, 32})
    for (int n = 0; n < columns / 8; ++n)
      for (int first : {0, 16}) {
        std::set<int> banks;
        for (int lane = first; lane < first + 16; ++lane)
          banks.insert(
              (wgmmaStagedUnit(columns, lane >> 2, n * 2 + (lane >> 1 & 1)) +
               (lane & 1) * 8) %
              128 / 8);
        EXPECT_EQ(banks.size(), 16u) << columns << " " << n;
      }
}

/// 16-byte loads of runs of eight columns: a quarter of a warp reads 128 bytes.
TEST(Wgmma, RunsAreReadWithoutConflicts) {
  for (int columns : {64, 32})
    for (int first = 0; first < 32; first += 8)
      for (int half : {0, 1}) {
        std::set<int> banks;
        for (int run = first; run < first + 8; ++run)
          banks.insert(wgmmaStagedUnit(columns, run / (columns / 8),
                                       run % (columns / 8) * 2 + half) %
                       128 / 16);
        EXPECT_EQ(banks.size(), 8u) << columns << " " << first;
      }
}

TEST(Wgmma, RowsAreStagedAndReadWithoutConflicts) {
  for (int unit = 0; unit < 64; unit += 2)
    for (int first = 0; first < 8; first += 4) {
      // Half a warp: two units of each of four rows; rows are whole sweeps.
      std::set<int> groups;
      for (int row = first; row < first + 4; ++row)
        for (int half = 0; half < 2; ++half)
          groups.insert(wgmmaRowUnit(row, unit + half) % 8);
      EXPECT_EQ(groups.size(), 8u);
    }
  for (int row = 0; row < 8; ++row) {
    std::set<int> units;
    for (int unit = 0; unit < 64; ++unit)
      units.insert(wgmmaRowUnit(row, unit));
    EXPECT_EQ(units.size(), 64u);
    EXPECT_EQ(*units.rbegin(), 63);
    // Eight lanes read neighbouring units, or every second one.
    for (int step = 1; step <= 2; ++step) {
      std::set<int> groups;
      for (int lane = 0; lane < 8; ++lane)
        groups.insert(wgmmaRowUnit(row, lane * step) % 8);
      EXPECT_EQ(groups.size(), 8u);
    }
  }
}

TEST(Wgmma, TilesFitTheSharedMemoryOfABlock) {
  const int limit = 227 * 1024;
  EXPECT_LE(wgmmaSharedBytes(128, 256, 4, 1), limit);
  EXPECT_LE(wgmmaSharedBytes(256, 128, 4, 1), limit);
  EXPECT_LE(wgmmaSharedBytes(128, 128, 6, 1), limit);
  EXPECT_LE(wgmmaSharedBytes(128, 128, 4, 2), limit);
  EXPECT_LE(wgmmaSharedBytes(128, 64, 8, 1), limit);
  // Swizzle atoms of 1024 bytes begin every part of every stage.
  EXPECT_EQ(wgmmaStageBytes(128, 64, 3) % 1024, 0);
}

/// Rows of eight consecutive threads, one unit of 16 bytes each: stmatrix and
/// ldmatrix meet in no bank, and units keep apart.
TEST(Wgmma, SwizzledRowsMeetInNoBank) {
  for (int rowBytes : {32, 64, 128}) {
    std::set<int> places;
    for (int unit = 0; unit < rowBytes / 16; ++unit)
      for (int first : {0, 8}) {
        std::set<int> banks;
        for (int row = first; row < first + 8; ++row) {
          int at = wgmmaSwizzledUnit(rowBytes, row, unit);
          places.insert(at);
          banks.insert(at % 128 / 16);
        }
        EXPECT_EQ(banks.size(), 8u) << rowBytes << " " << unit;
      }
    EXPECT_EQ(places.size(), size_t(rowBytes));
    EXPECT_EQ(*places.rbegin(), 15 * rowBytes + rowBytes - 16);
  }
}

/// The order in which threads with 4-byte results write halves of a row.
TEST(Wgmma, WideResultsAreStagedWithoutConflicts) {
  for (int rowBytes : {64, 128}) {
    int apart = rowBytes / 64;
    for (int g = 0; g < apart; ++g)
      for (int first : {0, 16}) {
        std::set<int> banks;
        for (int lane = first; lane < first + 16; ++lane) {
          int row = lane >> 2;
          bool late = row & (wgmmaRowBytes / rowBytes);
          int unit = (late ? g + apart : g) * 2 + (lane >> 1 & 1);
          banks.insert(
              (wgmmaSwizzledUnit(rowBytes, row, unit) + (lane & 1) * 8) % 128 /
              8);
        }
        EXPECT_EQ(banks.size(), 16u) << rowBytes << " " << g;
      }
  }
}

TEST(Wgmma, ResultBoxesDivideATile) {
  for (int n : {64, 96, 128, 160, 192, 208, 224, 256}) {
    EXPECT_EQ(n % wgmmaResultColumns(n, 2), 0);
    EXPECT_EQ(n % wgmmaResultColumns(n, 4), 0);
  }
  EXPECT_EQ(wgmmaResultColumns(256, 2), 64);
  EXPECT_EQ(wgmmaResultColumns(256, 4), 32);
  EXPECT_EQ(wgmmaResultColumns(256, 2 + 4), 16);
  EXPECT_EQ(wgmmaResultColumns(208, 2), 16);
  EXPECT_EQ(wgmmaResultColumns(256, 12), 0);
  WgmmaResultBox box = wgmmaResultBox(256, 2 + 4, 4);
  EXPECT_EQ(box.inner * 4, box.swizzle);
  EXPECT_EQ(box.outer, 16);
  // The same buffer, column by column.
  WgmmaResultBox columns = wgmmaResultBox(144, 2, 2, true);
  EXPECT_EQ(columns.inner, 16);
  EXPECT_EQ(columns.outer, wgmmaResultColumns(144, 2));
  EXPECT_EQ(columns.swizzle, 32);
}

/// Each tile once, for every group of rows and every shape.
TEST(Wgmma, TilesAreEachVisitedOnce) {
  for (int band : {4, 8, 16})
    for (int tilesM : {1, 7, 16, 37})
      for (int tilesN : {1, 5, 16}) {
        std::set<std::vector<int>> places;
        for (int id = 0; id < tilesM * tilesN * 2; ++id) {
          TilePlace place = wgmmaTileOf(id, tilesM, tilesN, band);
          EXPECT_LT(place.m, tilesM);
          EXPECT_LT(place.n, tilesN);
          places.insert({place.batch, place.m, place.n});
        }
        EXPECT_EQ(places.size(), size_t(tilesM * tilesN * 2));
      }
}

TEST(Wgmma, TilesEndInsideAndLeaveNothingOut) {
  for (int tile : {64, 96, 128, 192})
    for (int cluster : {1, 2})
      for (int size :
           {1, 7, 64, 96, 127, 128, 132, 192, 200, 384, 1000, 4104}) {
        int rows = 0;
        bool areWhole = size % 8 == 0 && size >= tile;
        for (int i = 0; i < wgmmaTilesM(size, tile, cluster) * cluster; ++i) {
          int row = wgmmaFirstOf(i, tile, size);
          EXPECT_LE(row, rows);
          EXPECT_TRUE(size < tile || row + tile <= size);
          EXPECT_TRUE(!areWhole || (row + tile <= size && row % 8 == 0));
          rows = std::max(rows, row + tile);
        }
        EXPECT_GE(rows, size);
      }
}

TEST(Wgmma, SchedulesThatFit) {
  const int limit = 227 * 1024;
  const WgmmaSchedule pingPong = WgmmaSchedule::PingPong,
                      cooperative = WgmmaSchedule::Cooperative;
  EXPECT_TRUE(wgmmaFits({128, 256, 4, 2}, 1, 1, limit));
  EXPECT_FALSE(wgmmaFits({128, 256, 5, 2}, 1, 1, limit)); // memory
  EXPECT_TRUE(wgmmaFits({128, 128, 4, 2}, 2, 1, limit));
  EXPECT_TRUE(wgmmaFits({128, 208, 4, 1, 1, pingPong}, 1, 1, limit));
  EXPECT_FALSE(wgmmaFits({128, 224, 4, 1, 1, pingPong}, 1, 1, limit));
  EXPECT_FALSE(wgmmaFits({128, 208, 4, 1, 1, pingPong}, 1, 2, limit));
  EXPECT_FALSE(wgmmaFits({64, 128, 4}, 1, 1, limit)); // one consumer's rows
  EXPECT_TRUE(wgmmaFits({64, 128, 4, 1, 1, pingPong}, 1, 1, limit));
  EXPECT_FALSE(wgmmaFits({128, 64, 4, 2}, 1, 1, limit)); // one box for two
  EXPECT_TRUE(wgmmaFits({192, 96, 3}, 2, 1, limit));
  EXPECT_FALSE(wgmmaFits({192, 128, 3}, 2, 1, limit)); // one instruction's
  EXPECT_TRUE(wgmmaFits({192, 160, 3, 1, 2}, 1, 1, limit));
  EXPECT_FALSE(wgmmaFits({128, 256, 4, 2}, 1, 2, limit, true));
  // Blocks that divide K: a consumer's rows for each, and no other cluster.
  EXPECT_TRUE(wgmmaFits({128, 256, 4, 1, 1, cooperative, 2}, 1, 1, limit));
  EXPECT_FALSE(wgmmaFits({128, 128, 4, 1, 1, pingPong, 2}, 1, 1, limit));
  EXPECT_FALSE(wgmmaFits({192, 128, 4, 1, 1, cooperative, 2}, 1, 1, limit));
  EXPECT_FALSE(wgmmaFits({128, 256, 4, 2, 1, cooperative, 2}, 1, 1, limit));
  EXPECT_FALSE(wgmmaFits({128, 128, 4, 1, 1, cooperative, 4}, 1, 1, limit));
  EXPECT_TRUE(wgmmaTf32x3Fits({128, 128, 4, 2}, 1, 1, limit));
  EXPECT_TRUE(wgmmaTf32x3Fits({128, 64, 4}, 2, 1, limit));
  EXPECT_FALSE(wgmmaTf32x3Fits({128, 128, 5}, 1, 1, limit)); // memory
  EXPECT_FALSE(wgmmaTf32x3Fits({128, 128, 2}, 2, 1, limit)); // registers
  EXPECT_EQ(wgmmaStagesIn(limit, 128, 256, 1, 8), 4);
  EXPECT_EQ(wgmmaStagesIn(limit, 128, 256, 1, 8, true), 3);
  EXPECT_EQ(wgmmaStagesIn(limit, 128, 128, 1, 8), 6);
  EXPECT_EQ(wgmmaStagesIn(limit, 192, 144, 1, 8), 4);
  EXPECT_EQ(wgmmaBlocks({128, 256, 4, 2}, 4096, 4096, 1), 512);
  EXPECT_EQ(wgmmaBlocks({128, 256, 4, 2}, 129, 1, 3), 6);
  EXPECT_EQ(wgmmaBlocks({128, 256, 4, 1, 1, cooperative, 2}, 129, 1, 3), 12);
}

TEST(Wgmma, LeadingTilesFillAStage) {
  for (int tileN : {128, 192, 256})
    for (int columns : {16, 32, 48, 64})
      for (bool pingPong : {false, true}) {
        int rows = wgmmaLeadRows(128, pingPong, columns);
        int depth = wgmmaLeadDepth(128, tileN, 1, rows, columns);
        WgmmaBox box = wgmmaBox(false, columns, 2);
        EXPECT_GE(depth, 1);
        EXPECT_EQ(128 % rows, 0);
        EXPECT_LE(depth * (rows * wgmmaRowBytes +
                           box.inner * box.outer * box.count * 2),
                  wgmmaStageBytes(128, tileN, 1));
      }
  EXPECT_EQ(wgmmaLeadRows(128, false, 16), 64);
  EXPECT_EQ(wgmmaLeadRows(128, false, 64), 128);
  EXPECT_EQ(wgmmaLeadDepth(128, 256, 1, 64, 16), 4);
  EXPECT_EQ(wgmmaLeadDepth(128, 256, 1, 128, 64), 2);
}

// Each leading tile is computed once, and under a tile of no later wave than
// that of any tile that waits for it.
TEST(Wgmma, LeadingTilesAreThereInTime) {
  const int tileM = 128;
  for (int m : {1, 64, 129, 520, 4097, 8192, 20000, 300000})
    for (int tilesN : {1, 2, 3, 10, 16, 43})
      for (int tileN : {128, 256})
        for (int cluster : {1, 2})
          for (auto [launched, rows] : {std::pair(1, 64),
                                        {7, 128},
                                        {57, 64},
                                        {66, 64},
                                        {66, 128},
                                        {132, 64}}) {
            int tilesM = wgmmaTilesM(m, tileM, cluster), band = 16 / cluster;
            WgmmaLeadOrder order(m, tilesM, tilesN, launched, tileM, tileN,
                                 cluster, band, rows);
            std::vector<int> waveOf(order.units, -1);
            for (int c = 0; c < launched; ++c) {
              int had = 0;
              auto lead = [&](int until, int wave) {
                for (; had < until; ++had) {
                  int unit = order.firstUnit(c) + had * order.leading;
                  ASSERT_LT(unit, order.units);
                  ASSERT_EQ(waveOf[unit], -1);
                  waveOf[unit] = wave;
                }
              };
              lead(order.unitsBy(c, 0), 0); // even without a tile
              for (int t = c; t < order.tiles; t += launched)
                lead(order.unitsBy(c, t / launched), t / launched);
            }
            for (int wave : waveOf)
              ASSERT_NE(wave, -1);
            int counted = 0;
            for (int flag = 0; flag <= order.flagOf(order.units - 1); ++flag)
              counted += order.counted(flag);
            ASSERT_EQ(counted, order.units);
            ASSERT_LT(order.flagOf(order.units - 1), wgmmaLeadFlags - 1);
            for (int t = 0; t < order.tiles; ++t) {
              int row = wgmmaTileOf(t, tilesM, tilesN, band).m;
              for (int unit = 0; unit < order.units &&
                                 order.flagOf(unit) <= order.flagOfRow(row);
                   ++unit)
                ASSERT_LE(waveOf[unit], t / launched);
            }
          }
}

// Clusters with a tile less lead where they have the time.
TEST(Wgmma, ClustersWithATileLessLead) {
  auto leading = [](int m, int tilesN) {
    WgmmaLeadOrder order(m, wgmmaTilesM(m, 128, 2), tilesN, 66, 128, 256, 2, 8,
                         64);
    return order.isFirst ? order.leading : 0;
  };
  EXPECT_EQ(leading(8192, 16), 16);
  EXPECT_EQ(leading(4096, 16), 8);
  EXPECT_EQ(leading(1024, 16), 2); // they have none
  EXPECT_EQ(leading(8192, 8), 0);
  EXPECT_EQ(leading(66 * 256, 4), 0); // all have as many
}

// A wave's clusters have tiles of 8192 x 4096 in one band of four, or in two.
TEST(Wgmma, LeadingTilesAreNotThereTooEarly) {
  WgmmaLeadOrder order(8192, 32, 16, 66, 128, 256, 2, 8, 64);
  ASSERT_TRUE(order.isFirst);
  const int units[] = {16, 32, 32, 48, 48, 64, 64, 64};
  for (int wave = 0; wave < 8; ++wave)
    EXPECT_EQ(order.unitsBy(wave), units[wave]) << wave;
}

TEST(Wgmma, BoxesFillATile) {
  for (int bytes : {2, 4})
    for (int tile : {64, 128, 256}) {
      WgmmaBox k = wgmmaBox(true, tile, bytes);
      EXPECT_EQ(k.inner * bytes, wgmmaRowBytes);
      EXPECT_EQ(k.outer * k.count, tile);
    }
  WgmmaBox outer = wgmmaBox(false, 256, 2);
  EXPECT_EQ(outer.inner * outer.count, 256);
  EXPECT_EQ(outer.outer, 64);
  // No wider than a narrow one.
  WgmmaBox narrow = wgmmaBox(false, 16, 2);
  EXPECT_EQ(narrow.inner, 16);
  EXPECT_EQ(narrow.count, 1);
  EXPECT_EQ(narrow.swizzle, 32);
}

TEST(Wgmma, BoxesOfAShortSegmentHoldNoMore) {
  EXPECT_EQ(wgmmaKBytes(2), 32);
  EXPECT_EQ(wgmmaKBytes(48), 64);
  EXPECT_EQ(wgmmaKBytes(66), wgmmaRowBytes);
  WgmmaBox k = wgmmaBox(true, 128, 2, 32);
  EXPECT_EQ(k.inner, 16);
  EXPECT_EQ(k.outer, 128);
  EXPECT_EQ(k.swizzle, 32);
  // Its rows lie along the outer axis.
  WgmmaBox outer = wgmmaBox(false, 128, 2, 32);
  EXPECT_EQ(outer.inner * outer.count, 128);
  EXPECT_EQ(outer.outer, 16);
  EXPECT_EQ(outer.swizzle, wgmmaRowBytes);
}

struct Sum2 {
  typedef float Accumulator;
  static constexpr int accumulators = 2;
  typedef Pack<RowOperand<float>> Operands;
  typedef Pack<Mapped<FullResult<float>>> Results;
  Operands operands;
  Results results;
  FUSEC_DEVICE static void apply(const float (&acc)[2], float bias, float &y) {
    y = acc[0] - acc[1] + bias;
  }
};

/// Fewer blocks than tiles, two accumulators, two segments, odd sizes.
TEST(Wgmma, PersistentBlocksCoverEveryTileOnce) {
  const int m = 300, n = 200, k[] = {19, 5};
  std::vector<f16> a[2], b[2][2];
  auto fill = [](std::vector<f16> &v, int size, int salt) {
    for (int i = 0; i < size; ++i)
      v.push_back(cast<f16>(float((i + salt) * 31 % 17 - 8)));
  };
  for (int s = 0; s < 2; ++s) {
    fill(a[s], m * k[s], s);
    for (int j = 0; j < 2; ++j)
      fill(b[s][j], n * k[s], 3 + s * 2 + j);
  }
  std::vector<float> bias(n, 0.5f), y(m * n, -1e30f);
  typedef Mapped<Matrix<f16, Major::K, 2>> Rows;
  typedef Mapped<Matrix<f16, Major::Outer, 2>> Columns;
  typedef Segment<Rows, Columns, 2> Seg;
  TensorMap map;
  auto segment = [&](int s) {
    return Seg{{{a[s].data(), k[s]}, &map},
               {{{b[s][0].data(), n}, &map}, {{b[s][1].data(), n}, &map}},
               k[s]};
  };
  Sum2 epilogue{{{bias.data()}}, {{{y.data(), {n}}, &map}}};
  auto check = [&](auto config, int blocks) {
    typedef decltype(config) Config;
    std::fill(y.begin(), y.end(), -1e30f);
    launch::coordinates.blocks[0] = blocks;
    for (int block = 0; block < blocks; ++block) {
      launch::coordinates.block[0] = block;
      gemmWgmma<Config>({m, n, 1}, epilogue, segment(0), segment(1));
      EXPECT_EQ(launch::block(), block);
    }
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        float want = 0.5f;
        for (int s = 0; s < 2; ++s)
          for (int i = 0; i < k[s]; ++i)
            want += cast<float>(a[s][row * k[s] + i]) *
                    (cast<float>(b[s][0][i * n + column]) -
                     cast<float>(b[s][1][i * n + column]));
        ASSERT_EQ(y[row * n + column], want) << row << " " << column;
      }
  };
  check(WgmmaConfig<tiles::Wgmma<128, 64, 64, 4, 1, true>>(), 5);
  // Of two blocks that divide K on a device, one has all of it.
  check(
      WgmmaSplitKConfig<tiles::Wgmma<128, 64, 64, 4>>(),
      wgmmaBlocks({128, 64, 4, 1, 1, WgmmaSchedule::Cooperative, 2}, m, n, 1));
}

} // namespace
