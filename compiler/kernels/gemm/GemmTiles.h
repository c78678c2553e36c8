// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles that schedules of matmuls choose from, of each unit the largest
// first.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_GEMMTILES_H
#define FUSEC_COMPILER_KERNELS_GEMM_GEMMTILES_H

#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_config.h"
#include <cstdint>

namespace fusec {

/// Accumulator registers a thread may hold without spilling.
inline constexpr int64_t maxThreadAccumulators = 128;

struct GemmTile {
  int64_t m, n, k, divideM, divideN, stages;
  /// Of mma: whether copies of single elements leave enough registers.
  bool anyAlignment = false;
};

// compiler/device/README.md lists what each reaches.
inline constexpr GemmTile mmaTiles[] = {
    {128, 256, 64, 2, 4, 3},    {128, 128, 64, 2, 4, 3},
    {128, 64, 64, 4, 2, 3},     {32, 64, 64, 1, 4, 4},
    {16, 128, 64, 1, 4, 4},     {64, 64, 64, 2, 2, 3, true},
    {32, 32, 64, 2, 2, 4, true}};
inline constexpr GemmTile mmaTiles32[] = {
    // tf32: half as many elements a row of shared memory
    {128, 128, 32, 2, 4, 3},
    {128, 64, 32, 4, 2, 3},
    {64, 64, 32, 2, 2, 3, true},
    {32, 32, 32, 2, 2, 4, true}};
// fp32 as three products of tf32: what a thread holds allows 16 warps.
inline constexpr GemmTile tf32x3Tiles[] = {{128, 128, 32, 4, 4, 3},
                                           {128, 128, 32, 2, 4, 3},
                                           {128, 64, 32, 4, 2, 3},
                                           {64, 64, 32, 2, 2, 3, true},
                                           {32, 32, 32, 2, 2, 4, true}};
inline constexpr GemmTile simtTiles[] = {{128, 128, 16, 8, 8, 2},
                                         {128, 64, 16, 8, 4, 2},
                                         {64, 64, 16, 4, 4, 2},
                                         {32, 32, 16, 2, 2, 2}};

// Behind the others where rows are reduced: wide ones of fewer rows. The last
// of a width are for any alignment and two accumulators.
inline constexpr GemmTile mmaRowTiles[] = {{64, 256, 64, 2, 4, 2},
                                           {64, 128, 64, 2, 4, 3},
                                           {16, 256, 64, 1, 8, 2, true},
                                           {16, 128, 64, 1, 8, 2, true},
                                           {16, 64, 64, 1, 4, 4, true}};
inline constexpr GemmTile mmaRowTiles32[] = {{64, 256, 32, 2, 4, 2},
                                             {64, 128, 32, 2, 4, 3},
                                             {16, 256, 32, 1, 8, 2, true},
                                             {16, 128, 32, 1, 8, 2, true},
                                             {16, 64, 32, 1, 4, 4, true}};
inline constexpr GemmTile tf32x3RowTiles[] = {{64, 128, 32, 2, 4, 3},
                                              {16, 256, 32, 1, 16, 2, true},
                                              {16, 128, 32, 1, 8, 3, true},
                                              {16, 64, 32, 1, 4, 4, true}};
inline constexpr GemmTile simtRowTiles[] = {
    {32, 256, 16, 4, 8, 2}, {32, 128, 16, 4, 4, 2}, {32, 64, 16, 4, 4, 2}};

// Of wgmma: stages and the number of blocks follow from the target.
// Those that were fastest somewhere on a grid of shapes.
inline constexpr WgmmaTiling wgmmaTilings[] = {
    {128, 128, 0, 1, 1, WgmmaSchedule::PingPong},
    {128, 128, 0, 2, 1, WgmmaSchedule::PingPong},
    {128, 160, 0, 1, 1, WgmmaSchedule::PingPong},
    {128, 160, 0, 2, 1, WgmmaSchedule::PingPong},
    {128, 96, 0, 1, 1, WgmmaSchedule::PingPong},
    {128, 96, 0, 2, 1, WgmmaSchedule::PingPong},
    {128, 64, 0, 1, 1, WgmmaSchedule::PingPong},
    {64, 256, 0, 2, 1, WgmmaSchedule::PingPong},
    {64, 160, 0, 1, 1, WgmmaSchedule::PingPong},
    {64, 128, 0, 1, 1, WgmmaSchedule::PingPong},
    {64, 96, 0, 1, 1, WgmmaSchedule::PingPong},
    {64, 64, 0, 1, 1, WgmmaSchedule::PingPong},
    {128, 256, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 256, 0, 2, 1, WgmmaSchedule::Cooperative},
    {128, 192, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 128, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 128, 0, 2, 1, WgmmaSchedule::Cooperative},
    {128, 96, 0, 1, 1, WgmmaSchedule::Cooperative},
    {128, 64, 0, 1, 1, WgmmaSchedule::Cooperative},
    {192, 128, 0, 1, 1, WgmmaSchedule::Cooperative}};

// With split factors.
inline constexpr WgmmaTiling wgmmaTf32x3Tilings[] = {
    {128, 128, 0, 1, 1}, {128, 128, 0, 2, 1}, {128, 64, 0, 1, 1}};

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_GEMMTILES_H
