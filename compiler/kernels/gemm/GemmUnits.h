// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rooms of the matmul units: what each must know, one table each in a
// source of its own.

#ifndef FUSEC_COMPILER_KERNELS_GEMM_GEMMUNITS_H
#define FUSEC_COMPILER_KERNELS_GEMM_GEMMUNITS_H

#include "compiler/analysis/MappedMatrix.h"
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
  /// Whether tiles of so many columns hold whole rows, where the epilogue
  /// reduces these.
  bool holdsRows(int64_t columns) const;
  void add(GemmScheduleAttr schedule, const GemmSizes &sizes,
           llvm::SmallVectorImpl<Candidate> &to) const {
    to.push_back({schedule, estimateGemm(target, sizes, schedule)});
  }

  StepOp step;
  const Target &target;
  const MatmulIteration &iteration;
  mlir::MLIRContext *context;
  mlir::Type type;
  int64_t element, accumulators;
  bool tensorCores, mayUseTf32x3;
};

/// Accumulator registers a thread may hold without spilling.
inline constexpr int64_t maxThreadAccumulators = 128;

/// Which tiles of an epilogue move through tensor maps; what is missing is read
/// and written by pointer.
struct EpilogueMaps {
  llvm::SmallVector<TileMapAttr> operands, results;
};

/// A step under a variant; `iteration` is as its schedule computes it: swapped,
/// where that is.
struct UnitStep {
  UnitStep(StepOp step, VariantAttr variant, const MatmulIteration &iteration);

  Expr number(int64_t value) const {
    return Expr::constant(variant.getContext(), value);
  }
  /// Of all matrices of a batch.
  Expr countTiles(int64_t m, int64_t n) const;
  /// How a tensor map moves a tile of the epilogue; failure where none does.
  mlir::FailureOr<MappedMatrix> analyzeTile(BufferOp buffer,
                                            const TileAccess &access) const;
  /// Bytes that a miss of the L2 cache fetches, at most.
  static constexpr int64_t widestPromotion = 256;
  /// A tensor map's copy of a matrix to shared memory.
  CopyAttr getCopy(int64_t tile, int64_t kBytes,
                   int64_t promotion = widestPromotion,
                   bool inTurn = false) const;
  /// The same of what an operand is made of: as it is in memory, in boxes of
  /// whole rows of the swizzle, where a row of a stage takes `rowBytes`.
  CopyAttr getSourceCopy(int64_t tile, int64_t rowBytes) const;

  StepOp step;
  VariantAttr variant;
  GemmScheduleAttr schedule;
  const MatmulIteration &iteration;
  int64_t accumulators, element;
  EpilogueMaps maps; // for its launch
};

/// What a block takes of a multiprocessor.
struct BlockShape {
  int64_t threads, sharedBytes;
};
/// Of a unit whose blocks compute a tile each; `getBlock`: of a schedule, by
/// how many accumulators there are and the bytes of an element.
template <typename Schedule, BlockShape (*getBlock)(Schedule, int64_t, int64_t)>
LaunchAttr getTileLaunch(const UnitStep &at) {
  auto schedule = llvm::cast<Schedule>(at.schedule);
  BlockShape block = getBlock(schedule, at.accumulators, at.element);
  return LaunchAttr::get(
      at.countTiles(schedule.getTileM(), schedule.getTileN()), block.threads,
      block.sharedBytes);
}

/// What the kernel's text calls: a template, and the `Config` that it takes, of
/// the constants that the text names.
struct UnitCall {
  std::string config, function;
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>> numbers;
  llvm::SmallVector<std::pair<llvm::StringRef, bool>> switches = {};
  /// Whether the function's first argument are words that are zero before and
  /// after the launch.
  bool takesFlags = false;
};

struct GemmUnit {
  mlir::TypeID schedule;      // of the attribute
  llvm::StringLiteral header; // of compiler/device/
  /// Adds the schedules that fit, the smallest last.
  void (*addCandidates)(const GemmProblem &problem, const GemmSizes &sizes,
                        llvm::SmallVectorImpl<Candidate> &to);
  Estimate (*estimate)(const Target &target, const GemmSizes &sizes,
                       GemmScheduleAttr schedule);
  LaunchAttr (*getLaunch)(const UnitStep &step);
  UnitCall (*getCall)(const UnitStep &step);
  /// How A and B of each segment, and of a leading product, are copied to
  /// shared memory by tensor maps; null where they are read by pointers.
  llvm::SmallVector<mlir::Attribute> (*chooseCopies)(const UnitStep &) =
      nullptr;
  /// Null where tiles of the epilogue move by pointers.
  EpilogueMaps (*chooseMaps)(const UnitStep &step) = nullptr;
  /// Whether it reads constant weights before it waits for the kernel before.
  bool prefetches = false;
  /// Whether an operand may be made of another matrix.
  bool makes = false;

  bool usesTensorMaps() const { return chooseCopies; }
};
extern const GemmUnit simtUnit, mmaUnit, gemvUnit, wgmmaUnit, skinnyUnit,
    residentUnit;
const GemmUnit &getGemmUnit(GemmScheduleAttr schedule);

/// Of all units, where named dimensions are `dim`: what may run where matrices
/// have tensor maps, or are at least aligned.
llvm::SmallVector<Candidate> getGemmCandidates(const GemmProblem &problem,
                                               int64_t dim, bool mapped,
                                               bool aligned);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_GEMM_GEMMUNITS_H
