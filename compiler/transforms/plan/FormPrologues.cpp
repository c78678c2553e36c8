// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise steps become part of the product that multiplies their result: the
// kernel makes the operand in registers, where the target's cost model says
// that this takes less than a launch and a trip to memory.
//
// This is no part of fusion, which runs once for all targets: each tile of the
// result makes the rows of its operand anew, and whether tensor cores hide that
// is the target's.

#include "compiler/Passes.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/JoinPairs.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_FORMPROLOGUES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// What an operand is made with is in registers beside the accumulators.
static constexpr size_t mostMadeOperands = 4;

/// Why the product should not make its operand, or nothing. `results`: how many
/// it has alone.
static std::string checkPrologue(StepOp joined, size_t results) {
  if (joined.getOutputs().size() != results)
    return "others read what would be made in registers";
  auto iteration = analyzeMatmul(joined);
  if (failed(iteration) || !iteration->made)
    return "one operand is all that a product makes, of one matrix and of "
           "scalars, rows and columns";
  if (iteration->made->operands.size() > mostMadeOperands)
    return fmt::format("an operand is made with at most {} others",
                       mostMadeOperands);
  return "";
}

static std::string nameMade(StepOp producer, StepOp product) {
  std::string name = (producer.getName() + "_" + product.getName()).str();
  return name.size() < 48 ? name : (product.getName() + "_made").str();
}

namespace {
struct FormPrologues : fusec::impl::FormProloguesBase<FormPrologues> {
  using FormProloguesBase::FormProloguesBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    size_t results = 0; // of the product
    PairJoiner joiner(
        plan, *target, products,
        {remarks::prologue, Family::Gemm, prologueTolerance, nameMade,
         [&](StepOp joined) { return checkPrologue(joined, results); },
         "no kernel of the target makes operands of these types "
         "and sizes",
         always});
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>())) {
      if (step.getFamily() != Family::Gemm)
        continue;
      SmallVector<StepOp> producers = joiner.getProducers(step);
      llvm::erase_if(producers, [](StepOp producer) {
        return producer.getFamily() != Family::Pointwise;
      });
      results = step.getOutputs().size();
      joiner.join(producers, step);
    }
  }
};
} // namespace
