// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/PassingReads.h"
#include "compiler/analysis/AccessWidths.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/analysis/TypicalSizes.h"
#include "compiler/kernels/Estimate.h"

using namespace mlir;
using namespace fusec;

static bool reads(Operation *op, BufferOp buffer) {
  auto step = dyn_cast<StepOp>(op);
  return step &&
         llvm::is_contained(step.getInputs(), FlatSymbolRefAttr::get(buffer));
}
/// Whether a kernel before, or a later one, reads the buffer.
static bool isReadEarlier(StepOp step, BufferOp buffer) {
  for (Operation *op = step->getPrevNode(); op; op = op->getPrevNode())
    if (reads(op, buffer))
      return true;
  return false;
}
static bool isReadLater(StepOp step, BufferOp buffer) {
  for (Operation *op = step->getNextNode(); op; op = op->getNextNode())
    if (reads(op, buffer))
      return true;
  return false;
}

static double countElements(BufferOp buffer) {
  Expr count = getElementCount(getSizes(buffer.getType()), buffer.getContext());
  return double(getSampledValue(count, typicalDim));
}
static double getBytes(BufferOp buffer) {
  return countElements(buffer) * getElementBytes(buffer.getElementType());
}

/// Whether nobody reads the buffer's bytes behind the step.
static bool isReadLast(StepOp step, BufferOp buffer) {
  // What the kernel before wrote is in L2 in part.
  return buffer.getKind() == BufferKind::Input && !isReadLater(step, buffer);
}

static bool usesIndices(const ScalarNode &load) {
  return llvm::any_of(load.indices, usesIndirect);
}
/// Elements that are picked one by one are none.
static bool isOfNamedRows(const ScalarNode &load) {
  return usesIndices(load) && !usesIndirect(load.indices.back());
}

/// Whether each element is asked for once, by one of so many loads.
static bool isReadOnce(const ScalarProgram &program, unsigned load,
                       double elements, unsigned readers) {
  if (!program.variesEverywhere(load) || usesIndices(program[load]))
    return false;
  // Loads that share them out, as halves or pairs, and none by two.
  Expr points = getElementCount(program.getSizes(), program.getContext());
  if (readers > 1 &&
      readers * double(getSampledValue(points, typicalDim)) > elements)
    return false;
  // The only dim may be several that became one, of which it varies with some.
  ArrayRef<Expr> sizes = program.getSizes();
  return sizes.size() != 1 ||
         2 * elements > double(getSampledValue(sizes[0], typicalDim));
}

SmallVector<int64_t> fusec::findPassingReads(StepOp step,
                                             const ScalarProgram &program) {
  const PassingCosts &costs = getTarget(step).passing;
  bool stay = readsStay(step);
  SmallVector<int64_t> passing;
  SmallVector<unsigned> reads = getReads(program);
  llvm::DenseMap<Value, unsigned> readers;
  for (unsigned node : reads)
    ++readers[program[node].value];
  for (auto [place, node] : llvm::enumerate(reads)) {
    Value value = program[node].value;
    if (program[node].kind != ScalarNode::Kind::Load)
      continue;
    BufferOp buffer = step.getInputBuffer(value);
    double bytes = getBytes(buffer);
    bool passes =
        isReadOnce(program, node, countElements(buffer), readers[value]) ||
        (stay && readers[value] == 1 && isOfNamedRows(program[node]));
    if (passes && isReadLast(step, buffer) && bytes >= costs.leastBytes &&
        (stay || bytes <= costs.mostBytes))
      passing.push_back(place);
  }
  return passing;
}

bool fusec::readsAgain(StepOp step) {
  return llvm::any_of(step.getBody().getArguments(), [&](Value argument) {
    BufferOp buffer = step.getInputBuffer(argument);
    return buffer.getKind() == BufferKind::Input &&
           getBytes(buffer) >= getTarget(step).passing.leastBytes &&
           isReadEarlier(step, buffer);
  });
}

static double getMovedBytes(StepBytes bytes) {
  return double(bytes.read + bytes.written);
}

bool fusec::isHeldByL2(StepOp step) {
  return getMovedBytes(getStepBytesAt(step, typicalDim)) <=
         getTarget(step).passing.heldBytes;
}

bool fusec::readsStay(StepOp step) {
  // Sums and what is asked for by a few indices store little.
  constexpr double leastStored = 0.25;
  const PassingCosts &costs = getTarget(step).passing;
  StepBytes bytes = getStepBytesAt(step, typicalDim);
  double moved = getMovedBytes(bytes), written = double(bytes.written);
  return moved > costs.leastStayingBytes &&
         (moved > costs.heldBytes ||
          moved + written <= costs.mostStayingBytes) &&
         written >= leastStored * double(bytes.read);
}
