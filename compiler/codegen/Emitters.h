// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the emitters of the families share.

#ifndef FUSEC_COMPILER_CODEGEN_EMITTERS_H
#define FUSEC_COMPILER_CODEGEN_EMITTERS_H

#include "compiler/analysis/Iteration.h"
#include "compiler/codegen/KernelText.h"
#include "compiler/codegen/ScalarEmitter.h"

namespace fusec {

/// A descriptor as the text needs it: its type, and the initialiser.
struct Descriptor {
  std::string type, value;
};
/// The combiner of compiler/kernels/reduce/device/reduce.h of a ReduceOp or
/// ArgReduceOp.
std::string getCombiner(mlir::Operation *op);
/// What a combiner's result `name` is as the result of the op: rounded like
/// that of any op, or the index that was found.
std::string getReducedValue(mlir::Operation *op, llvm::StringRef name);

/// What a root has at a point: so many accumulators of a type.
struct EpilogueRootType {
  std::string accumulator;
  unsigned accumulators;
};
EpilogueRootType getRootType(const MatmulIteration &iteration);
/// Declares the struct of a root's epilogue, whose operands and results have
/// these descriptors, and returns its initialiser.
std::string declareEpilogue(KernelWriter &writer, llvm::StringRef name,
                            const TileEpilogue &epilogue,
                            const EpilogueRootType &root,
                            llvm::ArrayRef<Descriptor> operands,
                            llvm::ArrayRef<Descriptor> results);

/// Declares the function that makes a matrix's elements, with operands of these
/// descriptors: its type, and its initialiser.
Descriptor declareMade(KernelWriter &writer, const MadeMatrix &made,
                       llvm::ArrayRef<Descriptor> operands);

/// Loads from the buffers of the step's inputs.
ScalarEmitter::Sources getRegionSources(KernelWriter &writer);
/// Declares pointers for those of the program's reads that pass through L2, or
/// stay there, and returns the sources with these.
ScalarEmitter::Sources declarePassing(KernelWriter &writer,
                                      const ScalarProgram &program,
                                      AccessesAttr accesses, bool stay,
                                      ScalarEmitter::Sources sources);

/// Stores the values of the current point, or of the emitter's lanes; then
/// `widths` says which are vectors. `whenLoaded` is called when loads have been
/// printed, and before when indices have by which others find their rows.
void emitStores(KernelWriter &writer, ScalarEmitter &emitter,
                llvm::ArrayRef<RegionStore> stores,
                llvm::ArrayRef<int64_t> widths,
                std::optional<ScalarEmitter::Lanes> lanes,
                llvm::function_ref<void()> whenLoaded = nullptr);

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_EMITTERS_H
