// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maxima and sums of exponentials below them: which ones a pass can find both,
// and that pass.

#include "compiler/kernels/reduce/RowPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// Whether the node is the largest value of a row where that is finite, else 0,
/// so that exponentials of infinite ones below it are no NaN.
static bool isFiniteOrZero(const ScalarProgram &program, unsigned node,
                           llvm::function_ref<bool(unsigned)> isMost) {
  auto isOp = [&]<class Op>(unsigned n, Op *) {
    return program[n].kind == ScalarNode::Kind::Compute &&
           isa<Op>(program[n].op);
  };
  auto isConstant = [&](unsigned n, bool isInfinity) {
    auto value = dyn_cast_or_null<FloatAttr>(program[n].constant);
    return program[n].kind == ScalarNode::Kind::Splat && value &&
           (isInfinity ? value.getValue().isInfinity() &&
                             !value.getValue().isNegative()
                       : value.getValue().isZero());
  };
  if (!isOp(node, (SelectOp *)nullptr))
    return false;
  ArrayRef<unsigned> select = program[node].operands;
  if (!isMost(select[1]) || !isConstant(select[2], false) ||
      !isOp(select[0], (LessOp *)nullptr))
    return false;
  ArrayRef<unsigned> less = program[select[0]].operands;
  return isOp(less[0], (AbsOp *)nullptr) && isConstant(less[1], true) &&
         isMost(program[less[0]].operands[0]);
}

std::optional<OnlinePair> fusec::findOnlinePair(const RowIteration &iteration) {
  const ScalarProgram &program = iteration.program;
  auto isOf = [](ArrayRef<RowReduction> pass, ReduceKind kind) {
    auto reduce = dyn_cast<ReduceOp>(pass[0].op);
    return pass.size() == 1 && reduce && reduce.getKind() == kind;
  };
  auto passes = getPasses(iteration);
  for (size_t p = 0; p + 1 < passes.size(); ++p) {
    const RowReduction &most = passes[p][0];
    const ScalarNode &exp = program[passes[p + 1][0].operand];
    if (!isOf(passes[p], ReduceKind::Max) ||
        !isOf(passes[p + 1], ReduceKind::Sum) ||
        !program[most.operand].type.isF32() ||
        exp.kind != ScalarNode::Kind::Compute || !isa<ExpOp>(exp.op))
      continue;
    const ScalarNode &below = program[exp.operands[0]];
    auto isMost = [&](unsigned node) {
      return program[node].kind == ScalarNode::Kind::Root &&
             program[node].value == most.op->getResult(0);
    };
    if (below.kind != ScalarNode::Kind::Compute || !isa<SubOp>(below.op) ||
        below.operands[0] != most.operand)
      continue;
    bool isFinite = isFiniteOrZero(program, below.operands[1], isMost);
    if (isFinite || isMost(below.operands[1]))
      return OnlinePair{p, isFinite};
  }
  return std::nullopt;
}

std::string RowPrinter::getOnlineCombiner() {
  writer.addHeader("reduce_online.h");
  return fmt::format("fusec::OnlineSum<fusec::{}Exp>",
                     writer.storesHalvesOnly() ? "Fast" : "Precise");
}

/// Both reductions in one pass.
void RowPrinter::printOnlinePair(const RowReduction &most, Operation *sum,
                                 bool isFinite) {
  emitter->hoist(most.operand, 1);
  std::string name = writer.uniqueName("online");
  openLoop(fmt::format("const auto {} = fusec::reduceOnline<Scope, {}, {}{}>",
                       name, getOnlineCombiner(), schedule.getVector(),
                       isFinite ? ", true" : ""),
           ", auto add)", form.length);
  emitter->forEachLane(most.operand, [&](unsigned, StringRef element) {
    writer.line("add(lane, {});", element);
  });
  closeLoop();
  results[most.op->getResult(0).getAsOpaquePointer()] = name + ".most";
  results[sum->getResult(0).getAsOpaquePointer()] = name + ".sum";
}
