// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/GridLimit.h"
#include "compiler/kernels/bag/Bag.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fusec;

BagIds fusec::listIds(const BagIteration &iteration) {
  BagIds ids;
  llvm::MapVector<BufferOp, int> shared;
  for (const BagTable &table : iteration.tables) {
    BufferOp buffer = table.ids.buffer;
    bool isOwn = table.offsets || !table.count.isConstant();
    int next = ids.buffers.size();
    int number = isOwn ? next : shared.insert({buffer, next}).first->second;
    ids.ofTables.push_back(number);
    if (number != next)
      continue;
    ids.buffers.push_back(buffer);
    ids.counts.push_back(isOwn ? table.count : getSizes(buffer.getType())[0]);
  }
  return ids;
}

/// Indices of a bag whose number is only named, to divide threads by.
constexpr int64_t typicalCount = 100;

BagWork fusec::divideBags(const BagIteration &iteration, int64_t vector) {
  BagWork work{{}, {}, 1, 0};
  BagIds ids = listIds(iteration);
  for (auto [t, table] : llvm::enumerate(iteration.tables)) {
    int lanes = bagLanes(llvm::divideCeil(table.width, vector)), count = 0,
        split = 1, atOnce = 1;
    if (!table.offsets) {
      count = table.count.getConstant().value_or(0);
      split = bagSplit(count ? count : typicalCount, lanes);
      atOnce = bagsAtOnce(count ? count : typicalCount);
    }
    int perBlock = bagThreads / (lanes * split) * atOnce;
    work.shapes.push_back({ids.ofTables[t], table.ids.first, table.ids.stride,
                           int(table.ids.step), count, int(table.width),
                           table.column, lanes, split, perBlock,
                           float(table.scale)});
    work.tileBags = std::max<int64_t>(work.tileBags, perBlock);
    if (!table.offsets)
      work.forms |= bagForm(work.shapes.back());
  }
  for (auto [t, shape] : llvm::enumerate(work.shapes))
    for (int part = 0; part < work.tileBags / shape.perBlock; ++part)
      work.slots.push_back({int(t), part});
  auto getRead = [&](BagSlot slot) {
    const BagShape &shape = work.shapes[slot.table];
    int64_t count = shape.count ? shape.count : typicalCount;
    return shape.perBlock * count * shape.width;
  };
  llvm::stable_sort(work.slots, [&](BagSlot a, BagSlot b) {
    return getRead(a) > getRead(b);
  });
  return work;
}

static Attribute getPlain(MLIRContext *context) {
  return BagScheduleAttr::get(context, bagThreads, 1);
}

static int getResident(const BagIteration &iteration, int forms) {
  BagOp op = iteration.op;
  bool isPlain = op.getMode() == BagMode::Sum && op.getWeights().empty() &&
                 op.getZeros().empty() && !op.getPadding();
  return bagResident(forms, isPlain, !op.getFactors().empty(),
                     op.getMode() == BagMode::Max);
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
      .withResident(getResident(*iteration, work.forms));
}

/// One schedule: there is nothing to tune.
static std::map<std::string, Expr> getNamedSizes(StepOp) { return {}; }

const KernelFamily fusec::bagFamily = {
    getPlain,  chooseBagVariants, /*estimate=*/nullptr,
    getLaunch, emitBag,           getNamedSizes};
