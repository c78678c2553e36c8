// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Iteration.h"
#include "compiler/schedule/Schedules.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

SmallVector<VariantAttr> fusec::chooseReduceVariants(StepOp step,
                                                     const Target &) {
  MLIRContext *context = step.getContext();
  Block &block = step.getBody().front();
  auto iteration = analyzeRows(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](unsigned i) { return getStrides(getOutputBuffer(step, i)); });
  if (failed(iteration))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Reduce, context))};

  // Neighbouring threads should read neighbouring elements: along the row where
  // it is contiguous, else across rows.
  const ScalarProgram &program = iteration->program;
  unsigned alongRow = 0, acrossRows = 0;
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != Kind::Load || !program.varies(n, 1))
      continue;
    Expr offset = program.getRanges().simplify(getOffset(
        node.indices, getStrides(getInputBuffer(step, node.value)), context));
    auto row = getDimCoefficient(offset, 0), k = getDimCoefficient(offset, 1);
    if (k && k->isConstant(1))
      ++alongRow;
    else if (row && row->isConstant(1))
      ++acrossRows;
  }
  int64_t length = getTypicalValue(program.getSizes()[1]),
          rows = getTypicalValue(program.getSizes()[0]);
  ReduceScope scope = ReduceScope::Block;
  int64_t threads = 256;
  if (length <= 4 || (acrossRows > alongRow && rows >= 4096)) {
    scope = ReduceScope::Thread;
    threads = 128;
  } else if (length <= 1024) {
    scope = ReduceScope::Warp;
    threads = 128;
  }
  IndexWidth width = getIndexWidth(step);
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t bits) {
    return VariantAttr::get(
        context, guards,
        ReduceScheduleAttr::get(context, scope, threads, bits));
  };
  if (width.alwaysNarrow)
    return {variant({}, 32)};
  if (width.neverNarrow)
    return {variant({}, 64)};
  return {variant(width.guards, 32), variant({}, 64)};
}
