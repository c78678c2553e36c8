// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows whose parts are computed from operands of their own, as of a concat of
// features: which they are, and how a block puts some of them together.

#include "compiler/kernels/pointwise/Pointwise.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

/// Parts are text of their own, and each takes a turn.
static constexpr size_t mostParts = 64;
static constexpr int64_t widestAccess = 16; // bytes

/// Of each row; a single one has no dim.
static std::optional<int64_t> getColumns(const PointwiseIteration &iteration) {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  return sizes.size() == 1 ? 1 : sizes[1].getConstant();
}

/// Where a part lies in each row.
static std::optional<int64_t> getPlace(const RegionStore &store, int64_t pitch,
                                       int64_t columns) {
  std::optional<Expr> along = getDimCoefficient(store.offset, 1),
                      across = getDimCoefficient(store.offset, 0);
  if (!across || !across->isConstant(pitch) ||
      (columns > 1 && (!along || !along->isConstant(1))))
    return std::nullopt;
  MLIRContext *context = store.offset.getContext();
  Expr zero = Expr::constant(context, 0);
  return store.offset.replaceDims({zero, zero}).getConstant();
}

/// Whether nothing but rows and their columns are walked, and no element is
/// asked for by an index.
static bool isPlain(const PointwiseIteration &iteration) {
  const ScalarProgram &program = iteration.program;
  size_t rank = program.getSizes().size();
  if (rank < 1 || rank > 2 || getColumns(iteration).value_or(0) < 1 ||
      iteration.stores.empty())
    return false;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind != Kind::Load && program[n].kind != Kind::Splat &&
        program[n].kind != Kind::Compute)
      return false;
  return true;
}

/// The parts in the order of their places, which leave no gap; nothing where
/// they are no parts of the same rows.
static std::optional<AssembledRows>
findRows(StepOp step, ArrayRef<PointwiseIteration> iterations) {
  if (!llvm::all_of(iterations, isPlain))
    return std::nullopt;
  unsigned output = iterations[0].stores[0].output;
  Expr rows = iterations[0].program.getSizes()[0];
  int64_t pitch = 0;
  size_t parts = 0;
  for (const PointwiseIteration &iteration : iterations) {
    parts += iteration.stores.size();
    pitch += *getColumns(iteration) * int64_t(iteration.stores.size());
  }
  if (parts < 2 || parts > mostParts)
    return std::nullopt;
  AssembledRows found{output, rows, pitch, {}};
  for (const PointwiseIteration &iteration : iterations) {
    AssembledLoop loop{iteration, 1, *getColumns(iteration), {}};
    for (const RegionStore &store : iteration.stores) {
      auto place = getPlace(store, pitch, loop.columns);
      if (!place || store.output != output ||
          iteration.program.getSizes()[0] != rows)
        return std::nullopt;
      loop.places.push_back(*place);
    }
    found.loops.push_back(std::move(loop));
  }
  SmallVector<std::pair<int64_t, int64_t>> spans;
  for (const AssembledLoop &loop : found.loops)
    for (int64_t place : loop.places)
      spans.push_back({place, loop.columns});
  llvm::sort(spans);
  int64_t end = 0;
  for (auto [place, columns] : spans) {
    if (place != end)
      return std::nullopt;
    end += columns;
  }
  return found;
}

std::optional<AssembledRows> fusec::findAssembledRows(StepOp step,
                                                      Alignments alignments) {
  // Nothing else has parts.
  if (step.getBody().front().getOps<ConcatOp>().empty())
    return std::nullopt;
  FailureOr<std::vector<PointwiseIteration>> iterations =
      analyzePieces(step, /*cutsShort=*/true);
  if (failed(iterations) || iterations->empty())
    return std::nullopt;
  std::optional<AssembledRows> found = findRows(step, *iterations);
  if (!found)
    return std::nullopt;
  BufferOp output = step.getOutputBuffer(found->output);
  if (alignments(output) < guardedAlignment)
    return std::nullopt;
  found->aligned.push_back(output);
  for (AssembledLoop &loop : found->loops) {
    loop.iteration = flatten(loop.iteration);
    VectorAccesses accesses =
        analyzeVectorAccesses(step, loop.iteration.program, /*stores=*/{}, 0,
                              /*hasTail=*/true, alignments);
    // Where nothing is read, as much as is written at once.
    loop.width = getReads(loop.iteration.program).empty()
                     ? widestAccess / found->getElementBytes(step)
                     : accesses.width;
    llvm::append_range(found->aligned, accesses.aligned);
  }
  return found;
}

int64_t AssembledRows::getElementBytes(StepOp step) const {
  return fusec::getElementBytes(step.getOutputBuffer(output).getElementType());
}

int64_t AssembledRows::countSteps(int64_t rowsTogether, int64_t threads) const {
  int64_t steps = 0;
  for (const AssembledLoop &loop : loops)
    steps +=
        int64_t(loop.places.size()) *
        llvm::divideCeil(rowsTogether * loop.columns / loop.width, threads);
  return steps;
}

bool AssembledRows::fits(StepOp step, PointwiseScheduleAttr schedule) const {
  // What a block has without asking for more, and what is still read through.
  constexpr int64_t mostBytes = 48 << 10, mostSteps = 64;
  int64_t together = schedule.getRows(), bytes = getElementBytes(step);
  return together > 0 && schedule.getThreads() > 0 &&
         together * pitch * bytes <= mostBytes &&
         together * bytes % widestAccess == 0 &&
         llvm::all_of(loops,
                      [&](const AssembledLoop &loop) {
                        return together % loop.width == 0;
                      }) &&
         countSteps(together, schedule.getThreads()) <= mostSteps;
}

AccessesAttr fusec::getAssembledAccesses(StepOp step, VariantAttr variant,
                                         const AssembledLoop &loop) {
  return getAccesses(
      step.getContext(), Walk::Linear, loop.width,
      getLoadWidths(step, variant, loop.iteration.program, 0, loop.width),
      /*stores=*/{});
}

std::optional<AssembledRows> fusec::takeAssembledRows(StepOp step,
                                                      VariantAttr variant) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  auto found = findAssembledRows(
      step, [&](BufferOp buffer) { return getAlignment(buffer, variant); });
  if (!found || !found->fits(step, schedule)) {
    step.emitOpError("has a schedule that puts rows together, but ")
        << (found ? "a block does not hold so many"
                  : "stores no parts of rows that are aligned");
    return std::nullopt;
  }
  if (failed(checkLoops(step, variant, found->loops.size())))
    return std::nullopt;
  for (auto [i, loop] : llvm::enumerate(found->loops))
    if (!takeAccesses(step, variant, i,
                      {loop.iteration.program, 0, loop.width, {}}))
      return std::nullopt;
  return found;
}
