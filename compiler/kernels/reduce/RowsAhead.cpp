// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What L2 fetches for later rows, since the memory has little to read while all
// that run reduce and store what they have loaded.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/GridLimit.h"
#include "compiler/kernels/PassingReads.h"
#include "compiler/kernels/reduce/RowPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// What a block has L2 fetch of a later row, or of all columns of a later row
/// of these, which lie side by side.
struct Fetched {
  int64_t rows, items; // of a row
  int64_t blocks;      // that share a row
};

static std::optional<Fetched> findFetched(const RowIteration &iteration,
                                          ReduceScheduleAttr schedule) {
  ArrayRef<Expr> sizes = iteration.program.getSizes();
  std::optional<int64_t> rows = sizes[0].getConstant(),
                         length = iteration.length.getConstant();
  if (!rows || !length)
    return std::nullopt;
  if (!schedule.isOfColumns())
    return Fetched{*rows, *length, schedule.getBlocksTogether()};
  std::optional<int64_t> columns = sizes[2].getConstant();
  int64_t together = schedule.getRowsAtOnce();
  if (!columns || *columns % together)
    return std::nullopt;
  return Fetched{*rows, *length * *columns, *columns / together};
}

/// Whether the load's items of a row lie side by side, by whole vectors of 16
/// bytes.
static bool isRun(StepOp step, const RowIteration &iteration,
                  ReduceScheduleAttr schedule, unsigned load) {
  const ScalarProgram &program = iteration.program;
  Expr offset = getLoadOffset(step, program, load);
  auto isStride = [&](unsigned dim, int64_t items) {
    auto stride = getDimCoefficient(offset, dim);
    return stride && stride->isConstant(items);
  };
  if (!program.varies(load, 0) || !isStride(schedule.getLanesDim(), 1))
    return false;
  int64_t element = getElementBytes(program[load].type);
  if (!schedule.isOfColumns())
    return schedule.getVector() * element >= guardedAlignment;
  // Vectors of two say that the tensor is aligned, but not where its rows are.
  MLIRContext *context = step.getContext();
  Expr none = Expr::constant(context, 0),
       begin = offset.replaceDims({Expr::dim(context, 0), none, none});
  std::optional<int64_t> columns = program.getSizes()[2].getConstant();
  return columns && isStride(1, *columns) && schedule.getVector() > 1 &&
         getOffsetAlignment(
             getAlignmentIfGuarded(step.getInputBuffer(program[load].value)),
             element, {begin}) == guardedAlignment;
}

/// Whether blocks keep what they reduce, one row or its columns each. Those
/// that take several each come to later ones half as soon, so that twice as
/// much would lie in L2: softmax of 8192 x 32000 lost 6%.
static bool keepsOnce(const RowIteration &iteration,
                      ReduceScheduleAttr schedule) {
  bool ofBlocks = schedule.getScope() == ReduceScope::Block ||
                  schedule.getScope() == ReduceScope::Cluster ||
                  schedule.isOfTeam() ||
                  (schedule.isOfColumns() && !isOnePass(iteration) &&
                   !areColumnsShifted(iteration, schedule));
  return ofBlocks && schedule.getKept() && !schedule.getBlocks() &&
         !iteration.isWide && !getFullStores(iteration).empty();
}

/// How many items of its share of a later row a block has L2 fetch. Teams that
/// normalise have room for a quarter beside what they store: LayerNorm of
/// 128 x 262144 floats with a scale took 117.6 us by all of it, 95.3, 94.5 and
/// 95.7 by half, a quarter and nothing, a norm by squares without one 76.4,
/// 73.5, 73.7 and 75.7. Exponentials leave the memory more time: softmax of
/// 32 x 524288 floats 53.3, 54.5, 55.5 and 56.8.
static int64_t countFetched(const RowIteration &iteration,
                            ReduceScheduleAttr schedule, int64_t share,
                            int64_t elementBytes) {
  if (!schedule.isOfTeam() || findOnlinePair(iteration))
    return share;
  int64_t part = share / 4;
  return part - part % (guardedAlignment / elementBytes);
}

int64_t fusec::getRowsAhead(StepOp step, const Target &target,
                            const RowIteration &iteration,
                            ReduceScheduleAttr schedule, int64_t together) {
  std::optional<Fetched> fetched = findFetched(iteration, schedule);
  if (!fetched || !keepsOnce(iteration, schedule))
    return 0;
  // Of less than half as many blocks again there is little to fetch: group norm
  // with SiLU of 512 rows of 16384 floats, 396 at a time, took 22.7 us
  // for 22.2.
  int64_t blocks = fetched->rows * fetched->blocks;
  if (blocks > maxGridBlocks ||
      double(blocks) < 1.5 * double(together * target.multiprocessors))
    return 0;
  int64_t bytes = 0;
  for (unsigned load :
       getKeptLoads(iteration, schedule.getLanesDim(), [&](unsigned n) {
         return isRun(step, iteration, schedule, n);
       })) {
    int64_t row =
        fetched->items * getElementBytes(iteration.program[load].type);
    if (row % (fetched->blocks * guardedAlignment))
      return 0;
    bytes += row;
  }
  double most = schedule.isOfColumns() ? target.keptColumns.fetchedBytes
                                       : target.row.fetchedBytes;
  // Later rows' teams begin one behind another, since blocks end so: norms of
  // 64 rows of 1 MB took 40.8 us by 16 rows ahead, 41.7 by 24, 43.5 by none.
  if (schedule.isOfTeam())
    most *= 2;
  auto ahead = int64_t(most * target.multiprocessors /
                       double(std::max<int64_t>(bytes, 1)));
  return bytes && ahead < fetched->rows ? ahead : 0;
}

void RowPrinter::printFetches() {
  if (!schedule.getFetched())
    return;
  StepOp step = writer.getStep();
  const ScalarProgram &program = iteration.program;
  Fetched fetched = *findFetched(iteration, schedule);
  int64_t share = fetched.items / fetched.blocks;
  std::string begin =
      fetched.blocks == 1 ? "0"
      : form.ofColumns
          ? fmt::format("column / {} * {}", schedule.getRowsAtOnce(), share)
          : fmt::format("Scope::block() * {}", share);
  std::vector<std::string> place = {"later", begin};
  if (form.ofColumns)
    place.insert(place.begin() + 1, "0");
  writer.addHeader("reduce_fetch.h");
  writer.line("const {} later = row + {};", index, schedule.getFetched());
  writer.open("if (later < {})", fetched.rows);
  for (auto &[load, name] : kept)
    if (program[load].kind == ScalarNode::Kind::Load &&
        isRun(step, iteration, schedule, load))
      writer.line("fusec::fetchForBlock<{}>({} + {}, {});", readsStay(step),
                  getSource(program[load].value).pointer,
                  writer.print(getLoadOffset(step, program, load), place),
                  countFetched(iteration, schedule, share,
                               getElementBytes(program[load].type)));
  writer.close();
}
