// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/PassingReads.h"
#include "compiler/analysis/AccessWidths.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/analysis/TypicalSizes.h"
#include "compiler/kernels/Estimate.h"

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

/// Whether each element is asked for once, as far as that is known: of rows
/// that indices name, some are asked for again.
static bool isReadOnce(const ScalarProgram &program, unsigned load,
                       double elements) {
  if (!program.variesEverywhere(load) ||
      llvm::any_of(program[load].indices, usesIndirect))
    return false;
  // The only dim may be several that became one, of which it varies with some.
  ArrayRef<Expr> sizes = program.getSizes();
  return sizes.size() != 1 ||
         2 * elements > double(getSampledValue(sizes[0], typicalDim));
}

SmallVector<int64_t> fusec::findPassingReads(StepOp step,
                                             const ScalarProgram &program) {
  const PassingCosts &costs = getTarget(step).passing;
  SmallVector<int64_t> passing;
  SmallVector<unsigned> reads = getReads(program);
  llvm::DenseMap<Value, unsigned> readers;
  for (unsigned node : reads)
    ++readers[program[node].value];
  for (auto [place, node] : llvm::enumerate(reads)) {
    Value value = program[node].value;
    if (program[node].kind != ScalarNode::Kind::Load || readers[value] != 1)
      continue;
    // What the kernel before wrote is in L2 in part.
    BufferOp buffer = step.getInputBuffer(value);
    if (buffer.getKind() != BufferKind::Input || isReadLater(step, buffer))
      continue;
    Expr count = getElementCount(getSizes(buffer.getType()), step.getContext());
    double elements = double(getSampledValue(count, typicalDim)),
           bytes = elements * getElementBytes(buffer.getElementType());
    if (isReadOnce(program, node, elements) && bytes >= costs.leastBytes &&
        bytes <= costs.mostBytes)
      passing.push_back(place);
  }
  return passing;
}

bool fusec::readsStay(StepOp step) {
  // Sums and what is asked for by a few indices store little.
  constexpr double leastStored = 0.25;
  StepBytes bytes = getStepBytesAt(step, typicalDim);
  double read = double(bytes.read), written = double(bytes.written);
  return read + written > getTarget(step).passing.leastStayingBytes &&
         written >= leastStored * read;
}

bool fusec::staysInL2(StepOp step, BufferOp buffer) {
  return buffer.getKind() == BufferKind::Input && !isReadLater(step, buffer) &&
         readsStay(step);
}
