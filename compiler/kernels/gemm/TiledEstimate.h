// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the estimates of units share whose blocks compute tile after tile: simt,
// mma and wgmma.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_TILEDESTIMATE_H
#define FUSEC_COMPILER_KERNELS_GEMM_TILEDESTIMATE_H

#include "compiler/kernels/gemm/GemmUnits.h"

namespace fusec {

struct TiledKernel {
  int64_t tileM, tileN, tileK, stages, clusterM, clusterN;
  BlockShape block;
  double registers; // of a thread
};

/// The tiles of a launch, and those of the busiest of `units`: multiprocessors,
/// or blocks of a persistent grid.
struct TileRun {
  TileRun(const Target &target, const GemmSizes &sizes,
          const TiledKernel &kernel, double units);

  /// Clocks of a tile's products, of which a clock does so many flops.
  double getProductClocks(double flops) const {
    return 2 * area * kernel.tileK * stepsK / flops;
  }
  /// `products`: clocks of a tile's, which bound `by`.
  Overlap overlap(TimeBound by, double products) const;

  const Target &target;
  const GemmSizes &sizes;
  TiledKernel kernel;
  double area;       // of a tile, of all accumulators
  double tiles;      // of the launch
  double stepsK;     // of a tile
  double perUnit;    // tiles of the busiest
  double together;   // of these, in blocks beside each other
  double spread = 1; // times as long as L2 takes for whole lines
};

/// The part of a unit's peak that tiles of so large a size reach.
double getReached(llvm::ArrayRef<Reached> table, double size);

/// What an epilogue's reductions of rows take that nothing hides: `rounds`
/// tiles one after another, of which a thread has `points`, and the code, which
/// is fetched once.
void exposeReductions(Overlap &time, const Target &target,
                      const GemmSizes &sizes, double rounds, double points,
                      double codeClocks);

/// Instructions of an element that is loaded from shared memory and made.
double countInstructions(const MadeCosts &costs, const GemmSizes::Made &made);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_TILEDESTIMATE_H
