// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/ShiftedLoads.h"
#include "compiler/kernels/PassingReads.h"
#include "compiler/kernels/pointwise/Pointwise.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static Attribute getPlain(MLIRContext *context) {
  return PointwiseScheduleAttr::get(context, 256, 1, 64);
}

/// Reads of a piece that pass through L2, or stay there: of several pieces, one
/// may find there what another read. Those that pass gain while all that is
/// moved has a place in L2, and what is read takes none from what is still to
/// be written back.
static SmallVector<int64_t> getPassing(StepOp step, const PointwisePiece &piece,
                                       ArrayRef<int64_t> shifted, bool isOnly) {
  bool stay = readsStay(step);
  if (!stay && !(isOnly && isHeldByL2(step)))
    return {};
  const ScalarProgram &program = piece.iteration.program;
  SmallVector<unsigned> reads = getReads(program);
  SmallVector<int64_t> passing = findPassingReads(step, program);
  llvm::erase_if(passing, [&](int64_t read) {
    return (!stay && llvm::is_contained(shifted, read)) ||
           (piece.row && piece.row->load == reads[read]);
  });
  return passing;
}

static AccessesAttr getAccesses(StepOp step, VariantAttr variant,
                                const PointwisePiece &piece, bool isOnly) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  int64_t width = piece.getWidth(schedule.getVector());
  const ScalarProgram &program = piece.iteration.program;
  auto alignments = [&](BufferOp buffer) {
    return getAlignment(buffer, variant);
  };
  SmallVector<unsigned> reads = getReads(program);
  SmallVector<int64_t> loads, stores, shifted;
  if (piece.isByRows()) {
    for (unsigned read : reads)
      loads.push_back(
          isBesideStores(step, piece.iteration, read, width, alignments) ? width
                                                                         : 1);
    stores.assign(piece.iteration.stores.size(), width);
  } else {
    loads = getLoadWidths(step, variant, program, piece.getDim(), width);
    if (auto row = findPickedRow(step, piece.iteration);
        row && schedule.getHolds())
      loads[llvm::find(reads, row->load) - reads.begin()] =
          getFillWidth(step, piece.iteration, *row, alignments);
    for (ArrayRef<RegionStore> group : piece.getStoreGroups())
      llvm::append_range(
          stores, getStoreWidths(step, variant, group, piece.getDim(), width));
  }
  SmallVector<unsigned> shiftable =
      findShiftableLoads(step, program, piece.iteration.stores, piece.getDim(),
                         width, piece.isByRows(), alignments);
  for (auto [i, read] : llvm::enumerate(reads))
    if (loads[i] == 1 && llvm::is_contained(shiftable, read)) {
      loads[i] = width;
      shifted.push_back(i);
    }
  return fusec::getAccesses(step.getContext(), piece.walk, width, loads, stores,
                            getPassing(step, piece, shifted, isOnly), shifted);
}

static LaunchAttr getAssembledLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  auto rows = findAssembledRows(
      step, [&](BufferOp buffer) { return getAlignment(buffer, variant); });
  if (!rows)
    return {};
  Expr together = Expr::constant(step.getContext(), schedule.getRows());
  return LaunchAttr::get(
             limitBlocks(rows->rows.ceilDiv(together), schedule.getBlocks()),
             schedule.getThreads())
      .withAccesses(
          llvm::map_to_vector(rows->loops, [&](const AssembledLoop &loop) {
            return getAssembledAccesses(step, variant, loop);
          }));
}

/// For how many blocks of a multiprocessor a kernel is compiled that only moves
/// rows which indices name: for all that it has, where all begin together so.
/// Left to itself the compiler takes 40 registers, by which the last quarter
/// would wait twice behind the others: 262144 rows of 16 floats took 16.2 us
/// for 15.5.
static int64_t getResident(StepOp step, ArrayRef<PointwisePiece> pieces,
                           PointwiseScheduleAttr schedule, Expr blocks) {
  const Target &target = getTarget(step);
  auto count = blocks.getConstant();
  if (!count || pieces.size() != 1 || pieces[0].row ||
      pieces[0].countRows() != 1 ||
      pieces[0].getAtOnce(schedule.getVector()) < 2)
    return 1;
  const ScalarProgram &program = pieces[0].iteration.program;
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == ScalarNode::Kind::Compute)
      return 1;
  int64_t most = target.threads / schedule.getThreads(),
          places = most * target.multiprocessors;
  return *count <= places && 4 * *count > 3 * places ? most : 1;
}

static LaunchAttr getLaunch(StepOp step, VariantAttr variant) {
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  if (schedule.getRows())
    return getAssembledLaunch(step, variant);
  FailureOr<PointwisePieces> pieces = analyzePointwisePieces(
      step, [&](BufferOp buffer) { return getAlignment(buffer, variant); });
  if (failed(pieces))
    return {};
  Expr blocks = Expr::constant(step.getContext(), 0);
  for (Expr some : getBlocks(*pieces, schedule))
    blocks = blocks + some;
  return LaunchAttr::get(blocks, schedule.getThreads())
      .withResident(getResident(step, *pieces, schedule, blocks))
      .withAccesses(
          llvm::map_to_vector(*pieces, [&](const PointwisePiece &piece) {
            return getAccesses(step, variant, piece, pieces->size() == 1);
          }));
}

static std::map<std::string, Expr> getNamedSizes(StepOp step) {
  std::map<std::string, Expr> sizes;
  if (auto iteration = analyzePointwise(step); succeeded(iteration))
    for (auto [i, size] : llvm::enumerate(iteration->program.getSizes()))
      sizes[fmt::format("size{}", i)] = size;
  return sizes;
}

const KernelFamily fusec::pointwiseFamily = {
    getPlain,  choosePointwiseVariants, estimatePointwiseStep,
    getLaunch, emitPointwise,           getNamedSizes};
