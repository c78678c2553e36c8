// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of a wgmma tile, the boxes of its tensor maps, the layout of
// its shared memory and what fits. Plain C++ arithmetic: generated kernels, the
// scheduler, the emitter and the host tests share it.

#ifndef FUSEC_KERNELS_GEMM_WGMMA_CONFIG_H
#define FUSEC_KERNELS_GEMM_WGMMA_CONFIG_H

#include "gemm_config.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// How the consumer warpgroups share the tiles of a block. Cooperative: all on
/// one tile, a part of its rows each. PingPong: whole tiles in turn, the
/// epilogue of one under the matmul of the next.
enum class WgmmaSchedule { Cooperative, PingPong };

/// One row of a swizzle atom: a tile's extent along K, and the widest box of an
/// outer-major matrix, are this many bytes.
constexpr int wgmmaRowBytes = 128;
constexpr int wgmmaMaxAccumulators = 4;

/// Whether an instruction has so many columns, or rows of A where the weights
/// are its 64-row side: those that primitive::Wgmma is written out for.
constexpr FUSEC_DEVICE bool isWgmmaWidth(int columns) {
  return columns >= 8 && columns <= 256 &&
         columns % (columns <= 64 ? 8 : 16) == 0;
}

/// Consumer warpgroups of a block, 64 or 128 rows each. One producer warpgroup
/// comes on top.
constexpr FUSEC_DEVICE int wgmmaConsumers(int tileM) {
  return tileM == 192 ? 3 : 2;
}
constexpr FUSEC_DEVICE int wgmmaThreadsOf(int tileM) {
  return 128 * (1 + wgmmaConsumers(tileM));
}

/// Registers of a thread of the producer and of the consumers: what 65,536 are
/// enough for, in steps of eight. A producer of two products needs more, and so
/// does one whose warps split factors.
constexpr FUSEC_DEVICE int wgmmaProducerRegisters(bool isFull = false) {
  return isFull ? 40 : 24;
}
constexpr FUSEC_DEVICE int wgmmaConsumerRegisters(int tileM,
                                                  bool isFull = false) {
  return tileM == 192 ? (isFull ? 152 : 160) : isFull ? 232 : 240;
}

/// A schedule as the host chooses it. `tileN` counts the columns of one
/// accumulator. The blocks of a cluster have neighbouring tiles along M, and
/// each loads its share of their B for all; or along N, and share A; or along K
/// one tile, and multiply a part of K each.
struct WgmmaTiling {
  int tileM, tileN, stages;
  int clusterM = 1, clusterN = 1;
  WgmmaSchedule schedule = WgmmaSchedule::Cooperative;
  int clusterK = 1;
};

/// Blocks of 64 rows that a consumer accumulates.
constexpr FUSEC_DEVICE int wgmmaBlocksM(int tileM, WgmmaSchedule schedule) {
  return schedule == WgmmaSchedule::PingPong
             ? tileM / 64
             : tileM / 64 / wgmmaConsumers(tileM);
}
/// Registers of a consumer thread that hold accumulators.
constexpr FUSEC_DEVICE int wgmmaAccumulatorRegisters(int tileM, int tileN,
                                                     WgmmaSchedule schedule,
                                                     int accumulators) {
  return accumulators * wgmmaBlocksM(tileM, schedule) * tileN / 2;
}

/// Whether the blocks of a cluster can share the load of so many rows or
/// columns: at least a box for each.
constexpr FUSEC_DEVICE bool wgmmaShares(int tile, int cluster) {
  return cluster == 1 || (cluster == 2 && tile > 64);
}

/// Tiles, at most, beside each other whose blocks read a tile of weights at
/// about the same time and nobody after them.
constexpr int wgmmaStreamedRows = 8;

/// Of tiles of wgmma: tileM, tileN, tileK, stages, clusterM, clusterN, band
/// (rows of tiles that are walked together) and flags. `pingPong`:
/// WgmmaSchedule::PingPong. `swapped`: the product is another one's transposed,
/// whose weights are A; of others they are B. `streamed`: up to
/// wgmmaStreamedRows weights leave L2 first: what they replace is then their
/// own, not what waits to be written back. `early`: those of the first segment
/// are constant; its first stages are on their way while the kernel still waits
/// for earlier ones, with launch::awaitPrevious().
template <class Tiling> struct WgmmaConfig : Tiling {
  /// Blocks that share what they load, and those of a cluster.
  static constexpr int sharing = Tiling::clusterM * Tiling::clusterN;
  static constexpr int cluster = sharing, clusterK = 1;
  /// Of clusters; of a Tiling it counts tiles.
  static constexpr int band = Tiling::band / Tiling::clusterM;
  static constexpr bool splitsFactors = false, makesA = false;
  /// Of A's rows in a stage.
  static constexpr int rowBytesA = wgmmaRowBytes;
  static constexpr WgmmaSchedule schedule =
      Tiling::pingPong ? WgmmaSchedule::PingPong : WgmmaSchedule::Cooperative;
  static constexpr int consumers = wgmmaConsumers(Tiling::tileM);
  static constexpr int blocksM = wgmmaBlocksM(Tiling::tileM, schedule);
  static constexpr int threads = wgmmaThreadsOf(Tiling::tileM);
  static_assert(blocksM == 1 || blocksM == 2, "64 or 128 rows a consumer");
  static_assert(!Tiling::pingPong || Tiling::tileM <= 128,
                "a tile in one consumer");
  static_assert(Tiling::tileN >= 64 && isWgmmaWidth(Tiling::tileN),
                "a width of the instruction");
  static_assert(wgmmaShares(Tiling::tileN, Tiling::clusterM) &&
                    wgmmaShares(Tiling::tileM, Tiling::clusterN) &&
                    sharing <= 2,
                "one block, or a pair that shares whole boxes");
  static_assert(!Tiling::streamed || (Tiling::swapped ? Tiling::clusterN
                                                      : Tiling::clusterM) == 1,
                "weights that one block reads");
  static_assert(Tiling::stages >= 2, "a stage to read and one to fill");
};

/// The same for two blocks that divide the K of a tile, see
/// gemm_wgmma_split_k.h. Each consumer of a block has rows of its own.
template <class Tiling> struct WgmmaSplitKConfig : WgmmaConfig<Tiling> {
  static constexpr int clusterK = 2, cluster = 2;
  static_assert(WgmmaConfig<Tiling>::sharing == 1, "two blocks along K alone");
  static_assert(!Tiling::pingPong && Tiling::tileM == 128,
                "as many consumers as blocks, with 64 rows each");
};

/// The same for fp32 by 3xTF32, see gemm_wgmma_tf32x3.h.
template <class Tiling> struct WgmmaTf32x3Config : WgmmaConfig<Tiling> {
  static constexpr bool splitsFactors = true;
  static_assert(!Tiling::pingPong && !Tiling::swapped,
                "a tile of all consumers, and B to split in shared memory");
};
/// The same where A is made in registers of a matrix whose rows take
/// `sourceBytes` in a stage, see gemm_wgmma_made.h.
template <class Tiling> struct WgmmaMadeConfig : WgmmaConfig<Tiling> {
  static constexpr bool makesA = true;
  static constexpr int rowBytesA = Tiling::sourceBytes;
  static_assert(WgmmaConfig<Tiling>::blocksM == 1,
                "two sets of the fragments of a consumer's 64 rows");
};
/// What a stage holds of B, in tiles: with split factors their low parts, too.
/// Takes the place of `accumulators` wherever memory is laid out.
constexpr FUSEC_DEVICE int wgmmaStored(int accumulators, bool splitsFactors) {
  return splitsFactors ? 2 * accumulators : accumulators;
}

/// Bytes of K that the boxes of a segment hold: a row of the swizzle, or less
/// where the whole segment is shorter. 32 are one step of the tensor cores.
constexpr FUSEC_DEVICE int wgmmaKBytes(long long segmentBytes) {
  return segmentBytes <= 32 ? 32 : segmentBytes <= 64 ? 64 : wgmmaRowBytes;
}

/// Sizes of the box of a matrix's tensor map, innermost first, and its swizzle
/// in bytes. `tile` is what one block loads: tileM / clusterN rows of A, tileN
/// / clusterM columns of B. Major::K: one box. Major::Outer: as many boxes as
/// cover it, no wider than it.
struct WgmmaBox {
  int inner, outer, count, swizzle;
};
constexpr FUSEC_DEVICE WgmmaBox wgmmaBox(bool alongK, int tile,
                                         int elementBytes,
                                         int kBytes = wgmmaRowBytes) {
  int width = wgmmaKBytes((long long)tile * elementBytes);
  int row = width / elementBytes, k = kBytes / elementBytes;
  return alongK ? WgmmaBox{k, tile, 1, kBytes}
                : WgmmaBox{row, k, tilesOf(tile, row), width};
}

/// `rowBytesA`: of A's rows in a stage, here and wherever memory is laid out.
constexpr FUSEC_DEVICE int wgmmaStageBytes(int tileM, int tileN,
                                           int accumulators,
                                           int rowBytesA = wgmmaRowBytes) {
  return tileM * rowBytesA + accumulators * tileN * wgmmaRowBytes;
}

/// Each stage has three barriers, and there are two that order consumers.
constexpr FUSEC_DEVICE int wgmmaBarrierBytes(int stages) {
  return 24 * stages + 16;
}

/// A warp's part of the staging: 16 rows of accumulators, or two buffers of 16
/// rows of results.
constexpr int wgmmaStagingBytes = 4096;

/// Columns of one accumulator that a warp stages at once where its results are
/// not stored by tensor map: 16 rows of all accumulators in 4 KiB.
constexpr FUSEC_DEVICE int wgmmaStagedColumns(int accumulators,
                                              int tileN = 64) {
  int columns = accumulators == 1 ? 64 : accumulators == 2 ? 32 : 16;
  while (tileN % columns != 0)
    columns /= 2;
  return columns;
}

/// Columns that a warp stores at once by the tensor maps of its results, whose
/// elements (2 or 4 bytes) take `bytes` together; 0 if a buffer holds too few.
constexpr FUSEC_DEVICE int wgmmaResultColumns(int tileN, int bytes) {
  int columns = 64;
  while (columns >= 16 &&
         (tileN % columns != 0 || columns * bytes > wgmmaRowBytes))
    columns /= 2;
  return columns >= 16 ? columns : 0;
}
/// The box of the tensor map of a result, or of an operand that varies with row
/// and column, and its swizzle in bytes: the width of the box. `bytes` is the
/// sum over all results, or over all such operands if that is more.
/// `alongRows`: the elements of a column, of 16 bits, lie one after another.
struct WgmmaResultBox {
  int inner, outer, swizzle;
};
constexpr FUSEC_DEVICE WgmmaResultBox wgmmaResultBox(int tileN, int bytes,
                                                     int elementBytes,
                                                     bool alongRows = false) {
  int columns = wgmmaResultColumns(tileN, bytes);
  return alongRows ? WgmmaResultBox{16, columns, 16 * elementBytes}
                   : WgmmaResultBox{columns, 16, columns * elementBytes};
}

/// Where the parts of the dynamic shared memory begin: the ring at 0, then the
/// staging of each consumer warp, then the barriers.
constexpr FUSEC_DEVICE int wgmmaStagingOffset(int tileM, int tileN, int stages,
                                              int accumulators,
                                              int rowBytesA = wgmmaRowBytes) {
  return stages * wgmmaStageBytes(tileM, tileN, accumulators, rowBytesA);
}
constexpr FUSEC_DEVICE int wgmmaBarrierOffset(int tileM, int tileN, int stages,
                                              int accumulators,
                                              int rowBytesA = wgmmaRowBytes) {
  return wgmmaStagingOffset(tileM, tileN, stages, accumulators, rowBytesA) +
         4 * wgmmaConsumers(tileM) * wgmmaStagingBytes;
}
/// Where the tiles of mapped operands of the epilogue begin: two buffers of a
/// warp, like those of results; behind those of all warps two barriers each.
constexpr FUSEC_DEVICE int wgmmaOperandOffset(int tileM, int tileN, int stages,
                                              int accumulators,
                                              int rowBytesA = wgmmaRowBytes) {
  return tilesOf(
             wgmmaBarrierOffset(tileM, tileN, stages, accumulators, rowBytesA) +
                 wgmmaBarrierBytes(stages),
             1024) *
         1024;
}
constexpr FUSEC_DEVICE int wgmmaSharedBytes(int tileM, int tileN, int stages,
                                            int accumulators,
                                            bool hasMappedOperands = false,
                                            int rowBytesA = wgmmaRowBytes) {
  int warps = 4 * wgmmaConsumers(tileM);
  return hasMappedOperands ? wgmmaOperandOffset(tileM, tileN, stages,
                                                accumulators, rowBytesA) +
                                 warps * (wgmmaStagingBytes + 16)
                           : wgmmaBarrierOffset(tileM, tileN, stages,
                                                accumulators, rowBytesA) +
                                 wgmmaBarrierBytes(stages);
}
/// The most stages, at most `limit`, whose memory `bytes` hold; fewer than two
/// do not run.
constexpr FUSEC_DEVICE int wgmmaStagesIn(int bytes, int tileM, int tileN,
                                         int accumulators, int limit,
                                         bool hasMappedOperands = false,
                                         int rowBytesA = wgmmaRowBytes) {
  int stages = limit;
  while (stages > 0 && wgmmaSharedBytes(tileM, tileN, stages, accumulators,
                                        hasMappedOperands, rowBytesA) > bytes)
    --stages;
  return stages;
}

/// Registers that a consumer needs beside its accumulators, by the number of
/// the epilogue's operands that vary, of 32 bits twice; measured, with an
/// activation.
constexpr FUSEC_DEVICE int wgmmaOtherRegisters(int operands) {
  return operands <= 1 ? 32 : 64;
}

/// Whether a schedule runs: the widths of the instruction, whole parts of a
/// cluster, accumulators without spills, shared memory of a block.
constexpr FUSEC_DEVICE bool wgmmaFits(const WgmmaTiling &tiling,
                                      int accumulators, int operands,
                                      int sharedBytes,
                                      bool hasMappedOperands = false,
                                      int rowBytesA = wgmmaRowBytes) {
  bool pingPong = tiling.schedule == WgmmaSchedule::PingPong;
  int m = tiling.tileM, n = tiling.tileN;
  bool rows = m == 128 || (pingPong ? m == 64 : m == 192 || m == 256);
  bool columns = n >= 64 && isWgmmaWidth(n);
  int cluster = tiling.clusterM * tiling.clusterN * tiling.clusterK;
  bool splits = tiling.clusterK == 1 || (m == 128 && !pingPong);
  int registers =
      wgmmaAccumulatorRegisters(m, n, tiling.schedule, accumulators) +
      wgmmaOtherRegisters(operands);
  // Those of one instruction have to fit what a thread starts with.
  int width = isWgmmaWidth(accumulators * n) ? accumulators * n : n;
  bool starts = width / 2 + 26 <= 65536 / wgmmaThreadsOf(m);
  return rows && columns && splits && starts && accumulators >= 1 &&
         accumulators <= wgmmaMaxAccumulators && cluster <= 2 &&
         wgmmaShares(n, tiling.clusterM) && wgmmaShares(m, tiling.clusterN) &&
         tiling.stages >= 2 && registers <= wgmmaConsumerRegisters(m) &&
         wgmmaSharedBytes(m, n, tiling.stages, accumulators, hasMappedOperands,
                          rowBytesA) <= sharedBytes;
}

/// The same where A is made in registers: two sets of fragments, and what they
/// are made of.
constexpr FUSEC_DEVICE bool
wgmmaMadeFits(const WgmmaTiling &tiling, int accumulators, int operands,
              int sharedBytes, bool hasMappedOperands, int rowBytesA) {
  int registers = wgmmaAccumulatorRegisters(tiling.tileM, tiling.tileN,
                                            tiling.schedule, accumulators);
  return wgmmaBlocksM(tiling.tileM, tiling.schedule) == 1 &&
         tiling.clusterK == 1 &&
         registers + wgmmaOtherRegisters(operands) + 48 <=
             wgmmaConsumerRegisters(tiling.tileM) &&
         wgmmaFits(tiling, accumulators, operands, sharedBytes,
                   hasMappedOperands, rowBytesA);
}

/// The same with split factors: cooperative tiles of 128 rows, whose consumers
/// hold sums twice and 32 registers of A besides. B is K-major.
constexpr FUSEC_DEVICE bool wgmmaTf32x3Fits(const WgmmaTiling &tiling,
                                            int accumulators, int operands,
                                            int sharedBytes,
                                            bool hasMappedOperands = false) {
  return tiling.tileM == 128 && tiling.schedule == WgmmaSchedule::Cooperative &&
         tiling.clusterK == 1 && accumulators * tiling.tileN <= 128 &&
         wgmmaFits(tiling, wgmmaStored(accumulators, true), operands,
                   sharedBytes, hasMappedOperands);
}

/// Byte offset of four floats in a warp's staging of one accumulator: `unit`
/// counts groups of four columns. The XOR keeps the fragments' stores of 8
/// bytes and the runs' loads of 16 from meeting in a bank.
constexpr FUSEC_DEVICE int wgmmaStagedUnit(int columns, int row, int unit) {
  int flip = columns == 64 ? unit >> 3 & 1 : row & 1;
  int pairs = columns / 8 < 4 ? columns / 8 : 4;
  return (row * (columns / 4) + (unit ^ (row & (pairs - 1)) * 2 ^ flip)) * 16;
}

/// Byte offset of 16 bytes in a tile that the copy engine reads with a swizzle
/// of its row's width (32, 64 or 128 bytes).
constexpr FUSEC_DEVICE int wgmmaSwizzledUnit(int rowBytes, int row, int unit) {
  return row * rowBytes +
         (unit ^ (row * rowBytes / 128 & (rowBytes / 16 - 1))) * 16;
}

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_GEMM_WGMMA_CONFIG_H
