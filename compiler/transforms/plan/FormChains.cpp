// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmul steps that feed one another become one step of the chain family, where
// that is legal and the target's cost model says that it pays.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/kernels/Family.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/JoinSteps.h"
#include "llvm/Support/FormatVariadic.h"

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
    return llvm::formatv("a chain has at most {0} products", mostProducts);
  std::string reason;
  auto iteration = analyzeChain(chain, reason);
  if (failed(iteration))
    return reason;
  int64_t bytes = iteration->getSharedBytes(1);
  if (bytes > target.sharedBytes)
    return llvm::formatv("weights and one row take {0} bytes of shared memory "
                         "of {1}",
                         bytes, target.sharedBytes);
  return "";
}

//===----------------------------------------------------------------------===//
// Policy
//===----------------------------------------------------------------------===//

/// Why the chain is slower than its parts at some size, or nothing: there is
/// one plan for all of them.
static std::string checkTime(const Estimates &together,
                             ArrayRef<Estimates> parts, const Target &target) {
  SmallVector<double> apart(std::size(sampledDims));
  for (const Estimates &part : parts)
    for (auto [sum, time] : llvm::zip_equal(apart, part))
      sum += time ? time->microseconds : INFINITY;
  for (double &sum : apart)
    sum -= (parts.size() - 1) * estimateOverlap(target);
  for (auto [dim, time, sum] : llvm::zip_equal(sampledDims, together, apart)) {
    double chainTime = time ? time->microseconds : INFINITY;
    if (!(chainTime <= sum))
      return llvm::formatv("a chain takes {0:f1} us where its parts take "
                           "{1:f1} us, at dimensions of {2}",
                           chainTime, sum, dim);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Mechanics
//===----------------------------------------------------------------------===//

static std::string joinNames(StepOp producer, StepOp consumer) {
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
    target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    times.clear();
    StepJoiner joiner(plan);
    bool changed = false;
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>()))
      if (isProduct(step))
        while ((step = joinWithProducer(joiner, step)))
          changed = true;
    if (changed)
      joiner.eraseUnusedBuffers();
  }

  /// Null where no producer joins it.
  StepOp joinWithProducer(StepJoiner &joiner, StepOp consumer) {
    SmallVector<std::pair<StepOp, std::string>> refused;
    for (StepOp producer : joiner.getProducers(consumer)) {
      if (!isProduct(producer))
        continue;
      std::string reason;
      if (StepOp chain = tryJoin(joiner, producer, consumer, reason))
        return chain;
      refused.push_back({producer, reason});
    }
    for (auto &[producer, reason] : refused)
      remarkMissed(RemarkTopic::Fusion, "chain", consumer.getLoc())
          << nameBoth(producer, consumer) << ": " << reason;
    return {};
  }

  StepOp tryJoin(StepJoiner &joiner, StepOp producer, StepOp consumer,
                 std::string &reason) {
    Estimates together;
    auto check = [&](StepOp chain) {
      std::string illegal = checkChain(chain, *target);
      if (!illegal.empty())
        return illegal;
      together = estimateStep(chain, *target, products, sampledDims);
      return checkTime(together, {getTimes(producer), getTimes(consumer)},
                       *target);
    };
    StepOp chain = joiner.join(
        producer, consumer,
        {"chain", Family::Chain, joinNames(producer, consumer), check}, reason);
    if (chain) {
      times.erase(producer);
      times.erase(consumer);
      times[chain] = std::move(together);
    }
    return chain;
  }

  /// At each of `sampledDims`.
  const Estimates &getTimes(StepOp step) {
    auto [it, isNew] = times.try_emplace(step);
    if (isNew)
      it->second = estimateStep(step, *target, products, sampledDims);
    return it->second;
  }

  const Target *target = nullptr;
  /// Of steps that are there.
  llvm::DenseMap<Operation *, Estimates> times;
};
} // namespace
