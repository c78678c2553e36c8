// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two steps in place of one, with buffers between them: the mechanics, for
// passes that decide by the cost model whether to keep them.

#ifndef FUSEC_COMPILER_TRANSFORMS_PLAN_CUTSTEP_H
#define FUSEC_COMPILER_TRANSFORMS_PLAN_CUTSTEP_H

#include "compiler/kernels/Family.h"
#include "mlir/IR/IRMapping.h"

namespace fusec {

/// The two steps, which stand before the one they replace, and the buffers
/// between them, whose slots are the last ones.
struct CutStep {
  StepOp first, second;
  llvm::SmallVector<BufferOp> parts;

  /// Takes all of it out of the plan again.
  void erase();
};

/// Sizes of the named dimensions at which the times of both are compared: one
/// for all where the step's results name none.
llvm::SmallVector<int64_t> getDecisiveDims(StepOp step);

/// How much faster the steps are than the whole over all these sizes, and the
/// times in microseconds at the one where they gain most.
struct CutGain {
  double factor = 0; // 0: at one size they are slower, or of no family's form
  double whole = 0, cut = 0;
  int64_t dim = typicalDim;
};
/// `always`: wherever there are kernels, whatever they lose.
CutGain getGain(llvm::ArrayRef<StepOp> steps, const Estimates &whole,
                const Target &target, Products products,
                llvm::ArrayRef<int64_t> dims, bool always);

/// The same of one step in place of another: how much faster it is.
double getGain(const Estimates &instead, const Estimates &whole, bool always);

/// A buffer in a slot of its own, for results that pass between the two.
BufferOp createSlot(StepOp before, llvm::StringRef name,
                    mlir::RankedTensorType type);

/// Builds one of the two, before the step, from some of the step's ops.
class StepBuilder {
public:
  StepBuilder(StepOp from, Family family, const llvm::Twine &name);

  /// Reads the buffer.
  mlir::Value addInput(mlir::Attribute ref, mlir::Type type);
  /// Clones what the values depend on, down to those that are mapped already.
  void clone(mlir::ValueRange values);
  StepOp finish(llvm::ArrayRef<mlir::Attribute> outputs,
                mlir::ValueRange yielded);
  /// With the step's own results, of what is mapped.
  StepOp finishAll();

  mlir::IRMapping mapping;

private:
  StepOp from;

public:
  mlir::OpBuilder builder;
  StepOp step;

private:
  llvm::SmallVector<mlir::Attribute> inputs;
};

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_PLAN_CUTSTEP_H
