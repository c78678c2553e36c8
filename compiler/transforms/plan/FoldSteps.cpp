// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is computed of weights alone is computed once, when compiling: weights
// of 8 bits that no kernel of the target makes as it multiplies. It is late,
// since that kernel is the plan's to choose; what is smaller than its operands
// has been a constant since fusec-fold-constants.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/plan/JoinSteps.h"
#include "compiler/transforms/plan/RowPitch.h"
#include "ir/reference/Evaluate.h"
#include "ir/reference/FoldConstants.h"
#include <fmt/core.h>

namespace fusec {
#define GEN_PASS_DEF_FOLDSTEPS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// Of what a step reads its results may take so many times as much: bytes that
/// become doubles. What is spread over more would only be more to load.
static constexpr int64_t growth = 8;

/// Whether nothing but weights, which no session replaces, decides the results,
/// and these have their memory to themselves.
static bool isOfWeights(StepOp step, const PlanBuffers &buffers,
                        const llvm::DenseMap<int64_t, unsigned> &slotUsers) {
  auto isOwn = [&](FlatSymbolRefAttr ref) {
    BufferOp buffer = buffers.lookup(ref);
    return buffer.getKind() == BufferKind::Slot &&
           slotUsers.lookup(buffer.getIndex()) == 1 &&
           cast<RankedTensorType>(buffer.getType()).hasStaticShape();
  };
  return readsWeightsOnly(step, buffers) &&
         llvm::all_of(step.getOutputs().getAsRange<FlatSymbolRefAttr>(), isOwn);
}

/// Of a buffer of static sizes.
static double getBytes(BufferOp buffer) {
  double bytes = getElementBytes(buffer.getElementType());
  for (int64_t size : cast<RankedTensorType>(buffer.getType()).getShape())
    bytes *= size;
  return bytes;
}

/// What a step's region computes of weights; `reason` says why it is not had.
static FailureOr<reference::Tensors> evaluateStep(StepOp step,
                                                  const PlanBuffers &buffers,
                                                  reference::FoldBudget &budget,
                                                  std::string &reason) {
  auto decline = [&](std::string why) {
    reason = std::move(why);
    return failure();
  };
  reference::Tensors operands;
  double read = 0, written = 0;
  for (auto ref : step.getInputs().getAsRange<FlatSymbolRefAttr>()) {
    BufferOp buffer = buffers.lookup(ref);
    auto tensor = reference::Tensor::fromConstant(*buffer.getValue(), reason);
    if (failed(tensor))
      return failure();
    auto sizes = cast<RankedTensorType>(buffer.getType()).getShape();
    if (tensor->getSizes() != sizes)
      return decline("reads rows that are padded");
    read += tensor->getBytes().size();
    operands.push_back(*tensor);
  }
  for (auto ref : step.getOutputs().getAsRange<FlatSymbolRefAttr>())
    written += getBytes(buffers.lookup(ref));
  if (written > growth * read)
    return decline(
        fmt::format("takes more than {} times what it reads", growth));
  if (std::string why = budget.takeBlock(step.getBody().front()); !why.empty())
    return decline(why);
  // What cannot be evaluated stays in the program, where it is diagnosed.
  ScopedDiagnosticHandler capture(step.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    reason = diagnostic.str();
                                    return success();
                                  });
  reference::EvaluateOptions options;
  reference::Dims dims;
  reference::Environment env{options, dims};
  auto results = reference::evaluate(step.getBody().front(), operands, env);
  if (succeeded(results) && env.faults != 0)
    return decline("reads out of range, which a session reports when it runs");
  return results;
}

/// The elements as the buffer's strides lay them out.
static FailureOr<ElementsAttr>
layOut(BufferOp buffer, const reference::Tensor &value, std::string &reason) {
  ElementsAttr elements = value.toConstant(buffer.getSymName());
  SmallVector<Expr> strides = buffer.getStrideExprs();
  SmallVector<Expr> sizes = getSizes(cast<RankedTensorType>(buffer.getType()));
  if (strides == getDenseStrides(sizes, buffer.getContext()))
    return elements;
  auto pitch = strides.size() < 2 ? std::nullopt
                                  : strides[strides.size() - 2].getConstant();
  if (!pitch ||
      strides != getPitchedStrides(sizes, *pitch, buffer.getContext())) {
    reason = "has results that lie among others";
    return failure();
  }
  return padRows(elements, *pitch, reason);
}

namespace {
struct FoldSteps : fusec::impl::FoldStepsBase<FoldSteps> {
  void runOnOperation() override {
    PlanOp plan = getOperation();
    if (foldAll(plan))
      StepJoiner(plan).eraseUnusedBuffers();
  }

private:
  static bool foldAll(PlanOp plan);
  static bool fold(StepOp step, const PlanBuffers &buffers,
                   reference::FoldBudget &budget);
};
} // namespace

bool FoldSteps::fold(StepOp step, const PlanBuffers &buffers,
                     reference::FoldBudget &budget) {
  std::string reason;
  auto decline = [&] {
    remarkMissed(remarks::foldSteps, step.getLoc())
        << fmt::format("'{}', of weights alone, {}; it is computed at each run",
                       step.getName().str(), reason);
    return false;
  };
  auto values = evaluateStep(step, buffers, budget, reason);
  if (failed(values))
    return decline();
  SmallVector<ElementsAttr> weights;
  for (auto [ref, value] : llvm::zip_equal(step.getOutputs(), *values)) {
    auto weight =
        layOut(buffers.lookup(cast<FlatSymbolRefAttr>(ref)), value, reason);
    if (failed(weight))
      return decline();
    weights.push_back(*weight);
  }
  for (auto [ref, weight] : llvm::zip_equal(step.getOutputs(), weights)) {
    BufferOp buffer = buffers.lookup(cast<FlatSymbolRefAttr>(ref));
    buffer.setKind(BufferKind::Weight);
    buffer.setIndex(0);
    buffer.setValueAttr(weight);
  }
  remarkPassed(remarks::foldSteps, step.getLoc()) << fmt::format(
      "'{}', of weights alone, is computed once", step.getName().str());
  step.erase();
  return true;
}

bool FoldSteps::foldAll(PlanOp plan) {
  PlanBuffers buffers(plan);
  reference::FoldBudget budget;
  budget.open(plan);
  llvm::DenseMap<int64_t, unsigned> slotUsers;
  for (auto buffer : plan.getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::Slot)
      ++slotUsers[buffer.getIndex()];
  bool changed = false;
  // In order: what a step reads is a weight by the time it is looked at.
  for (StepOp step : llvm::make_early_inc_range(plan.getOps<StepOp>()))
    if (isOfWeights(step, buffers, slotUsers))
      changed |= fold(step, buffers, budget);
  return changed;
}
