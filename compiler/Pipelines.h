// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages of a compilation, in order. Each leaves the module at one level of
// the dialect, which is verified.

#ifndef FUSEC_COMPILER_PIPELINES_H
#define FUSEC_COMPILER_PIPELINES_H

#include "compiler/Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir {
class OpPassManager;
class PassManager;
} // namespace mlir

namespace fusec {

/// An imported model to its canonical form: still one op for each operation.
void buildTensorStage(mlir::PassManager &manager,
                      const PipelineOptions &options);
/// The part of the next stage that has no options: matmuls as contractions,
/// which join where one kernel has segments or accumulators for them.
void buildContractions(mlir::OpPassManager &model);
/// Makes it known to fusec-opt, as `fusec-contractions`.
void registerFusecPipelines();
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
