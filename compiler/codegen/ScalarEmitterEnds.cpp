// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What quotients of the place say changes between two lanes of a vector and
// nowhere else, where the divisor is at least its width: it is computed for the
// first and the last lane, and no lane divides.

#include "compiler/codegen/ScalarEmitter.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

void ScalarEmitter::findPlacesOfChange() {
  places.assign(program.size(), std::nullopt);
  for (size_t id = 0; id < program.size(); ++id) {
    const ScalarNode &node = program[id];
    asksPieces |= node.kind == Kind::Piecewise;
    if (!variesByLane(id)) {
      places[id] = 0;
    } else if (node.kind == Kind::Load) {
      places[id] = getPlacesOfChange(
          getLoadOffset(node, sources.load(node.value)), lanes->dim);
    } else if (node.kind == Kind::Index) {
      places[id] = getPlacesOfChange(node.expr, lanes->dim);
    } else if (node.kind == Kind::Compute) {
      places[id] = 0;
      for (unsigned operand : node.operands)
        places[id] = joinPlacesOfChange(places[id], places[operand]);
    }
  }
}

std::string ScalarEmitter::declareOnce(const std::string &base,
                                       const std::string &text) {
  for (const auto &known : llvm::reverse(wholeLoads))
    if (auto it = known.find(text); it != known.end())
      return it->second;
  std::string name = writer.uniqueName(base);
  writer.line("const auto {} = {};", name, text);
  return wholeLoads.back()[text] = name;
}

Expr ScalarEmitter::nameQuotients(Expr expr, std::vector<std::string> &names) {
  Expr place = Expr::dim(program.getContext(), lanes->dim);
  ArrayRef<Expr> operands = expr.getOperands();
  if (!usesDim(expr, lanes->dim) || operands.empty())
    return expr;
  if (expr.getKind() == ExprKind::FloorDiv && operands[0] == place) {
    auto by = operands[1].getConstant();
    if (!by || *by < lanes->width)
      return expr;
    std::string left =
        declareOnce("left", fmt::format("{0} - {1} % {0}", *by, firstPlace));
    names.push_back(
        declareOnce("quotient", fmt::format("{} / {} + (lane >= {})",
                                            firstPlace, *by, left)));
    return Expr::dim(program.getContext(), names.size() - 1);
  }
  SmallVector<Expr> named = llvm::map_to_vector(
      operands, [&](Expr operand) { return nameQuotients(operand, names); });
  Expr all = named[0];
  for (Expr operand : ArrayRef(named).drop_front())
    all = expr.getKind() == ExprKind::Add        ? all + operand
          : expr.getKind() == ExprKind::Mul      ? all * operand
          : expr.getKind() == ExprKind::FloorDiv ? all.floorDiv(operand)
          : expr.getKind() == ExprKind::Min      ? Expr::min(all, operand)
                                                 : Expr::max(all, operand);
  return all;
}

bool ScalarEmitter::prepareEnds(unsigned id) {
  if (!lanes->choosesEnds || lanes->width == 1 || inLanes)
    return false;
  if (places.empty())
    findPlacesOfChange();
  if (!places[id] || *places[id] < lanes->width)
    return false;
  std::string first = dims[lanes->dim];
  auto emitAt = [&](const std::string &place) {
    pushScope();
    nameIndex(lanes->dim, place);
    std::string name = emit(id);
    nameIndex(lanes->dim, first);
    popScope();
    return name;
  };
  Name name{emitAt(first), /*isVector=*/false};
  std::string last = declareOnce("last", fmt::format("{} + (V - 1)", first));
  atLast = true;
  name.last = emitAt(last);
  atLast = false;
  name.left =
      declareOnce("left", fmt::format("{0} - {1} % {0}", *places[id], first));
  scopes.back()[id] = name;
  hasEnds = true;
  return true;
}
