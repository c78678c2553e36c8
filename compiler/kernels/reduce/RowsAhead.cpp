// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What L2 fetches for later rows, since the memory has little to read while all
// that run reduce and store what they have loaded.

#include "compiler/analysis/GridLimit.h"
#include "compiler/kernels/reduce/RowPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// Whether the load's items lie side by side along the row.
static bool isRun(StepOp step, const ScalarProgram &program, unsigned load) {
  auto stride = getDimCoefficient(getLoadOffset(step, program, load), 1);
  return stride && stride->isConstant(1) && program.varies(load, 0);
}

int64_t fusec::getRowsAhead(StepOp step, const Target &target,
                            const RowIteration &iteration,
                            ReduceScheduleAttr schedule) {
  const ScalarProgram &program = iteration.program;
  std::optional<int64_t> rows = program.getSizes()[0].getConstant(),
                         length = iteration.length.getConstant();
  ReduceScope scope = schedule.getScope();
  // Blocks that take several rows each come to later ones half as soon, so that
  // twice as much would lie in L2: softmax of 8192 x 32000 lost 6%.
  if ((scope != ReduceScope::Block && scope != ReduceScope::Cluster) ||
      !schedule.getKept() || schedule.getBlocks() || iteration.isWide ||
      !rows || !length || *rows * schedule.getCluster() > maxGridBlocks ||
      getFullStores(iteration).empty())
    return 0;
  int64_t bytes = 0;
  for (unsigned load : getKeptLoads(
           iteration, 1, [&](unsigned n) { return isRun(step, program, n); })) {
    int64_t element = getElementBytes(program[load].type);
    // Whole vectors of 16 bytes are fetched, and a block's share of them.
    if (schedule.getVector() * element < 16 ||
        *length % (schedule.getVector() * schedule.getCluster()))
      return 0;
    bytes += element;
  }
  auto ahead = int64_t(target.row.fetchedBytes * target.multiprocessors /
                       double(std::max<int64_t>(bytes * *length, 1)));
  return bytes && ahead < *rows ? ahead : 0;
}

void RowPrinter::printFetches() {
  if (!schedule.getFetched())
    return;
  StepOp step = writer.getStep();
  const ScalarProgram &program = iteration.program;
  int64_t cluster = schedule.getCluster(),
          share = *iteration.length.getConstant() / cluster;
  std::string begin =
      cluster > 1 ? fmt::format("Scope::block() * {}", share) : "0";
  writer.addHeader("reduce_fetch.h");
  writer.line("const {} later = row + {};", index, schedule.getFetched());
  writer.open("if (later < {})", writer.print(program.getSizes()[0], {}));
  for (auto &[load, name] : kept)
    if (program[load].kind == ScalarNode::Kind::Load &&
        isRun(step, program, load))
      writer.line(
          "fusec::fetchForBlock({} + {}, {});",
          getSource(program[load].value).pointer,
          writer.print(getLoadOffset(step, program, load), {"later", begin}),
          share);
  writer.close();
}
