// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/AccessWidths.h"
#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/TransposeIteration.h"
#include "compiler/kernels/NodeWork.h"
#include "compiler/kernels/PassingReads.h"
#include "compiler/kernels/transpose/Transpose.h"

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return TransposeScheduleAttr::get(context, 32, 32, 1, 1, 64,
                                    transposeThreads);
}

static AccessesAttr getAccesses(StepOp step, VariantAttr variant,
                                const TransposeIteration &iteration) {
  auto schedule = cast<TransposeScheduleAttr>(variant.getSchedule());
  const ScalarProgram &program = iteration.points.program;
  int64_t width = schedule.getStore();
  SmallVector<int64_t> loads =
      getLoadWidths(step, variant, program, iteration.across(), width);
  for (auto [node, elements] : llvm::zip_equal(getReads(program), loads))
    if (llvm::is_contained(iteration.loads, node))
      elements = schedule.getLoad();
  SmallVector<int64_t> stores(iteration.points.stores.size(), width);
  return getAccesses(step.getContext(), Walk::Dimension, width, loads, stores,
                     readsStay(step) ? findPassingReads(step, program)
                                     : SmallVector<int64_t>());
}

/// Whether places are found of indices and numbers alone, and nothing is
/// computed: 32 registers are enough.
static bool isMoved(const ScalarProgram &program) {
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind != ScalarNode::Kind::Load)
      return false;
  return llvm::all_of(program.getSizes(),
                      [](Expr size) { return size.isConstant(); });
}

/// The same of two indices.
static bool isPlainMatrix(const ScalarProgram &program) {
  return program.getSizes().size() == 2 && isMoved(program);
}

/// Whether so little is computed that single elements of many threads have room
/// in 32 registers.
static bool isBrief(StepOp step, const TransposeIteration &iteration) {
  constexpr double most = 4;
  const ScalarProgram &program = iteration.points.program;
  double instructions = 0;
  for (size_t n = 0; n < program.size(); ++n) {
    if (!program[n].isPlain())
      return false;
    instructions += getInstructions(getTarget(step).ops, program[n]);
  }
  return instructions <= most && iteration.loads.size() == 1 &&
         iteration.points.stores.size() == 1 &&
         llvm::all_of(program.getSizes(),
                      [](Expr size) { return size.isConstant(); });
}

/// Blocks for which a multiprocessor is to have registers.
static int64_t countResident(StepOp step, TransposeScheduleAttr schedule,
                             const TransposeIteration &iteration) {
  const ScalarProgram &program = iteration.points.program;
  int64_t bytes = 1, load = schedule.getLoad();
  for (unsigned node : iteration.loads)
    bytes = std::max<int64_t>(bytes, getElementBytes(program[node].type));
  // All 528 tiles of 1023 x 2049 at once: with a sum 11.9 us, 13.6 by three.
  if (schedule.getThreads() > transposeThreads)
    return schedule.getIndexBits() == 32 && bytes <= 4 &&
                   isBrief(step, iteration)
               ? 4
               : 2;
  // Of loads of 8 bytes, by 32 registers: of 96 x 130 x 514 floats turned round
  // eight blocks took 18.5 us, six 19.2.
  if (load * bytes == 8 && schedule.getIndexBits() == 32 &&
      iteration.points.stores.size() == 1 && isMoved(program))
    return 8;
  // Narrow loads are many, and each has an address: sixteen of single elements.
  if (load == 1)
    return 3;
  if (load * bytes < 16 || schedule.getIndexBits() > 32 ||
      schedule.getAlong() != schedule.getAcross())
    return iteration.points.stores.size() > 1 ? 3 : 4;
  bool areWhole = areOfWholeRows(step, iteration, schedule);
  // Of whole rows that are moved and no more, 32 registers are enough, too: of
  // 65536 x 39 floats all tiles begin together, 8.6 us for 9.0.
  if (areWhole && bytes <= 4 && iteration.points.stores.size() == 1 &&
      isPlainMatrix(program))
    return 8;
  // What is loaded beside the tiles is held, too: 40 registers were too few for
  // four vectors of fp32, and took 8% longer; beside two tiles, or wider types,
  // 64 are.
  if (bytes > 2 && readsBesideTiles(iteration) &&
      (bytes > 4 || iteration.loads.size() > 1))
    return 3;
  if (bytes > 2 || iteration.points.stores.size() > 1)
    return areWhole && !readsBesideTiles(iteration) && bytes <= 4 ? 6 : 4;
  return areWhole || readsBesideTiles(iteration) ? 6 : 4;
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<TransposeScheduleAttr>(variant.getSchedule());
  FailureOr<TransposeIteration> iteration = analyzeTranspose(step);
  if (failed(iteration))
    return {};
  auto countTiles = [&](Expr size, int64_t extent) {
    return size.ceilDiv(Expr::constant(step.getContext(), extent));
  };
  Expr tiles =
      iteration->getBatch() *
      countTiles(iteration->getSize(iteration->along), schedule.getAlong()) *
      countTiles(iteration->getSize(iteration->across()), schedule.getAcross());
  return LaunchAttr::get(limitBlocks(tiles, 0), schedule.getThreads())
      .withResident(countResident(step, schedule, *iteration))
      .withAccesses(getAccesses(step, variant, *iteration));
}

static std::map<std::string, Expr> getNamedSizes(StepOp step) {
  FailureOr<TransposeIteration> iteration = analyzeTranspose(step);
  if (failed(iteration))
    return {};
  return {{"along", iteration->getSize(iteration->along)},
          {"across", iteration->getSize(iteration->across())},
          {"batch", iteration->getBatch()}};
}

const KernelFamily fusec::transposeFamily = {
    getPlain,  chooseTransposeVariants, /*estimate=*/nullptr,
    getLaunch, emitTranspose,           getNamedSizes};
