// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One emitter a kernel family, and what they share.

#ifndef FUSEC_COMPILER_CODEGEN_EMITTERS_H
#define FUSEC_COMPILER_CODEGEN_EMITTERS_H

#include "compiler/codegen/Iteration.h"
#include "compiler/codegen/ScalarEmitter.h"

namespace fusec {

/// Loops stride over the grid beyond this many blocks: enough to fill any GPU
/// many times over, and within every limit.
constexpr int64_t maxGridBlocks = 1 << 20;

mlir::FailureOr<KernelSource> emitPointwise(StepOp step, VariantAttr variant,
                                            llvm::StringRef symbol);
mlir::FailureOr<KernelSource> emitReduce(StepOp step, VariantAttr variant,
                                         llvm::StringRef symbol);
mlir::FailureOr<KernelSource> emitGemm(StepOp step, VariantAttr variant,
                                       llvm::StringRef symbol);

/// Loads from the buffers of the step's inputs.
ScalarEmitter::Sources getRegionSources(KernelWriter &writer,
                                        VariantAttr variant);

/// Stores the values of the current point, or of the emitter's lanes: by
/// vectors where the addresses allow, else element by element.
void emitStores(KernelWriter &writer, ScalarEmitter &emitter,
                VariantAttr variant, llvm::ArrayRef<RegionStore> stores,
                std::optional<ScalarEmitter::Lanes> lanes);

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_EMITTERS_H
