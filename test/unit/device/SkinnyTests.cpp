// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of the templates of narrow roots: shared memory, banks, and,
// on the host's plain loops, blocks over all tiles.

#include "gemm_resident.h"
#include "gemm_skinny.h"

#include "Tilings.h"
#include "gtest/gtest.h"

#include <set>
#include <vector>

namespace {

using namespace fusec;

const int limit = 227 * 1024;

/// A fragment's store: eight columns of four tokens that are two apart.
TEST(Skinny, FragmentsAreReceivedWithoutConflicts) {
  for (int blocks : {1, 2, 4})
    for (int cluster : {1, 2, 4, 8}) {
      std::set<int> banks;
      for (int lane = 0; lane < 32; ++lane)
        banks.insert(
            ((lane & 3) * 2 * skinnyPitch(blocks, cluster) + (lane >> 2)) % 32);
      EXPECT_EQ(banks.size(), 32u) << blocks << " " << cluster;
      EXPECT_EQ(skinnyPitch(blocks, cluster) % 4, 0);
    }
}

TEST(Skinny, StagesFillTheirShare) {
  for (int tokens = 8; tokens <= 64; tokens += 8)
    for (int blocks : {1, 2, 4})
      for (int cluster : {1, 2, 4, 8})
        for (int accumulators : {1, 2})
          for (int together : {1, 2})
            for (SkinnyStage stage :
                 {SkinnyStage{}, SkinnyStage{true}, skinnyMadeStage(64),
                  skinnyMadeStage(256)}) {
              int stages = skinnyStages(tokens, blocks, cluster, accumulators,
                                        together, stage);
              if (stages < 2)
                continue;
              int bytes = skinnySharedBytes(tokens, blocks, stages, cluster,
                                            accumulators, stage);
              EXPECT_LE(bytes, limit / together);
              EXPECT_TRUE(stages == 16 ||
                          skinnySharedBytes(tokens, blocks, stages + 1, cluster,
                                            accumulators,
                                            stage) > limit / together - 1024);
              // Atoms of the swizzle begin every stage and every part of it.
              EXPECT_EQ(skinnyStageBytes(tokens, blocks, accumulators, stage) %
                            1024,
                        0);
            }
  EXPECT_EQ(skinnyTokens(1), 8);
  EXPECT_EQ(skinnyTokens(17), 24);
  EXPECT_EQ(skinnyTokens(100), 64);
  EXPECT_EQ(skinnyGrid(16, 4096, 1, 16, 1, 2), 128);
  EXPECT_EQ(skinnyCluster(1024, 1, 132), 8);
  EXPECT_EQ(skinnyCluster(4096, 1, 132), 2);
  EXPECT_EQ(skinnyCluster(11008, 1, 132), 1);
}

TEST(Resident, StagesFillTheSharedMemory) {
  // The gate of 128 to 64 columns: both weights, three consumers.
  int staged = residentStagedBytes(64, 2);
  EXPECT_EQ(staged, 2048);
  EXPECT_EQ(residentConsumers(64, 2), 3);
  EXPECT_EQ(residentConsumers(128, 2), 2);
  int stages = residentStages(64, 2, 3, staged, 2);
  EXPECT_EQ(stages, 4);
  EXPECT_LE(residentSharedBytes(64, 2, stages, 3, staged, 2), limit);
  for (int tile : {16, 48, 64, 128, 256})
    for (int bytes : {2, 4})
      for (int k : {64, 128, 256}) {
        int blocksK = residentBlocksK(k, bytes);
        int perResult = residentStagedBytes(tile, bytes);
        int consumers = residentConsumers(tile, 1);
        int fit = residentStages(tile, 1, consumers, perResult, blocksK);
        if (fit > 0) {
          EXPECT_LE(
              residentSharedBytes(tile, 1, fit, consumers, perResult, blocksK),
              limit);
        }
        EXPECT_EQ(perResult % 1024, 0);
      }
  EXPECT_EQ(residentStages(256, 1, 2, residentStagedBytes(256, 4),
                           residentBlocksK(256, 4)),
            0);
}

TEST(Resident, ShapesThatTheTemplateTakes) {
  EXPECT_EQ(residentTileN(1, true), 16);
  EXPECT_EQ(residentTileN(1, false), 64);
  EXPECT_EQ(residentTileN(65, true), 96);
  EXPECT_EQ(residentTileN(65, false), 128);
  EXPECT_EQ(residentTileN(129, true), 192);
  EXPECT_EQ(residentTileN(200, true), 256);
  EXPECT_TRUE(isResidentLegal(64, 2, false, 2));
  EXPECT_TRUE(isResidentLegal(48, 2, true, 2));
  EXPECT_FALSE(isResidentLegal(48, 2, false, 2)); // A box is 64 columns.
  EXPECT_FALSE(isResidentLegal(64, 1, false, 4)); // tf32 is K-major.
  EXPECT_FALSE(isResidentLegal(256, 2, true, 2));
}

struct Gate {
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

/// y of both templates on the host, from matrices of small integers.
struct HostCase {
  int m, n, k;
  std::vector<f16> a, b[2];
  std::vector<float> bias, y;
  TensorMap map;

  HostCase(int m, int n, int k)
      : m(m), n(n), k(k), bias(n, 0.5f), y(size_t(m) * n, -1e30f) {
    auto value = [](int i) { return cast<f16>(float(i * 31 % 17 - 8)); };
    for (int i = 0; i < m * k; ++i)
      a.push_back(value(i));
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < k * n; ++i)
        b[j].push_back(value(i + 3 + j));
  }
  Gate epilogue() { return {{{bias.data()}}, {{{y.data(), {n}}, &map}}}; }
  void expectResult() {
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        float want = 0.5f;
        for (int i = 0; i < k; ++i)
          want +=
              cast<float>(a[row * k + i]) * (cast<float>(b[0][i * n + column]) -
                                             cast<float>(b[1][i * n + column]));
        ASSERT_EQ(y[row * n + column], want) << row << " " << column;
      }
  }
};

typedef Mapped<Matrix<f16, Major::K, 2>> Rows;
typedef Mapped<Matrix<f16, Major::Outer, 2>> Columns;

TEST(Resident, PersistentBlocksCoverEveryTileOnce) {
  HostCase c(300, 60, 19);
  Segment<Rows, Columns, 2> segment{
      {{c.a.data(), c.k}, &c.map},
      {{{c.b[0].data(), c.n}, &c.map}, {{c.b[1].data(), c.n}, &c.map}},
      c.k};
  launch::coordinates.blocks[0] = 3;
  for (int block = 0; block < 3; ++block) {
    launch::coordinates.block[0] = block;
    gemmResident<ResidentConfig<tiles::Resident<60, 64, 3, 4>>>(
        nullptr, {c.m, c.n, 1}, c.epilogue(), segment);
    EXPECT_EQ(launch::block(), block);
  }
  c.expectResult();
}

TEST(Skinny, ClustersCoverEveryTileOnce) {
  HostCase c(7, 200, 100);
  Segment<Rows, Columns, 2> segment{
      {{c.a.data(), c.k}, &c.map},
      {{{c.b[0].data(), c.n}, &c.map}, {{c.b[1].data(), c.n}, &c.map}},
      c.k};
  typedef SkinnyConfig<tiles::Skinny<8, 1, 64, 4, 4>> Config;
  int grid = skinnyGrid(c.m, c.n, 1, 8, 1, 4);
  launch::coordinates.blocks[0] = grid;
  for (int block = 0; block < grid; ++block) {
    launch::coordinates.block[0] = block;
    gemmSkinny<Config>({c.m, c.n, 1}, c.epilogue(), segment);
  }
  c.expectResult();
}

} // namespace
