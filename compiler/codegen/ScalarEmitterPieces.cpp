// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the scalar emitter that asks for pieces of a concat, and loads
// what vectors need that begin anywhere: of a piece, lanes that ask for it.

#include "compiler/codegen/ScalarEmitter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

std::string ScalarEmitter::condition(const IndexCondition &c) {
  ExprRanges ranges = program.getRanges();
  std::string value = print(c.value), text;
  if (!ranges.isNonNegative(c.value - c.lower))
    text = fmt::format("{} >= {}", value, print(c.lower));
  if (!ranges.isLess(c.value, c.upper))
    text += fmt::format("{}{} < {}", text.empty() ? "" : " && ", value,
                        print(c.upper));
  return text.empty() ? "true" : text;
}

std::string ScalarEmitter::emitPiecewise(unsigned id, bool inStorage) {
  const ScalarNode &node = program[id];
  std::string name = writer.uniqueName("piece");
  writer.line("{} {} = {{}};",
              inStorage ? storageType(node.type) : computeType(node.type),
              name);
  for (auto [i, operand] : llvm::enumerate(node.operands)) {
    writer.open("{}if ({})", i ? "else " : "", condition(node.conditions[i]));
    pushScope();
    writer.line("{} = {};", name,
                inStorage ? emitStored(operand) : emit(operand));
    popScope();
    writer.close();
  }
  if (!inStorage)
    scopes.back()[id] = {name, false};
  return name;
}

void ScalarEmitter::prepareShiftedLoad(unsigned id, const IndexCondition *c) {
  writer.addHeader("shifted.h");
  const ScalarNode &node = program[id];
  Access access = sources.load(node.value);
  std::string around = writer.uniqueName(access.pointer + "_around"),
              name = writer.uniqueName(access.pointer + "_at"), more;
  if (c) {
    ExprRanges ranges = program.getRanges();
    std::string value = print(c->value);
    if (!c->value.getOperands().empty())
      value = fmt::format("({})", value);
    bool isFromFirst = ranges.isNonNegative(c->value - c->lower),
         isToLast = ranges.isLess(c->value, c->upper);
    more = fmt::format(
        ", {}, {}",
        isFromFirst ? "0" : fmt::format("{} - {}", print(c->lower), value),
        isToLast ? "V" : fmt::format("{} - {}", print(c->upper), value));
  }
  int64_t bytes = getElementBytes(node.type);
  Expr extent = getExtent(getSizes(node.value), access.strides);
  int64_t granule = std::min(guardedAlignment, lanes->width * bytes);
  if (fusec::getAlignment(extent, granule, bytes) < granule)
    more += fmt::format(", {} + {}", access.pointer, print(extent));
  Expr offset = getLoadOffset(node, access);
  auto along = getDimCoefficient(offset, lanes->dim);
  bool isBackwards = along && along->isConstant(-1);
  writer.line("const auto {} = fusec::loadAround<V>({} + {}{}{});", around,
              access.pointer, print(offset), isBackwards ? " - (V - 1)" : "",
              more);
  unsettled.push_back(fmt::format(
      isBackwards ? "const auto {} = fusec::reverse(fusec::shift({}));"
                  : "const auto {} = fusec::shift({});",
      name, around));
  // Within a branch nothing is left for later.
  if (scopes.size() > 1)
    settleRows();
  scopes.back()[id] = {name, true};
}

void ScalarEmitter::prepareShiftedLoads(unsigned id, const IndexCondition &c,
                                        Visited &visited) {
  if (find(id) || !visited.insert(id).second)
    return;
  if (shifted.contains(id))
    prepareShiftedLoad(id, &c);
  else if (program[id].kind == Kind::Compute)
    for (unsigned operand : program[id].operands)
      prepareShiftedLoads(operand, c, visited);
}
