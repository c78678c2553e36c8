// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One schedule: the widest accesses that all rows and results can have.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/bag/Bag.h"

using namespace mlir;
using namespace fusec;

/// Eight columns of integers: with sixteen a thread has registers for fewer
/// rows on their way, and the same rows are read more slowly by fewer threads.
static int64_t getVector(const BagIteration &iteration) {
  int64_t bits = iteration.getTableBits(),
          vector = std::min<int64_t>(8, 128 / bits);
  auto isAligned = [&](BufferOp buffer, int64_t elementBits) {
    int64_t bytes = llvm::divideCeil(vector * elementBits, 8);
    return getAlignmentIfGuarded(buffer) % std::min<int64_t>(16, bytes) == 0;
  };
  auto allFit = [&] {
    Expr width = Expr::constant(iteration.pitch.getContext(), vector);
    return iteration.pitch.mod(width).isConstant(0) &&
           isAligned(iteration.result,
                     8 * getElementBytes(
                             BufferOp(iteration.result).getElementType())) &&
           llvm::all_of(iteration.tables, [&](const BagTable &table) {
             return isAligned(table.table, bits) && table.width % vector == 0 &&
                    table.column % vector == 0 &&
                    (!table.factors || table.blockWidth % vector == 0);
           });
  };
  while (vector > 1 && !allFit())
    vector /= 2;
  return vector;
}

static Estimate estimateBag(StepOp step, const BagIteration &iteration,
                            const Target &target, BagScheduleAttr schedule) {
  Overlap time(target);
  // Indices, then rows.
  time.exposeClocks(2 * target.rates.memoryLatency);
  BagWork work = divideBags(iteration, schedule.getVector());
  double tiles = llvm::divideCeil(getSampledValue(iteration.bags, typicalDim),
                                  work.tileBags);
  time.add(TimeBound::Launch, tiles * work.slots.size() * target.rates.place);
  StepBytes bytes = getStepBytesAt(step, typicalDim);
  time.add(
      TimeBound::Memory,
      (bytes.read + bytes.written) /
          getStreamingRate(
              target, std::max<int64_t>(1, schedule.getVector() *
                                               iteration.getTableBits() / 8)));
  return time.get();
}

SmallVector<VariantAttr>
fusec::chooseBagVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  FailureOr<BagIteration> iteration = analyzeBag(step);
  if (failed(iteration))
    return {
        VariantAttr::get(context, {}, getPlainSchedule(Family::Bag, context))};
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t vector) {
    auto schedule = BagScheduleAttr::get(context, bagThreads, vector);
    return makeVariant(
        context, guards,
        {{schedule, estimateBag(step, *iteration, target, schedule)}});
  };
  int64_t vector = getVector(*iteration);
  SmallVector<GuardAttr> guards;
  if (vector > 1) {
    SmallVector<BufferOp> aligned = {iteration->result};
    for (const BagTable &table : iteration->tables)
      aligned.push_back(table.table);
    guards = getAlignmentGuards(aligned);
  }
  SmallVector<VariantAttr> variants = {variant(guards, vector)};
  if (!guards.empty())
    variants.push_back(variant({}, 1));
  return variants;
}
