// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slots are reused: a linear scan over the steps, giving each buffer the free
// slot that grows least.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/schedule/Schedules.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_ASSIGNSTORAGE
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

namespace {
/// The steps between which a slot holds live data.
struct Lifetime {
  unsigned first = ~0u, last = 0;
};

struct AssignStorage : fusec::impl::AssignStorageBase<AssignStorage> {
  void runOnOperation() override {
    PlanOp plan = getOperation();
    SmallVector<BufferOp> buffers;
    llvm::StringMap<unsigned> slotOf;
    for (auto buffer : plan.getBody().getOps<BufferOp>())
      if (buffer.getKind() == BufferKind::Slot) {
        buffers.push_back(buffer);
        slotOf[buffer.getSymName()] = buffer.getIndex();
      }
    std::vector<Lifetime> lifetimes(plan.getSlots().size());
    unsigned time = 0;
    for (auto step : plan.getBody().getOps<StepOp>()) {
      for (ArrayAttr refs : {step.getInputs(), step.getOutputs()})
        for (auto ref : refs.getAsRange<FlatSymbolRefAttr>())
          if (auto it = slotOf.find(ref.getValue()); it != slotOf.end()) {
            Lifetime &life = lifetimes[it->second];
            life.first = std::min(life.first, time);
            life.last = std::max(life.last, time);
          }
      ++time;
    }

    struct Shared {
      Expr size;
      unsigned busyUntil;
    };
    SmallVector<Shared> shared;
    std::vector<unsigned> newIndex(lifetimes.size());
    SmallVector<unsigned> order =
        llvm::to_vector(llvm::seq<unsigned>(0, lifetimes.size()));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) {
      return lifetimes[a].first < lifetimes[b].first;
    });
    SmallVector<Expr> sizes =
        llvm::map_to_vector(plan.getSlots().getAsRange<ExprAttr>(),
                            [](ExprAttr attr) { return Expr(attr); });
    for (unsigned slot : order) {
      std::optional<unsigned> best;
      int64_t bestGrowth = 0;
      for (auto [i, candidate] : llvm::enumerate(shared)) {
        // A kernel may not read and write one slot: the reader would see what
        // another block has stored already.
        if (candidate.busyUntil >= lifetimes[slot].first)
          continue;
        int64_t growth = std::abs(getTypicalValue(sizes[slot]) -
                                  getTypicalValue(candidate.size));
        if (!best || growth < bestGrowth) {
          best = i;
          bestGrowth = growth;
        }
      }
      if (!best) {
        best = shared.size();
        shared.push_back({sizes[slot], 0});
      }
      shared[*best].size = Expr::max(shared[*best].size, sizes[slot]);
      shared[*best].busyUntil = lifetimes[slot].last;
      newIndex[slot] = *best;
    }

    OpBuilder builder(&getContext());
    for (BufferOp buffer : buffers)
      buffer.setIndex(newIndex[buffer.getIndex()]);
    SmallVector<Attribute> attrs = llvm::map_to_vector(
        shared, [](const Shared &s) { return Attribute(s.size.getAttr()); });
    plan.setSlotsAttr(builder.getArrayAttr(attrs));
    if (!lifetimes.empty())
      remarkPassed(RemarkTopic::Storage, "share-slots", plan.getLoc())
          << std::to_string(lifetimes.size()) << " buffers lie in "
          << std::to_string(shared.size()) << " slots";
  }
};
} // namespace
