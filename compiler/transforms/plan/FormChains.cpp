// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul steps that feed one another become one step of the chain family, where
// that is legal and the target's cost model says that it pays.

#include "compiler/Passes.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/JoinPairs.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_FORMCHAINS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

static bool isProduct(StepOp step) {
  return step.getFamily() == Family::Gemm || step.getFamily() == Family::Chain;
}

/// NVRTC takes a second for these; a launch less in a longer row of products
/// does not show.
static constexpr int mostProducts = 32;

/// Why the step is no kernel of the target, or nothing.
static std::string checkChain(StepOp chain, const Target &target) {
  auto products = chain.getBody().front().getOps<ContractionOp>();
  if (llvm::range_size(products) > mostProducts)
    return fmt::format("a chain has at most {} products", mostProducts);
  std::string reason;
  auto iteration = analyzeChain(chain, reason);
  if (failed(iteration))
    return reason;
  int64_t bytes = iteration->getSharedBytes(1);
  if (bytes > target.sharedBytes)
    return fmt::format("weights and one row take {} bytes of shared memory "
                       "of {}",
                       bytes, target.sharedBytes);
  return "";
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static std::string nameChain(StepOp producer, StepOp consumer) {
  std::string name = producer.getName().str();
  if (producer.getFamily() != Family::Chain)
    name = "chain_" + name;
  StringRef added = consumer.getName();
  added.consume_front("chain_");
  return name.size() + added.size() < 48 ? name + "_" + added.str() : name;
}

namespace {
struct FormChains : fusec::impl::FormChainsBase<FormChains> {
  using FormChainsBase::FormChainsBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    const Target *target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    PairJoiner joiner(plan, *target, products,
                      {remarks::chain, Family::Chain, chainTolerance, nameChain,
                       [&](StepOp chain) { return checkChain(chain, *target); },
                       "no block holds the chain"});
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>()))
      while (step && isProduct(step)) {
        SmallVector<StepOp> producers = joiner.getProducers(step);
        llvm::erase_if(producers, std::not_fn(isProduct));
        step = joiner.join(producers, step);
      }
  }
};
} // namespace
