// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of which points pick elements by indices: columns of a matrix, or what
// other indices of each row name. A block may hold the row meanwhile.

#include "compiler/kernels/pointwise/Pointwise.h"
#include <cmath>

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

std::optional<PickedRow>
fusec::findPickedRow(StepOp step, const PointwiseIteration &iteration) {
  const ScalarProgram &program = iteration.program;
  size_t rank = program.getSizes().size();
  std::optional<unsigned> picked;
  for (unsigned n = 0; n < program.size(); ++n) {
    if (program[n].kind == Kind::Lookup || program[n].kind == Kind::Piecewise)
      return std::nullopt;
    if (program[n].kind != Kind::Load ||
        llvm::none_of(program[n].indices, usesIndirect))
      continue;
    if (picked)
      return std::nullopt;
    picked = n;
  }
  if (rank < 2 || !picked)
    return std::nullopt;
  const ScalarNode &load = program[*picked];
  ArrayRef<Expr> indices = load.indices;
  BufferOp buffer = step.getInputBuffer(load.value);
  SmallVector<Expr> strides = buffer.getStrideExprs();
  auto size = getSizes(load.value).back().getConstant();
  if (indices.back().getKind() != ExprKind::Indirect ||
      !strides.back().isConstant(1) || !size || *size < 1 ||
      *size * getElementBytes(load.type) > mostHeldRowBytes)
    return std::nullopt;
  for (unsigned n = 0; n < program.size(); ++n)
    if (n != *picked && program[n].kind == Kind::Load &&
        program[n].value == load.value)
      return std::nullopt;
  for (Expr index : indices.drop_back())
    if (usesIndirect(index) || usesDim(index, rank - 1))
      return std::nullopt;
  MLIRContext *context = program.getContext();
  SmallVector<Expr> first = llvm::to_vector(indices);
  first.back() = Expr::constant(context, 0);
  Expr begin = program.getRanges().simplify(getOffset(first, strides, context));
  // One of its own for all that the other dims name.
  for (auto [dim, extent] : llvm::enumerate(program.getSizes().drop_back()))
    if (!extent.isConstant(1) && !usesDim(begin, dim))
      return std::nullopt;
  if (!program.varies(*picked, rank - 1))
    return std::nullopt;
  return PickedRow{*picked, begin, *size};
}

int64_t fusec::getFillWidth(StepOp step, const PointwiseIteration &iteration,
                            const PickedRow &row, Alignments alignments) {
  const ScalarProgram &program = iteration.program;
  unsigned column = program.getSizes().size(); // along the row
  int64_t bytes = getElementBytes(program[row.load].type);
  Expr offset = row.begin + Expr::dim(program.getContext(), column);
  for (int64_t width = 16 / bytes; width > 1; width /= 2)
    if (row.size % width == 0 && isVectorAccess(offset, column, width, bytes,
                                                alignments(step.getInputBuffer(
                                                    program[row.load].value))))
      return width;
  return 1;
}

static constexpr double lineBytes = 128, warp = 32;

/// How many of `places` are met by so many draws of one each.
static double countMet(double places, double draws) {
  return places * (1 - std::pow(1 - 1 / std::max(1.0, places), draws));
}

bool fusec::picksMost(StepOp step, const PointwiseIteration &iteration,
                      const PickedRow &row) {
  // 100 of 1024 halves are of 19 in 20 pairs of sectors: 12.2 us for 12.6; as
  // many floats of four in five: 15.6 for 15.8.
  constexpr double mostPart = 0.75;
  const ScalarNode &load = iteration.program[row.load];
  double pairs = double(row.size) * getElementBytes(load.type) /
                 getTarget(step).stream.fetchedBytes,
         picks =
             getSampledValue(iteration.program.getSizes().back(), typicalDim);
  return step.getInputBuffer(load.value).getKind() == BufferKind::Input &&
         countMet(pairs, picks) >= mostPart * pairs;
}

Estimate fusec::estimatePicks(const Target &target, const PointwiseWork &work,
                              const PickedWork &picked,
                              PointwiseScheduleAttr schedule) {
  Overlap time(target);
  time.exposeClocks(target.rates.memoryLatency);
  addPlacing(time, target, work.blocks, schedule.getBlocks());
  double whole = picked.rows * picked.rowBytes,
         rate = target.rates.memory * 1e3;
  if (schedule.getHolds()) {
    // A part of a block waits for its row, then for the indices; others of the
    // multiprocessor go on.
    double together = double(schedule.getHolds()),
           held = std::min(double(target.threads / schedule.getThreads()) *
                               together,
                           target.sharedBytes / picked.rowBytes),
           turns = picked.rows / (held * target.multiprocessors);
    double clocks =
        turns * (target.rates.memoryLatency + target.rates.l2Latency);
    // Rows that begin anywhere are filled by single elements.
    if (picked.fillWidth == 1)
      clocks += whole / picked.elementBytes / warp / target.multiprocessors *
                target.pointwise.singleFillClocks;
    addExposed(time, target, (work.bytes + whole) / rate,
               clocks / (target.rates.clock * 1e3));
    return time.get();
  }
  double fetchedBytes = target.stream.fetchedBytes;
  double fetched =
      picked.rows * fetchedBytes *
      countMet(std::ceil(picked.rowBytes / fetchedBytes), picked.picks);
  // A clock for each line of L1 that a warp's lanes meet.
  double lines = work.elements / warp *
                 countMet(std::ceil(picked.rowBytes / lineBytes),
                          std::min(warp, picked.picks)),
         clocks = lines / target.multiprocessors,
         memory = (work.bytes +
                   std::min(fetched, whole) / target.pointwise.pickedPart) /
                  rate;
  // Lines wait for their sectors, of which others are on their way; threads of
  // later turns for indices, and all for the multiprocessor with most blocks.
  double turns = work.elements / double(schedule.getVector()) /
                 (double(target.threads) * target.multiprocessors),
         latency = picked.hasOwnIndices ? target.rates.memoryLatency : 0,
         share = std::max(1.0, work.blocks) / target.multiprocessors;
  addExposed(time, target,
             std::hypot(memory, clocks / (target.rates.clock * 1e3)) *
                 std::ceil(share) / share,
             std::max(0.0, turns - 1) * latency / (target.rates.clock * 1e3));
  return time.get();
}
