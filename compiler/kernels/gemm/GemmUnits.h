// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rooms of the matmul units: what each must know, one table each in a
// source of its own.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_GEMMUNITS_H
#define FUSEC_COMPILER_KERNELS_GEMM_GEMMUNITS_H

#include "compiler/kernels/gemm/EpilogueMaps.h"
#include "compiler/kernels/gemm/Gemm.h"

namespace fusec {

/// A matmul on a target, as the candidates of all units see it.
struct GemmProblem {
  GemmProblem(StepOp step, const Target &target, Products products,
              const MatmulIteration &iteration);

  /// Whether K is long enough for products of split factors.
  bool usesTf32x3(const GemmSizes &sizes) const;
  bool usesWgmma(const GemmSizes &sizes) const {
    return tensorCores || usesTf32x3(sizes);
  }
  /// Unless the kernel cannot evaluate the epilogue: one that reduces rows
  /// needs them in one tile.
  void add(GemmScheduleAttr schedule, const GemmSizes &sizes,
           llvm::SmallVectorImpl<Candidate> &to) const;

  StepOp step;
  const Target &target;
  const MatmulIteration &iteration;
  mlir::MLIRContext *context;
  mlir::Type type;
  int64_t element, accumulators;
  bool tensorCores, mayUseTf32x3;
};

// The candidates of each, the smallest last.
void addGemv(const GemmProblem &problem, const GemmSizes &sizes,
             llvm::SmallVectorImpl<Candidate> &to);
void addTiles(const GemmProblem &problem, const GemmSizes &sizes, bool aligned,
              llvm::SmallVectorImpl<Candidate> &to);
void addWgmma(const GemmProblem &problem, const GemmSizes &sizes,
              llvm::SmallVectorImpl<Candidate> &to);
/// The tensor cores' rows come in blocks of 64, their columns in sixteens:
/// where a few tiles cover M, columns fit it better.
void addSwapped(const GemmProblem &problem, const GemmSizes &sizes,
                llvm::SmallVectorImpl<Candidate> &to);
void addSkinny(const GemmProblem &problem, const GemmSizes &sizes,
               llvm::SmallVectorImpl<Candidate> &to);
void addResident(const GemmProblem &problem, const GemmSizes &sizes,
                 llvm::SmallVectorImpl<Candidate> &to);

/// Of all units, where named dimensions are `dim`: what may run where matrices
/// have tensor maps, or are at least aligned.
llvm::SmallVector<Candidate> getGemmCandidates(const GemmProblem &problem,
                                               int64_t dim, bool mapped,
                                               bool aligned);

/// A step under a variant; `iteration` is as its schedule computes it.
struct UnitStep {
  UnitStep(StepOp step, VariantAttr variant, const MatmulIteration &iteration,
           EpilogueMaps maps = {});

  Expr number(int64_t value) const {
    return Expr::constant(variant.getContext(), value);
  }
  /// Of all matrices of a batch.
  Expr countTiles(int64_t m, int64_t n) const;

  StepOp step;
  VariantAttr variant;
  GemmScheduleAttr schedule;
  const MatmulIteration &iteration;
  int64_t accumulators, element;
  EpilogueMaps maps; // for its launch
};

/// How A and B of each segment are copied to shared memory, and of a leading
/// product; nothing where they are read by pointers.
llvm::SmallVector<mlir::Attribute> chooseCopies(const UnitStep &at);

/// What the kernel's text calls: a template, and the `Config` that it takes, of
/// the constants that the text names.
struct UnitCall {
  std::string config, function;
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>> numbers;
  llvm::SmallVector<std::pair<llvm::StringRef, bool>> flags = {};
};

struct GemmUnitRoom {
  llvm::StringLiteral header; // of compiler/device/
  Estimate (*estimate)(const Target &target, const GemmSizes &sizes,
                       GemmScheduleAttr schedule);
  LaunchAttr (*getLaunch)(const UnitStep &step);
  UnitCall (*getCall)(const UnitStep &step);
};
extern const GemmUnitRoom simtUnit, mmaUnit, gemvUnit, wgmmaUnit, skinnyUnit,
    residentUnit;
const GemmUnitRoom &getGemmUnit(GemmUnit unit);

/// Of simt, mma and wgmma.
Estimate estimateTiled(const Target &target, const GemmSizes &sizes,
                       GemmScheduleAttr schedule);
/// What an epilogue's reductions of rows take that nothing hides: `rounds`
/// tiles one after another, of which a thread has `points`, and the code, which
/// is fetched once.
void exposeReductions(Overlap &time, const Target &target,
                      const GemmSizes &sizes, double rounds, double points,
                      double codeClocks);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_GEMMUNITS_H
