// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedules that a step of the gemm family can have at one size, with what
// they are expected to take.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_GEMMCANDIDATES_H
#define FUSEC_COMPILER_KERNELS_GEMM_GEMMCANDIDATES_H

#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/gemm/Gemm.h"
#include "compiler/kernels/gemm/GemmTiles.h"

namespace fusec {

class GemmCandidates {
public:
  GemmCandidates(StepOp step, const Target &target, Products products,
                 const MatmulIteration &iteration);

  /// Where named dimensions are `dim`: what may run where matrices have tensor
  /// maps, or are at least aligned.
  llvm::SmallVector<Candidate> getAt(int64_t dim, bool mapped,
                                     bool aligned) const;
  bool usesWgmma(const GemmSizes &sizes) const {
    return tensorCores || usesTf32x3(sizes);
  }

private:
  /// Whether K is long enough for products of split factors.
  bool usesTf32x3(const GemmSizes &sizes) const;
  void addGemv(const GemmSizes &sizes,
               llvm::SmallVectorImpl<Candidate> &to) const;
  void addTiles(const GemmSizes &sizes, bool aligned,
                llvm::SmallVectorImpl<Candidate> &to) const;
  void addTiles(GemmUnit unit, llvm::ArrayRef<GemmTile> tiles,
                const GemmSizes &sizes, bool aligned,
                llvm::SmallVectorImpl<Candidate> &to) const;
  void addWgmma(const GemmSizes &sizes,
                llvm::SmallVectorImpl<Candidate> &to) const;
  void addSwapped(const GemmSizes &sizes,
                  llvm::SmallVectorImpl<Candidate> &to) const;
  llvm::SmallVector<int> getSwappedTokens(int64_t m) const;
  void addSkinny(const GemmSizes &sizes,
                 llvm::SmallVectorImpl<Candidate> &to) const;
  void addSkinny(const GemmSizes &sizes, int64_t tokens,
                 llvm::SmallVectorImpl<Candidate> &to) const;
  void addResident(const GemmSizes &sizes,
                   llvm::SmallVectorImpl<Candidate> &to) const;
  void add(GemmScheduleAttr schedule, const GemmSizes &sizes,
           llvm::SmallVectorImpl<Candidate> &to) const;
  /// Whether the kernel can evaluate the epilogue: one that reduces rows needs
  /// them in one tile.
  bool holdsRows(GemmScheduleAttr schedule) const;
  bool isWideAlongK(bool narrowN) const;

  StepOp step;
  const Target &target;
  const MatmulIteration &iteration;
  mlir::MLIRContext *context;
  mlir::Type type;
  int64_t element, accumulators;
  bool tensorCores, mayUseTf32x3;
};

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_GEMMCANDIDATES_H
