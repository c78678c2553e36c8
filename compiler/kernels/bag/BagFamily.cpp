// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/GridLimit.h"
#include "compiler/kernels/bag/Bag.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fusec;

BagWork fusec::divideBags(const BagIteration &iteration, int64_t vector) {
  BagWork work{{}, {}, 1};
  llvm::MapVector<BufferOp, int> idBuffers;
  for (auto [t, table] : llvm::enumerate(iteration.tables)) {
    int lanes = bagLanes(llvm::divideCeil(table.width, vector)), ids = t,
        count = 0, split = 1, atOnce = 1;
    // How many indices there are is a table's own where it has offsets.
    if (!table.offsets) {
      ids = idBuffers.insert({table.ids.buffer, int(idBuffers.size())})
                .first->second;
      count = int(table.count.getValue());
      split = bagSplit(count, lanes);
      atOnce = bagsAtOnce(count);
    }
    int perBlock = bagThreads / (lanes * split) * atOnce;
    work.shapes.push_back({ids, table.ids.first, table.ids.stride,
                           int(table.ids.step), count, int(table.width),
                           table.column, lanes, split, perBlock,
                           float(table.scale)});
    work.tileBags = std::max<int64_t>(work.tileBags, perBlock);
  }
  for (auto [t, shape] : llvm::enumerate(work.shapes))
    for (int part = 0; part < work.tileBags / shape.perBlock; ++part)
      work.slots.push_back({int(t), part});
  auto getRead = [&](BagSlot slot) {
    const BagShape &shape = work.shapes[slot.table];
    return int64_t(shape.perBlock) * std::max(shape.count, 1) * shape.width;
  };
  llvm::stable_sort(work.slots, [&](BagSlot a, BagSlot b) {
    return getRead(a) > getRead(b);
  });
  return work;
}

static Attribute getPlain(MLIRContext *context) {
  return BagScheduleAttr::get(context, bagThreads, 1);
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<BagScheduleAttr>(variant.getSchedule());
  FailureOr<BagIteration> iteration = analyzeBag(step);
  if (failed(iteration))
    return {};
  BagWork work = divideBags(*iteration, schedule.getVector());
  Expr tiles =
      iteration->bags.ceilDiv(Expr::constant(step.getContext(), work.tileBags));
  return LaunchAttr::get(limitBlocks(tiles * int64_t(work.slots.size()), 0),
                         schedule.getThreads())
      .withResident(bagResident(schedule.getVector()));
}

/// One schedule: there is nothing to tune.
static std::map<std::string, Expr> getNamedSizes(StepOp) { return {}; }

const KernelFamily fusec::bagFamily = {
    getPlain,  chooseBagVariants, /*estimate=*/nullptr,
    getLaunch, emitBag,           getNamedSizes};
