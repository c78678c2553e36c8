// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slots are reused: a linear scan over the steps, giving each buffer the free
// slot that grows least.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/schedule/Schedules.h"
#include <map>
#include <set>

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

/// Slots that several buffers hold in turn.
class SharedSlots {
public:
  /// The slot that holds a buffer of the size from now on, until after the last
  /// step; the lifetimes come in the order of their beginnings.
  unsigned take(Expr size, Lifetime life);
  ArrayRef<Expr> getSizes() const { return sizes; }

private:
  std::optional<unsigned> takeNearest(int64_t size);

  SmallVector<Expr> sizes;
  /// Slots by the last step that they are busy at, and free ones by their
  /// typical size.
  std::set<std::pair<unsigned, unsigned>> busy;
  std::map<int64_t, std::set<unsigned>> free;
};

} // namespace

/// Of the free slots the one whose size differs least, and the first of those.
std::optional<unsigned> SharedSlots::takeNearest(int64_t size) {
  auto above = free.lower_bound(size), best = above;
  if (above != free.begin()) {
    auto below = std::prev(above);
    uint64_t less = uint64_t(size) - uint64_t(below->first);
    uint64_t more = above == free.end()
                        ? UINT64_MAX
                        : uint64_t(above->first) - uint64_t(size);
    if (less < more ||
        (less == more && *below->second.begin() < *above->second.begin()))
      best = below;
  }
  if (best == free.end())
    return std::nullopt;
  unsigned slot = *best->second.begin();
  best->second.erase(best->second.begin());
  if (best->second.empty())
    free.erase(best);
  return slot;
}

unsigned SharedSlots::take(Expr size, Lifetime life) {
  // A kernel may not read and write one slot: the reader would see what another
  // block has stored already.
  while (!busy.empty() && busy.begin()->first < life.first) {
    unsigned slot = busy.begin()->second;
    free[getTypicalValue(sizes[slot])].insert(slot);
    busy.erase(busy.begin());
  }
  std::optional<unsigned> slot = takeNearest(getTypicalValue(size));
  if (slot) {
    sizes[*slot] = Expr::max(sizes[*slot], size);
  } else {
    slot = sizes.size();
    sizes.push_back(size);
  }
  busy.insert({life.last, *slot});
  return *slot;
}

namespace {
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

    SharedSlots shared;
    std::vector<unsigned> newIndex(lifetimes.size());
    SmallVector<unsigned> order =
        llvm::to_vector(llvm::seq<unsigned>(0, lifetimes.size()));
    llvm::stable_sort(order, [&](unsigned a, unsigned b) {
      return lifetimes[a].first < lifetimes[b].first;
    });
    for (unsigned slot : order)
      newIndex[slot] = shared.take(Expr(cast<ExprAttr>(plan.getSlots()[slot])),
                                   lifetimes[slot]);

    OpBuilder builder(&getContext());
    for (BufferOp buffer : buffers)
      buffer.setIndex(newIndex[buffer.getIndex()]);
    SmallVector<Attribute> attrs = llvm::map_to_vector(
        shared.getSizes(), [](Expr size) { return Attribute(size.getAttr()); });
    plan.setSlotsAttr(builder.getArrayAttr(attrs));
    if (!lifetimes.empty())
      remarkPassed(remarks::shareSlots, plan.getLoc())
          << std::to_string(lifetimes.size()) << " buffers lie in "
          << std::to_string(attrs.size()) << " slots";
  }
};
} // namespace
