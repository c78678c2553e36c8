// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul steps of one left operand, as those of queries, keys and values,
// become accumulators of one kernel where the target's cost model says that it
// pays: it reads the operand once and is one launch, but its tiles are
// narrower.

#include "compiler/Passes.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/JoinPairs.h"
#include "compiler/transforms/tensor/Accumulators.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_GROUPPRODUCTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// The product of a matmul step that has no other.
static ContractionOp getProduct(StepOp step) {
  auto products = step.getBody().front().getOps<ContractionOp>();
  return step.getFamily() == Family::Gemm && llvm::hasSingleElement(products)
             ? *products.begin()
             : ContractionOp();
}

/// The buffer behind an operand of a step's product; null where it is computed.
static Attribute getBuffer(StepOp step, Value operand) {
  auto argument = dyn_cast<BlockArgument>(traceViews(operand).value);
  return argument ? step.getInputs()[argument.getArgNumber()] : Attribute();
}

/// Whether the step's result is the left operand of a segment behind another:
/// the kernel that needs it there may compute it first, without a launch.
static bool mayLead(StepOp step, const llvm::DenseSet<Attribute> &later) {
  return llvm::any_of(step.getOutputs(),
                      [&](Attribute ref) { return later.contains(ref); });
}

static std::string nameGroup(StepOp a, StepOp b) {
  StringRef name = a.getName(), added = b.getName();
  bool isNew = !name.contains(added) && name.size() + added.size() < 48;
  return isNew ? (name + "_" + added).str() : name.str();
}

/// Makes one contraction of the two that a joined step has; or says why that
/// cannot be.
static std::string groupProducts(StepOp step) {
  // Views of one operand are made twice.
  IRRewriter rewriter(step.getContext());
  DominanceInfo dominance(step);
  eliminateCommonSubExpressions(rewriter, dominance, step);
  Block &block = step.getBody().front();
  SmallVector<ContractionOp> products(block.getOps<ContractionOp>());
  if (products.size() != 2 || !canBeGrouped(products[0], products[1]))
    return "their left operands, or the sizes of their weights, differ";
  groupContractions(products);
  sortTopologically(&block);
  return "";
}

namespace {
struct GroupProducts : fusec::impl::GroupProductsBase<GroupProducts> {
  using GroupProductsBase::GroupProductsBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    SmallVector<StepOp> steps;
    llvm::DenseSet<Attribute> later; // left operands of later segments
    for (StepOp step : plan.getOps<StepOp>())
      if (ContractionOp product = getProduct(step)) {
        steps.push_back(step);
        for (Value left : product.getLhs().drop_front())
          if (Attribute buffer = getBuffer(step, left))
            later.insert(buffer);
      }
    PairJoiner joiner(plan, *target, products,
                      {remarks::groupProducts, Family::Gemm, groupTolerance,
                       nameGroup, groupProducts,
                       "there is no kernel with their accumulators", always});
    llvm::DenseMap<Attribute, StepOp> last; // step by its left operand
    for (StepOp step : steps) {
      Attribute left = getBuffer(step, getProduct(step).getLhs()[0]);
      if (!left || mayLead(step, later))
        continue;
      StepOp &sibling = last[left];
      StepOp joined = sibling ? joiner.join(sibling, step) : StepOp();
      sibling = joined ? joined : step;
    }
  }
};
} // namespace
