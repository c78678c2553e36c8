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
static constexpr int64_t typicalCount = 100;

int64_t fusec::getTypicalCount(const BagShape &shape) {
  return shape.count ? shape.count : typicalCount;
}

/// How the bags of a table are divided. Where offsets say which indices a bag
/// has, its kernel does. Lanes of one warp exchange what they find of a row.
static BagShape divideTable(const BagTable &table, int ids, bool reducesRows,
                            BagScheduleAttr schedule) {
  int64_t accesses = llvm::divideCeil(table.width, schedule.getVector()),
          threads = schedule.getThreads();
  BagShape shape{ids,
                 table.ids.first,
                 table.ids.stride,
                 int(table.ids.step),
                 0,
                 int(table.width),
                 table.column,
                 bagLanes(accesses, 32),
                 1,
                 0,
                 float(table.scale)};
  if (table.offsets) {
    shape.perBlock = threads / shape.lanes;
    return shape;
  }
  shape.count = table.count.getConstant().value_or(0);
  int64_t count = getTypicalCount(shape);
  int most = bagSharing(threads);
  if (!reducesRows)
    shape.lanes = bagLanes(accesses, most);
  shape.split = bagSplit(count, shape.lanes, bagRows(threads), most);
  shape.perBlock = threads / (shape.lanes * shape.split) * bagsAtOnce(count);
  // A block finds the rows of such bags at once.
  while (count <= mostOfFewRows && shape.perBlock * count > bagStaged)
    shape.perBlock /= 2;
  return shape;
}

BagWork fusec::divideBags(const BagIteration &iteration,
                          BagScheduleAttr schedule) {
  BagWork work{{}, {}, 1, 0, false};
  BagIds ids = listIds(iteration);
  for (auto [t, table] : llvm::enumerate(iteration.tables)) {
    BagShape shape =
        divideTable(table, ids.ofTables[t], iteration.reducesRows(), schedule);
    work.shapes.push_back(shape);
    work.tileBags = std::max<int64_t>(work.tileBags, shape.perBlock);
    work.hasSharedBags |= shape.split > 1 && shape.lanes * shape.split > 32;
    if (!table.offsets)
      work.forms |= bagForm(shape) | (shape.split > 1 ? bagShared : 0);
  }
  for (auto [t, shape] : llvm::enumerate(work.shapes))
    for (int part = 0; part < work.tileBags / shape.perBlock; ++part)
      work.slots.push_back({int(t), part});
  auto getRead = [&](BagSlot slot) {
    const BagShape &shape = work.shapes[slot.table];
    return shape.perBlock * getTypicalCount(shape) * shape.width;
  };
  llvm::stable_sort(work.slots, [&](BagSlot a, BagSlot b) {
    return getRead(a) > getRead(b);
  });
  return work;
}

static Attribute getPlain(MLIRContext *context) {
  return BagScheduleAttr::get(context, bagThreads, 1);
}

int64_t fusec::getSlots(const BagIteration &iteration, const BagShape &shape,
                        BagScheduleAttr schedule) {
  return iteration.reducesRows()
             ? llvm::divideCeil(shape.width, shape.lanes * schedule.getVector())
             : 1;
}

/// Blocks of bagThreads that have registers for an epilogue: what it holds, and
/// what a thread has beside it: measured by what spills. It is more where a
/// thread reads a row by several accesses or one after another, takes several
/// bags, or finds the rows of its own.
static int64_t getResidentBehind(const BagIteration &iteration,
                                 const BagWork &work,
                                 BagScheduleAttr schedule) {
  constexpr int64_t registersOfOneBlock = 512;
  int64_t slots = getSlots(iteration, work.shapes[0], schedule);
  bool takesTwo = slots == 1 && work.forms & (bagCopy | bagFew);
  bool isPointwise = !iteration.reducesRows();
  int64_t beside = slots > 1                        ? 80
                   : isPointwise || work.forms == 0 ? 64
                   : takesTwo                       ? 56
                                                    : 40,
          held = slots * schedule.getVector() *
                 ((takesTwo ? 2 : 1) + iteration.epilogue->operands.size());
  return registersOfOneBlock / (beside + held);
}

int64_t fusec::getResident(const BagIteration &iteration, const BagWork &work,
                           BagScheduleAttr schedule) {
  BagOp op = iteration.op;
  bool isPlain = op.getMode() == BagMode::Sum && op.getWeights().empty() &&
                 op.getZeros().empty() && !op.getPadding() &&
                 op.getLengths().empty() && !op.getMaxima();
  int resident = bagResident(work.forms, isPlain, !op.getFactors().empty(),
                             op.getMode() == BagMode::Max || op.getMaxima());
  if (iteration.epilogue)
    resident = std::min<int64_t>(resident,
                                 getResidentBehind(iteration, work, schedule));
  return std::max<int64_t>(1, resident * bagThreads / schedule.getThreads());
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<BagScheduleAttr>(variant.getSchedule());
  FailureOr<BagIteration> iteration = analyzeBag(step);
  if (failed(iteration))
    return {};
  BagWork work = divideBags(*iteration, schedule);
  Expr tiles =
      iteration->bags.ceilDiv(Expr::constant(step.getContext(), work.tileBags));
  return LaunchAttr::get(limitBlocks(tiles * int64_t(work.slots.size()), 0),
                         schedule.getThreads())
      .withResident(getResident(*iteration, work, schedule));
}

/// Tuning files do not name bags.
static std::map<std::string, Expr> getNamedSizes(StepOp) { return {}; }

const KernelFamily fusec::bagFamily = {getPlain,     chooseBagVariants,
                                       estimateBags, getLaunch,
                                       emitBag,      getNamedSizes};
