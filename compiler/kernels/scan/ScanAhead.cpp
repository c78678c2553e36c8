// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What L2 fetches for later blocks while blocks of parts wait for one another,
// since the memory would have nothing to do.

#include "compiler/analysis/VectorAccesses.h"
#include "compiler/codegen/Emitters.h"
#include "compiler/kernels/Estimate.h"
#include "compiler/kernels/scan/Scan.h"

using namespace mlir;
using namespace fusec;

/// Loads of what is summed that lie along rows, or columns, as accesses do.
static SmallVector<unsigned> findFetched(StepOp step,
                                         const ScanIteration &iteration,
                                         ReduceScheduleAttr schedule) {
  const ScalarProgram &program = iteration.program;
  SmallVector<unsigned> found, left = {iteration.item};
  llvm::SmallDenseSet<unsigned> visited;
  while (!left.empty()) {
    unsigned node = left.pop_back_val();
    if (!visited.insert(node).second)
      continue;
    switch (program[node].kind) {
    case ScalarNode::Kind::Load: {
      auto stride = getDimCoefficient(getLoadOffset(step, program, node),
                                      schedule.getLanesDim());
      if (stride && stride->isConstant(1) && program.varies(node, 1))
        found.push_back(node);
      break;
    }
    case ScalarNode::Kind::Piecewise:
    case ScalarNode::Kind::GatherRow:
    case ScalarNode::Kind::Gather:
    case ScalarNode::Kind::Lookup:
      return {}; // There may be nothing to read.
    default:
      llvm::append_range(left, program[node].operands);
    }
  }
  return found;
}

int64_t fusec::getBlocksAhead(StepOp step, const ScanIteration &iteration,
                              ReduceScheduleAttr schedule) {
  int64_t resident = areTiles(iteration, schedule) ? columnTilesTogether
                                                   : schedule.getResident();
  if (!iteration.parts || isRun(iteration, schedule) ||
      !getFlagWords(iteration, schedule) ||
      findFetched(step, iteration, schedule).empty())
    return 0;
  const Target &target = getTarget(step);
  auto blocks = int64_t(target.multiprocessors * double(resident) *
                        target.scan.aheadPart);
  int64_t all =
      *getStrips(iteration, schedule).getConstant() * iteration.parts->count;
  return blocks < all ? blocks : 0;
}

void fusec::printFetches(KernelWriter &writer, const ScanIteration &iteration,
                         ReduceScheduleAttr schedule,
                         const ScalarEmitter::Sources &sources) {
  StepOp step = writer.getStep();
  const ScalarProgram &program = iteration.program;
  bool ofColumns = schedule.isOfColumns();
  for (unsigned node : findFetched(step, iteration, schedule)) {
    std::string pointer = sources.load(program[node].value).pointer,
                offset =
                    writer.print(getLoadOffset(step, program, node),
                                 {"row", ofColumns ? "(first + k)" : "first",
                                  ofColumns ? "column" : "0"});
    if (ofColumns)
      writer.line("fusec::fetchEach(length, [&]({} k) {{ return {} + {}; }});",
                  writer.indexType(), pointer, offset);
    else
      writer.line("fusec::fetchRun({} + {}, length);", pointer, offset);
  }
}
