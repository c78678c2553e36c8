// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes through L2 on its way to a reduction: data that nobody reads
// again is to leave it before what others have there, and before what is still
// to be written back.

#include "compiler/analysis/TypicalSizes.h"
#include "compiler/kernels/reduce/Reduce.h"

using namespace mlir;
using namespace fusec;

/// Whether a later kernel reads the buffer.
static bool isReadLater(StepOp step, BufferOp buffer) {
  for (Operation *op = step->getNextNode(); op; op = op->getNextNode())
    if (auto later = dyn_cast<StepOp>(op))
      for (Attribute input : later.getInputs())
        if (cast<FlatSymbolRefAttr>(input).getValue() == buffer.getSymName())
          return true;
  return false;
}

/// Whether the kernel gains by it: of those that store at every point most lost
/// on an H100, up to a quarter.
static bool gainsByPassing(const RowIteration &iteration,
                           ReduceScheduleAttr schedule) {
  size_t reads = getPasses(iteration).size() - schedule.getOnline();
  return (schedule.getKept() || reads == 1) && getFullStores(iteration).empty();
}

SmallVector<int64_t> fusec::getPassingReads(StepOp step,
                                            const RowIteration &iteration,
                                            ReduceScheduleAttr schedule) {
  SmallVector<int64_t> passing;
  if (!gainsByPassing(iteration, schedule))
    return passing;
  const ReduceCosts &costs = getTarget(step).reduce;
  const ScalarProgram &program = iteration.program;
  SmallVector<unsigned> reads = getReads(program);
  llvm::DenseMap<Value, unsigned> readers;
  for (unsigned node : reads)
    ++readers[program[node].value];
  for (auto [place, node] : llvm::enumerate(reads)) {
    Value value = program[node].value;
    if (program[node].kind != ScalarNode::Kind::Load || readers[value] != 1 ||
        !program.variesEverywhere(node))
      continue;
    // What the kernel before wrote is in L2 in part.
    BufferOp buffer = step.getInputBuffer(value);
    if (buffer.getKind() != BufferKind::Input || isReadLater(step, buffer))
      continue;
    Expr count = getElementCount(getSizes(buffer.getType()), step.getContext());
    double bytes = double(getSampledValue(count, typicalDim)) *
                   getElementBytes(buffer.getElementType());
    if (bytes >= costs.passingBytes && bytes <= costs.mostPassingBytes)
      passing.push_back(place);
  }
  return passing;
}
