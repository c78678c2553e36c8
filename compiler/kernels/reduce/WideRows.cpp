// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of which more is stored than is reduced, as of what parts of long rows
// gave: several blocks store a part of a row each, and all reduce it, with what
// they store of on its way meanwhile.

#include "compiler/kernels/reduce/ReduceProblem.h"
#include "compiler/kernels/reduce/RowPrinter.h"
#include <cmath>
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// What is loaded for each point that is stored, or for each item that is
/// reduced.
static SmallVector<unsigned> getLoads(const RowIteration &iteration,
                                      bool ofStores) {
  const ScalarProgram &program = iteration.program;
  SmallVector<unsigned> loads;
  for (unsigned n = 0; n < program.size(); ++n)
    if (program[n].kind == ScalarNode::Kind::Load && program.varies(n, 1) &&
        isStored(iteration, n) == ofStores)
      loads.push_back(n);
  return loads;
}

/// Items of what is reduced that a thread keeps, all of them if they are few.
static int64_t getKeptOfWide(int64_t length, ReduceScheduleAttr schedule) {
  constexpr int64_t most = 4;
  int64_t steps = llvm::divideCeil(length, schedule.getThreads());
  return steps <= most ? steps : 0;
}

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
         waits = getKeptOfWide(int64_t(sizes.length), schedule)
                     ? 1
                     : sizes.reductions * reduced,
         share = blocks / target.multiprocessors,
         resident = std::floor(target.threads / threads),
         waves = std::max(1.0, std::ceil(share / resident));
  // What the kernel before has read is not in L2 for long where others' lines
  // wait to be written back: softmax of 4 and of 8 x 262144 took 1 and 2 us
  // more than with that.
  double memory =
      sizes.bytes /
      getStreamingRate(target, std::min(16.0, sizes.element * vector));
  memory *= share > 1 ? std::ceil(share) / share
                      : std::max(1.0, 1 / (costs.mostOfShare * share));
  double meeting = 5 * costs.laneClocks + threads / 32 * costs.warpClocks,
         latency =
             waves *
             (waits * target.rates.memoryLatency + sizes.reductions * meeting) /
             (target.rates.clock * 1e3),
         work = share * threads *
                ((steps + sizes.reductions * reduced) * costs.stepClocks +
                 steps * vector * sizes.instructions * costs.itemPart +
                 sizes.reductions *
                     (5 * costs.laneStepClocks + costs.blockStepClocks) +
                 costs.threadClocks) /
                target.rates.issuedThreads / (target.rates.clock * 1e3);
  // Beside a block alone on its multiprocessor nothing is on its way there.
  latency += costs.alonePart * memory * sizes.read / sizes.bytes /
             std::max(1.0, std::min(resident, share));
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
  sizes.keptLoads = getLoads(iteration, /*ofStores=*/true).size();
  SmallVector<Candidate> candidates;
  for (int64_t threads : {256, 512, 128, 1024})
    for (int64_t steps : {1, 2, 4}) {
      int64_t blocks = llvm::divideCeil(points, threads * vector * steps);
      int64_t kept =
          llvm::divideCeil(getStoredPart(points, blocks), threads * vector);
      auto schedule =
          ReduceScheduleAttr::get(step.getContext(), ReduceScope::Block,
                                  threads, bits, vector, blocks)
              .withKept(kept)
              .asAhead();
      if (steps == 1 || hasRegisters(target, sizes, schedule))
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
  writer.line("const fusec::Part<{}> stored = {{first, {}}};", index, last);
}

std::pair<RowForm, RowForm> RowPrinter::keepWideRows() {
  RowForm ofRows = form, ofStores = form;
  ofRows.kept = getKeptOfWide(*iteration.length.getConstant(), schedule);
  ofRows.vector = 1;
  ofStores.length = ofStores.stored = "stored";
  ofStores.isPart = true;
  ofStores.kept = schedule.getKept();
  if (ofRows.kept) {
    form = ofRows;
    keepLoads(getLoads(iteration, /*ofStores=*/false));
  }
  form = ofStores;
  keepLoads(llvm::filter_to_vector(
      getLoads(iteration, /*ofStores=*/true),
      [&](unsigned load) { return isVectorLoad(load); }));
  return {ofRows, ofStores};
}
