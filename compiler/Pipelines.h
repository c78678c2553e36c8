// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages of a compilation, in order. Each leaves the module at one level of
// the dialect, which is verified.

#ifndef FUSEC_COMPILER_PIPELINES_H
#define FUSEC_COMPILER_PIPELINES_H

#include "compiler/schedule/TuningFile.h"
#include "ir/reference/FoldConstants.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <string>

namespace mlir {
class PassManager;
} // namespace mlir

namespace fusec {

struct PipelineOptions {
  /// Names of compiler/schedule/Targets.h.
  llvm::SmallVector<std::string> targets;
  /// Off: every op is a kernel of its own.
  bool fuse = true;
  /// `onnx`: every op rounds its result to its own type, as the standard says;
  /// else chains of 16-bit ops compute in fp32 inside a kernel.
  std::string numerics = "default";
  /// How fp32 matmuls multiply: `ieee`, `tf32`, `fp16` or `bf16`.
  std::string precision = "ieee";
  /// Schedules that a variant keeps; 0: all.
  unsigned candidates = 5;
  /// Measured schedules; null: none.
  std::shared_ptr<const TuningFile> tuning;
  /// Of all stages together.
  std::shared_ptr<reference::FoldBudget> foldBudget =
      std::make_shared<reference::FoldBudget>();
  /// For tests: reductions join their products wherever there is a kernel.
  bool joinAlways = false;
};

/// An imported model to its canonical form: still one op for each operation.
void buildTensorStage(mlir::PassManager &manager,
                      const PipelineOptions &options);
/// Matmuls in the form that all of their kernels have, with their operands
/// rounded to what `precision` multiplies.
void buildProductStage(mlir::PassManager &manager,
                       const PipelineOptions &options);
/// Regions that become kernels.
void buildFusionStage(mlir::PassManager &manager,
                      const PipelineOptions &options);
/// One plan per target: buffers, steps, schedules.
void buildPlanStage(mlir::PassManager &manager, const PipelineOptions &options);

mlir::LogicalResult runTensorStage(mlir::ModuleOp module,
                                   const PipelineOptions &options);
mlir::LogicalResult runProductStage(mlir::ModuleOp module,
                                    const PipelineOptions &options);
mlir::LogicalResult runFusionStage(mlir::ModuleOp module,
                                   const PipelineOptions &options);
mlir::LogicalResult runPlanStage(mlir::ModuleOp module,
                                 const PipelineOptions &options);

} // namespace fusec

#endif // FUSEC_COMPILER_PIPELINES_H
