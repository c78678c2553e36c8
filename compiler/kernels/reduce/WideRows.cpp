// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of which more is stored than is reduced, as of what parts of long rows
// gave: several blocks store a part of a row each, and all reduce it.

#include "compiler/kernels/reduce/ReduceProblem.h"
#include "compiler/kernels/reduce/RowPrinter.h"
#include <cmath>
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// Of blocks of so many threads that store `points` of rows.
static Estimate estimateWide(const Target &target, const RowSizes &sizes,
                             double points, ReduceScheduleAttr schedule) {
  const RowCosts &costs = target.row;
  Overlap time(target);
  double threads = schedule.getThreads(), vector = schedule.getVector(),
         blocks = sizes.rows * double(schedule.getStoring()),
         steps = std::ceil(points / double(schedule.getStoring()) /
                           (threads * vector)),
         reduced = std::ceil(sizes.length / threads / vector),
         share = blocks / target.multiprocessors,
         resident = std::floor(target.threads / threads),
         waves = std::max(1.0, std::ceil(share / resident));
  // What is stored is computed of what the kernel before has read.
  bool isInL2 = sizes.read <= target.passing.mostMovedBytes;
  double again = isInL2 ? costs.laterPass : 1,
         traffic = sizes.bytes - sizes.read + again * sizes.read,
         memory = traffic / getStreamingRate(
                                target, std::min(16.0, sizes.element * vector));
  memory *= share > 1 ? std::ceil(share) / share
                      : std::max(1.0, 1 / (costs.mostOfShare * share));
  // A step's loads follow the stores of the one before.
  double meeting = 5 * costs.laneClocks + threads / 32 * costs.warpClocks,
         latency = waves *
                   (steps * target.rates.memoryLatency +
                    sizes.reductions *
                        (reduced * target.rates.memoryLatency + meeting)) /
                   (target.rates.clock * 1e3),
         work = share * threads *
                ((steps + sizes.reductions * reduced) * costs.stepClocks +
                 steps * vector * sizes.instructions * costs.itemPart +
                 sizes.reductions *
                     (5 * costs.laneStepClocks + costs.blockStepClocks) +
                 costs.threadClocks) /
                target.rates.issuedThreads / (target.rates.clock * 1e3);
  // What the kernel before has just stored, which each reduction reads and one
  // of them twice: of several rows each item lies in a sector of its own, of
  // which 4096 blocks of 256 took 8.5 us.
  constexpr double sector = 32;
  double item = sizes.rows > 1 ? sector : sizes.element,
         reads = blocks * (sizes.reductions + 1) * sizes.length;
  time.exposeClocks(target.rates.memoryLatency +
                    reads * item / (target.rates.l2 * target.multiprocessors));
  addPlacing(time, target, blocks, 0);
  time.expose(costs.startMicros);
  addBeside(time, costs.exposed, memory, latency, work);
  return time.get();
}

SmallVector<Candidate> ReduceProblem::getWideCandidates(StepOp step,
                                                        const Target &target,
                                                        int64_t vector,
                                                        int64_t bits,
                                                        int64_t dim) const {
  RowSizes sizes = getSizesAt(step, target, dim);
  int64_t points = *iteration.program.getSizes()[1].getConstant();
  sizes.length = double(*iteration.length.getConstant());
  SmallVector<Candidate> candidates;
  for (int64_t threads : {256, 512, 128, 1024})
    for (int64_t steps : {1, 2, 4}) {
      int64_t blocks = llvm::divideCeil(points, threads * vector * steps);
      auto schedule = ReduceScheduleAttr::get(
          step.getContext(), ReduceScope::Block, threads, bits, vector, blocks);
      candidates.push_back(
          {schedule, estimateWide(target, sizes, double(points), schedule)});
    }
  return candidates;
}

/// Blocks that store a part of a row each.
void RowPrinter::openWideRows() {
  writer.addHeader("reduce_span.h");
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  int64_t blocks = schedule.getStoring(), all = *sizes[1].getConstant(),
          part = getStoredPart(all, blocks);
  std::string last = fmt::format("first + {}", part);
  if (blocks * part != all)
    last = fmt::format("{0} < {1} ? {0} : {1}", last, all);
  writer.line("const {} length = {};", index, emitter->print(iteration.length));
  writer.open("fusec::forEachRow<Scope>({}, [&](fusec::i64 group)",
              writer.print(sizes[0] * blocks, {}));
  writer.line(
      "const {0} row = {0}(group) / {1}, first = {0}(group) % {1} * {2};",
      index, blocks, part);
  writer.line("const fusec::Span<{}> stored = {{first, {}}};", index, last);
}
