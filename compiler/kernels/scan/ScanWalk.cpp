// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a kernel walks along what is summed: row by row, along the run of all
// rows, or along memory where rows begin anywhere.

#include "compiler/kernels/scan/Scan.h"

using namespace mlir;
using namespace fusec;

/// Whether parts that begin with memory's vectors have all of a row, wherever
/// that begins.
static bool holdSpans(const ScanParts &parts, int64_t length, int64_t vector) {
  std::optional<int64_t> part = parts.length.getConstant();
  return part && parts.count * *part >= length + vector - 1;
}

std::optional<int64_t> fusec::getSpanPitch(const ScanIteration &iteration,
                                           ReduceScheduleAttr schedule) {
  // Shorter rows are cut vectors for the most part.
  constexpr int64_t leastVectors = 8;
  int64_t vector = schedule.getVector();
  std::optional<int64_t> length = iteration.program.getSizes()[1].getConstant();
  if (!iteration.isAlongRows() || vector == 1 ||
      (schedule.getScope() != ReduceScope::Block && !isOfCluster(schedule)) ||
      !length || *length % vector == 0 || *length < leastVectors * vector)
    return std::nullopt;
  if (iteration.parts && (!getFlagWords(iteration, schedule) ||
                          !holdSpans(*iteration.parts, *length, vector)))
    return std::nullopt;
  bool isOne = iteration.program.getSizes()[0].isConstant(1);
  auto getPitch = [&](Expr offset) {
    auto rows = getDimCoefficient(offset, 0);
    return isOne ? length : rows ? rows->getConstant() : std::nullopt;
  };
  std::optional<int64_t> pitch;
  for (const RegionStore &store : iteration.stores) {
    auto along = getDimCoefficient(store.offset, 1);
    std::optional<int64_t> own = getPitch(store.offset);
    if (!along || !along->isConstant(1) || !own || *own < *length ||
        pitch.value_or(*own) != *own)
      return std::nullopt;
    pitch = own;
  }
  return pitch;
}

/// More columns are read in pieces of half a line and more.
static constexpr int64_t mostRunColumns = 16;

bool fusec::isRun(const ScanIteration &iteration, ReduceScheduleAttr schedule) {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  std::optional<int64_t> columns = sizes[2].getConstant();
  return iteration.parts && schedule.isOfColumns() && sizes[0].isConstant(1) &&
         columns && *columns <= mostRunColumns &&
         *columns % schedule.getVector() != 0;
}

int64_t fusec::getStripColumns(const ScanIteration &iteration,
                               ReduceScheduleAttr schedule) {
  if (!schedule.isOfColumns())
    return 1;
  return isRun(iteration, schedule)
             ? schedule.getThreads() / schedule.getGroups()
             : schedule.getRowsAtOnce();
}

unsigned fusec::getLanesDim(const ScanIteration &iteration,
                            ReduceScheduleAttr schedule) {
  return isRun(iteration, schedule) ? 1 : schedule.getLanesDim();
}

ScanIteration fusec::getWalked(const ScanIteration &iteration,
                               ReduceScheduleAttr schedule) {
  ScanIteration walked = iteration;
  std::optional<int64_t> pitch = getSpanPitch(iteration, schedule);
  bool isOfColumns = isRun(iteration, schedule);
  if (!isHeld(schedule) && !isOfColumns && !pitch)
    return walked;
  ScalarProgram &program = walked.program;
  MLIRContext *context = program.getContext();
  Expr rows = program.getSizes()[0], length = program.getSizes()[1],
       row = Expr::dim(context, 0), place = Expr::dim(context, 1),
       zero = Expr::constant(context, 0), one = Expr::constant(context, 1);
  SmallVector<Expr> values;
  if (isOfColumns) {
    Expr columns = program.getSizes()[2];
    values = {zero, place.floorDiv(columns), place.mod(columns)};
    program.substitute({one, length * columns, one}, values);
  } else if (pitch) {
    values = {row, place - row * *pitch, zero};
    program.substitute({rows, rows * *pitch, one}, values);
  } else {
    values = {place.floorDiv(length), place.mod(length), zero};
    program.substitute({one, rows * length, one}, values);
  }
  for (RegionStore &store : walked.stores)
    store.offset =
        program.getRanges().simplify(store.offset.replaceDims(values));
  return walked;
}

VectorAccesses fusec::analyzeSpans(StepOp step, const ScanIteration &iteration,
                                   int64_t narrower) {
  for (int64_t width = 16; width > narrower; width /= 2) {
    auto schedule = ReduceScheduleAttr::get(
        step.getContext(), ReduceScope::Block, 128, /*indexBits=*/64, width);
    if (!getSpanPitch(iteration, schedule))
      continue;
    ScanIteration spans = getWalked(iteration, schedule);
    VectorAccesses accesses = analyzeVectorAccesses(
        step, spans.program, spans.stores, 1, /*hasTail=*/true);
    if (accesses.width == width)
      return accesses;
  }
  return {};
}
