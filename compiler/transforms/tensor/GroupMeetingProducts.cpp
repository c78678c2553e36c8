// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of one left operand whose results meet through pointwise ops become
// contractions with several accumulators (gating), as many as one kernel has
// registers for.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_config.h"
#include "compiler/transforms/tensor/Accumulators.h"
#include "compiler/transforms/tensor/PointwisePaths.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <fmt/core.h>

namespace fusec {
#define GEN_PASS_DEF_GROUPMEETINGPRODUCTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// Whether a value of `op`'s block feeds it, through any number of ops.
static bool dependsOn(Operation *op, Operation *producer) {
  llvm::SetVector<Operation *> seen;
  seen.insert(op);
  for (size_t i = 0; i < seen.size(); ++i)
    for (Value operand : seen[i]->getOperands())
      if (Operation *def = operand.getDefiningOp()) {
        if (def == producer)
          return true;
        if (producer->getBlock() == def->getBlock() &&
            producer->isBeforeInBlock(def))
          seen.insert(def);
      }
  return false;
}

/// Groups what can be of contractions with one left operand.
static void groupSiblings(SmallVector<ContractionOp> pending) {
  while (!pending.empty()) {
    SmallVector<ContractionOp> members = {pending.front()}, rest;
    unsigned accumulators = members[0].getNumAccumulators();
    for (ContractionOp candidate : ArrayRef(pending).drop_front()) {
      bool fits = accumulators + candidate.getNumAccumulators() <=
                      unsigned(wgmmaMaxAccumulators) &&
                  canBeGrouped(members[0], candidate) &&
                  llvm::any_of(members, [&](ContractionOp member) {
                    return meetThroughPointwise(member, candidate);
                  });
      if (fits && llvm::any_of(members, [&](ContractionOp member) {
            return dependsOn(candidate, member);
          })) {
        remarkMissed(remarks::groupMeetingProducts, candidate.getLoc())
            << "a product of the same left operand depends on the other's "
               "result";
        fits = false;
      }
      (fits ? members : rest).push_back(candidate);
      accumulators += fits ? candidate.getNumAccumulators() : 0;
    }
    if (members.size() > 1) {
      ContractionOp grouped = groupContractions(members);
      remarkPassed(remarks::groupMeetingProducts, grouped.getLoc())
          << fmt::format("{} products of one left operand became accumulators "
                         "of one kernel",
                         grouped.getNumAccumulators());
    }
    pending = std::move(rest);
  }
}

static void groupMeeting(Block &block) {
  // Of thousands of products few share a left operand and meet.
  auto classes = classifyByPointwiseUsers(block);
  llvm::MapVector<std::pair<Operation *, Value>, SmallVector<ContractionOp>>
      candidates;
  for (auto product : block.getOps<ContractionOp>())
    candidates[{classes.getLeaderValue(product), product.getLhs()[0]}]
        .push_back(product);
  for (auto &[key, products] : candidates)
    groupSiblings(std::move(products));
  // A grouped op stands at its last member, whose users may come before it.
  sortTopologically(&block);
}

namespace {
struct GroupMeetingProducts
    : fusec::impl::GroupMeetingProductsBase<GroupMeetingProducts> {
  void runOnOperation() override {
    groupMeeting(getOperation().getBody().front());
  }
};
} // namespace
