// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The widest accesses that all rows and results can have. Where there are too
// few bags to fill the device, more threads share each of them.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/NodeWork.h"
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
    auto resultFits = [&] {
      Expr width = Expr::constant(iteration.pitch.getContext(), vector);
      return iteration.pitch.mod(width).isConstant(0) &&
             isAligned(iteration.result,
                       8 * getElementBytes(
                               BufferOp(iteration.result).getElementType()));
    };
    // An epilogue has widths of its own.
    return (iteration.epilogue || resultFits()) &&
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

static double countEpilogueLatencies(const BagCosts &costs,
                                     const BagIteration &iteration) {
  if (!iteration.epilogue)
    return 0;
  return iteration.epilogue->reductions.size() * costs.reducedLatency +
         (iteration.epilogue->operands.empty() ? 0 : costs.operandLatency);
}

/// Instructions of an epilogue at an element; a reduction combines it.
static double countEpilogueInstructions(const OpCosts &costs,
                                        const BagIteration &iteration) {
  if (!iteration.epilogue)
    return 0;
  const ScalarProgram &program = iteration.epilogue->epilogue;
  double instructions = iteration.epilogue->reductions.size();
  for (unsigned n = 0; n < program.size(); ++n)
    instructions += getInstructions(costs, program[n]);
  return instructions;
}

/// Latencies that a block exposes one after another: those of its indices, and
/// of the rows of a group of lanes; then sums are joined by shuffles, or by
/// what each warp leaves in shared memory.
static double countLatencies(const BagCosts &costs, const BagShape &shape,
                             BagScheduleAttr schedule, int rowsAtOnce,
                             int64_t slots) {
  int64_t count = getTypicalCount(shape), sharing = shape.lanes * shape.split,
          atOnce =
              std::max<int64_t>(1, (count == 1               ? 1
                                    : count <= mostOfFewRows ? 2
                                                             : rowsAtOnce) /
                                       slots);
  double found = llvm::divideCeil(shape.perBlock * count,
                                  schedule.getThreads() * bagIdsAtOnce),
         passes = llvm::divideCeil(shape.width,
                                   shape.lanes * schedule.getVector() * slots),
         read = llvm::divideCeil(count, shape.split * atOnce),
         joined = shape.split == 1 ? 0
                  : sharing <= 32  ? costs.shuffledLatency
                                   : costs.joinedWarpLatency * (sharing / 32);
  return found + passes * (read + joined);
}

static double getMicroseconds(double latencies, const Target &target) {
  return latencies * target.rates.memoryLatency / (target.rates.clock * 1e3);
}

/// Takes latencies for a bound beside memory: all blocks expose theirs, as many
/// at a time as multiprocessors have places, and one of the longest its own.
static Estimate estimateBag(StepOp step, const BagIteration &iteration,
                            const Target &target, BagScheduleAttr schedule,
                            int64_t dim) {
  Overlap time(target);
  BagWork work = divideBags(iteration, schedule);
  BagOp op = iteration.op;
  int rowsAtOnce =
      bagRowsAtOnce(!op.getWeights().empty(), !op.getZeros().empty(),
                    !op.getFactors().empty() &&
                        (op.getMode() == BagMode::Max || op.getMaxima()));
  double longest = 0, all = 0;
  double behind = countEpilogueLatencies(target.bag, iteration);
  int64_t columns = 0;
  for (const BagTable &table : iteration.tables)
    columns += table.width;
  for (BagSlot slot : work.slots) {
    const BagShape &shape = work.shapes[slot.table];
    double one = countLatencies(target.bag, shape, schedule, rowsAtOnce,
                                getSlots(iteration, shape, schedule)) +
                 behind;
    longest = std::max(longest, one);
    all += one;
  }
  int64_t bags = getSampledValue(iteration.bags, dim);
  double tiles = llvm::divideCeil(bags, work.tileBags);
  time.addClocks(TimeBound::Arithmetic,
                 double(bags) * columns *
                     countEpilogueInstructions(target.ops, iteration) /
                     (target.rates.issuedThreads * target.multiprocessors));
  double places =
      double(target.multiprocessors) * getResident(iteration, work, schedule);
  double latency =
      getMicroseconds(std::max(longest, all * tiles / places), target);
  time.add(TimeBound::Launch, tiles * work.slots.size() * target.rates.place);
  StepBytes bytes = getStepBytesAt(step, dim);
  double access = schedule.getVector() * iteration.getTableBits() / 8;
  addExposed(time, target,
             (bytes.read + bytes.written) /
                 getStreamingRate(target, std::max(1.0, access)),
             latency);
  return time.get();
}

/// What another division of bags must gain by the model over that of many bags:
/// where it promised a ninth, one row gained 6% and one lost 2%.
static constexpr double leastBagGain = 1.15;

static int64_t getMostThreadsOfBag(const BagWork &work) {
  int64_t most = 1;
  for (const BagShape &shape : work.shapes)
    most = std::max<int64_t>(most, shape.lanes * shape.split);
  return most;
}

/// The ways to divide bags that gain enough, behind that of many bags. Other
/// blocks are for bags that more threads share.
static SmallVector<Candidate> listBagCandidates(StepOp step,
                                                const BagIteration &iteration,
                                                const Target &target,
                                                int64_t vector, int64_t dim) {
  SmallVector<Candidate> candidates;
  int64_t ofMany = 0;
  // What follows takes as long behind each.
  double behind =
      getMicroseconds(countEpilogueLatencies(target.bag, iteration), target);
  for (int64_t threads :
       {bagThreads, fewBagThreads, 2 * bagThreads, mostBagThreads}) {
    auto schedule = BagScheduleAttr::get(step.getContext(), threads, vector);
    int64_t most = getMostThreadsOfBag(divideBags(iteration, schedule));
    if (candidates.empty())
      ofMany = most;
    else if (most <= ofMany)
      continue;
    Estimate estimate = estimateBag(step, iteration, target, schedule, dim);
    if (candidates.empty() || (estimate.microseconds - behind) * leastBagGain <
                                  candidates[0].estimate.microseconds - behind)
      candidates.push_back({schedule, estimate});
  }
  // The last is what a variant falls back to.
  std::rotate(candidates.begin(), candidates.begin() + 1, candidates.end());
  return candidates;
}

Estimates fusec::estimateBags(StepOp step, const Target &target, Products,
                              ArrayRef<int64_t> dims) {
  Estimates estimates(dims.size());
  FailureOr<BagIteration> iteration = analyzeBag(step);
  if (failed(iteration))
    return estimates;
  int64_t vector = getVector(*iteration);
  for (auto [dim, estimate] : llvm::zip_equal(dims, estimates))
    for (const Candidate &candidate :
         listBagCandidates(step, *iteration, target, vector, dim))
      if (!estimate || candidate.estimate.microseconds < estimate->microseconds)
        estimate = candidate.estimate;
  return estimates;
}

/// What the kernel stores, and what its epilogue reads runs of.
static SmallVector<BufferOp> getStored(StepOp step,
                                       const BagIteration &iteration) {
  if (!iteration.epilogue)
    return {iteration.result};
  SmallVector<BufferOp> buffers;
  for (const TileStore &store : iteration.epilogue->stores)
    buffers.push_back(step.getOutputBuffer(store.output));
  for (const TileOperand &operand : iteration.epilogue->operands)
    if (operand.access.columnStride.isConstant(1))
      buffers.push_back(step.getInputBuffer(operand.value));
  return buffers;
}

SmallVector<VariantAttr>
fusec::chooseBagVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  FailureOr<BagIteration> iteration = analyzeBag(step);
  if (failed(iteration))
    return {
        VariantAttr::get(context, {}, getPlainSchedule(Family::Bag, context))};
  int64_t vector = getVector(*iteration);
  SmallVector<GuardAttr> guards;
  if (vector > 1) {
    SmallVector<BufferOp> aligned = getStored(step, *iteration);
    for (const BagTable &table : iteration->tables)
      aligned.push_back(table.table);
    guards = getAlignmentGuards(aligned);
  }
  SmallVector<VariantAttr> variants;
  addBuckets(
      iteration->bags, guards,
      [&](int64_t dim) {
        return listBagCandidates(step, *iteration, target, vector, dim);
      },
      variants);
  if (!guards.empty()) {
    auto plain = BagScheduleAttr::get(context, bagThreads, 1);
    variants.push_back(makeVariant(
        context, {},
        {{plain, estimateBag(step, *iteration, target, plain, typicalDim)}}));
  }
  return variants;
}
