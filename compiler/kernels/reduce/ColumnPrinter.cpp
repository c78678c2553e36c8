// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the row printer that knows how threads walk along columns.

#include "compiler/kernels/reduce/RowPrinter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

std::optional<unsigned>
RowPrinter::findPairs(ArrayRef<RowReduction> pass) const {
  const ScalarProgram &program = iteration.program;
  auto reduce = dyn_cast<ReduceOp>(pass[0].op);
  if (!reduce || !reduce.findsExtreme() || pass.size() > 1 || !form.ofColumns ||
      form.hasPhases || schedule.getVector() % 2)
    return std::nullopt;
  unsigned node = pass[0].operand;
  if (isa_and_present<CastOp>(program[node].op) && program[node].type.isF32())
    node = program[node].operands[0];
  const ScalarNode &read = program[node];
  bool areHalves = read.type.isF16() || read.type.isBF16();
  if (read.kind != ScalarNode::Kind::Load || !areHalves ||
      !program.varies(node, 2))
    return std::nullopt;
  return node;
}

/// Whether some warps have an item more of their columns than others.
static bool takesOwnRest(Expr length, ReduceScheduleAttr schedule) {
  constexpr int64_t warp = 32;
  std::optional<int64_t> known = length.getConstant();
  int64_t groups = schedule.getGroups();
  return known && *known % groups && schedule.getThreads() / groups % warp == 0;
}

std::string RowPrinter::walkArguments() const {
  if (form.scope != "Scope")
    return "";
  bool ownRest = takesOwnRest(iteration.length, schedule);
  if (columnSteps.together != ColumnSteps().together)
    return fmt::format(", {}, {}", ownRest, columnSteps.together);
  return ownRest ? ", true" : "";
}
