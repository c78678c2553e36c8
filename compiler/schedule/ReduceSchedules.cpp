// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Iteration.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/schedule/StepBytes.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

SmallVector<VariantAttr> fusec::chooseReduceVariants(StepOp step,
                                                     const Target &target) {
  MLIRContext *context = step.getContext();
  Block &block = step.getBody().front();
  auto iteration = analyzeRows(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
  if (failed(iteration))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Reduce, context))};

  // Neighbouring threads should read neighbouring elements: along the row where
  // it is contiguous, else across rows.
  const ScalarProgram &program = iteration->program;
  unsigned alongRow = 0, acrossRows = 0;
  int64_t element = 1;
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != Kind::Load || !program.varies(n, 1))
      continue;
    element = std::max(element, getElementBytes(node.type));
    Expr offset = program.getRanges().simplify(
        getOffset(node.indices,
                  step.getInputBuffer(node.value).getStrideExprs(), context));
    auto row = getDimCoefficient(offset, 0), k = getDimCoefficient(offset, 1);
    if (k && k->isConstant(1))
      ++alongRow;
    else if (row && row->isConstant(1))
      ++acrossRows;
  }
  StepBytes bytes = getStepBytes(step, {});
  bool stores = llvm::any_of(iteration->stores,
                             [](const RowStore &s) { return s.isFull; });
  RowSizes sizes{double(getTypicalValue(program.getSizes()[0])),
                 double(getTypicalValue(program.getSizes()[1])),
                 double(bytes.read + bytes.written),
                 unsigned(iteration->reductions.size() + stores),
                 alongRow >= acrossRows,
                 unsigned(element)};
  IndexWidth width = getIndexWidth(step);
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t bits) {
    SmallVector<Candidate> candidates;
    for (auto [scope, threads] :
         {std::pair(ReduceScope::Block, 256), std::pair(ReduceScope::Warp, 128),
          std::pair(ReduceScope::Thread, 128)}) {
      auto schedule = ReduceScheduleAttr::get(context, scope, threads, bits);
      candidates.push_back({schedule, estimateReduce(target, sizes, schedule)});
    }
    return makeVariant(context, guards, candidates);
  };
  if (width.alwaysNarrow)
    return {variant({}, 32)};
  if (width.neverNarrow)
    return {variant({}, 64)};
  return {variant(width.guards, 32), variant({}, 64)};
}
