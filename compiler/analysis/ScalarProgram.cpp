// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/ScalarProgram.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

Expr fusec::getOffset(ArrayRef<Expr> indices, ArrayRef<Expr> strides,
                      MLIRContext *context) {
  Expr offset = Expr::constant(context, 0);
  for (auto [index, stride] : llvm::zip_equal(indices, strides))
    offset = offset + index * stride;
  return offset;
}

unsigned ScalarProgram::add(ScalarNode node) {
  nodes.push_back(std::move(node));
  return nodes.size() - 1;
}

unsigned ScalarProgram::build(Value value, ArrayRef<Expr> rawIndices,
                              Inside isInside) {
  ExprRanges ranges = getRanges();
  SmallVector<Expr> indices;
  for (Expr index : rawIndices)
    indices.push_back(ranges.simplify(index));
  std::vector<const void *> key;
  for (Expr index : indices)
    key.push_back(index.getAttr().getAsOpaquePointer());
  auto entry = std::make_pair(value.getAsOpaquePointer(), std::move(key));
  if (auto it = known.find(entry); it != known.end())
    return it->second;

  Operation *op = value.getDefiningOp();
  unsigned node;
  if (op && isInside(op)) {
    node = buildInside(op, value, indices, isInside);
  } else {
    node = add({Kind::Load, getElementType(value)});
    nodes[node].value = value;
    nodes[node].indices = indices;
  }
  known[entry] = node;
  return node;
}

unsigned ScalarProgram::buildInside(Operation *op, Value value,
                                    ArrayRef<Expr> indices, Inside isInside) {
  ScalarNode node{Kind::Root, getElementType(value), op};
  node.value = value;
  node.indices.assign(indices.begin(), indices.end());
  if (isa<ReduceOp, ArgReduceOp, CumSumOp, ContractionOp, PairProductOp, BagOp>(
          op))
    return add(std::move(node));
  if (auto splat = dyn_cast<SplatOp>(op)) {
    node.kind = Kind::Splat;
    node.indices.clear();
    node.constant = cast<TypedAttr>(splat.getValue());
    return add(std::move(node));
  }
  if (auto constant =
          dyn_cast<ConstantOp>(op)) { // a splat, seen before cloning
    node.kind = Kind::Splat;
    node.indices.clear();
    node.constant =
        cast<DenseElementsAttr>(constant.getValue()).getSplatValue<TypedAttr>();
    return add(std::move(node));
  }
  if (auto iota = dyn_cast<IotaOp>(op)) {
    node.kind = Kind::Index;
    node.indices.clear();
    node.expr = indices[iota.getAxis()];
    return add(std::move(node));
  }
  if (auto size = dyn_cast<SizeValueOp>(op)) {
    node.kind = Kind::Index;
    node.indices.clear();
    node.expr = size.getValue();
    return add(std::move(node));
  }
  if (auto concat = dyn_cast<ConcatOp>(op))
    return buildConcat(concat, indices, isInside);
  if (auto gather = dyn_cast<GatherOp>(op))
    return buildGather(gather, indices, isInside);
  if (auto lookup = dyn_cast<LookupOp>(op))
    return buildLookup(lookup, indices, isInside);

  auto indexed = cast<IndexedOpInterface>(op);
  if (indexed.getFusionKind() == FusionKind::View)
    return build(op->getOperand(0),
                 indexed.getOperandMap(0).compose(indices).results, isInside);

  node.kind = Kind::Compute;
  node.indices.clear();
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    node.operands.push_back(build(
        operand, indexed.getOperandMap(i).compose(indices).results, isInside));
  return add(std::move(node));
}

unsigned ScalarProgram::buildConcat(ConcatOp op, ArrayRef<Expr> indices,
                                    Inside isInside) {
  ScalarNode node{Kind::Piecewise, getElementType(op.getResult()), op};
  ExprRanges ranges = getRanges();
  for (auto [i, value] : llvm::enumerate(op.getValues())) {
    IndexMap map = op.getOperandMap(i).compose(indices);
    const IndexCondition &condition = map.conditions[0];
    bool above = ranges.isNonNegative(condition.value - condition.lower);
    bool below = ranges.isLess(condition.value, condition.upper);
    if (above && below) // the only piece that this iteration meets
      return build(value, map.results, isInside);
    if (ranges.isLess(condition.value, condition.lower) ||
        ranges.isNonNegative(condition.value - condition.upper))
      continue;
    node.operands.push_back(build(value, map.results, isInside));
    node.conditions.push_back(condition);
  }
  return add(std::move(node));
}

unsigned ScalarProgram::buildGather(GatherOp op, ArrayRef<Expr> indices,
                                    Inside isInside) {
  SmallVector<Expr> source = ::fusec::getSizes(op.getSource());
  SmallVector<Expr> at(source.size());
  ScalarNode node{Kind::Gather, getElementType(op.getResult()), op};
  node.policy = op.getPolicy();
  for (auto [i, position] : llvm::enumerate(op.getPositions())) {
    if (position >= 0) {
      at[i] = indices[position];
      continue;
    }
    Value index = op.getIndices()[-1 - position];
    ScalarNode row{Kind::GatherRow, getElementType(index), op};
    row.operands.push_back(build(index, indices, isInside));
    row.expr = source[i];
    row.policy = op.getPolicy();
    unsigned id = add(std::move(row));
    node.rows.push_back(id);
    at[i] = Expr::indirect(context, id);
  }
  node.operands.push_back(build(op.getSource(), at, isInside));
  return add(std::move(node));
}

unsigned ScalarProgram::buildLookup(LookupOp op, ArrayRef<Expr> indices,
                                    Inside isInside) {
  ScalarNode node{Kind::Lookup, getElementType(op.getResult()), op};
  node.policy = op.getPolicy();
  node.operands.push_back(
      build(op.getIndices(), indices.take_front(2), isInside));
  node.expr = indices[1];
  node.indices.push_back(indices[2]);
  return add(std::move(node));
}

static void rewriteExprs(ScalarNode &node, llvm::function_ref<Expr(Expr)> f) {
  for (Expr &index : node.indices)
    index = f(index);
  if (node.expr)
    node.expr = f(node.expr);
  for (IndexCondition &c : node.conditions)
    c = {f(c.value), f(c.lower), f(c.upper)};
}

void ScalarProgram::substitute(ArrayRef<Expr> newSizes, ArrayRef<Expr> values) {
  sizes.assign(newSizes.begin(), newSizes.end());
  ExprRanges ranges = getRanges();
  for (ScalarNode &node : nodes)
    rewriteExprs(node, [&](Expr expr) {
      return ranges.simplify(expr.replaceDims(values));
    });
  known.clear();
  variance.clear();
}

void ScalarProgram::walkExprs(llvm::function_ref<void(Expr)> callback) const {
  for (const ScalarNode &node : nodes) {
    if (node.kind == Kind::Root)
      continue;
    llvm::for_each(node.indices, callback);
    if (node.expr)
      callback(node.expr);
    for (const IndexCondition &c : node.conditions)
      callback(c.value);
  }
}

size_t ScalarProgram::countPieces() const {
  size_t count = 0;
  for (const ScalarNode &node : nodes)
    if (node.kind == Kind::Piecewise)
      count += node.operands.size();
  return count;
}

ScalarProgram::Places ScalarProgram::countPlaces(unsigned limit) const {
  // The scopes of a node; 0 is the one that is no branch.
  std::vector<llvm::SmallDenseSet<unsigned, 4>> scopes(nodes.size());
  unsigned numScopes = 1;
  Places count;
  llvm::DenseMap<Operation *, unsigned> places;
  // Operands come before the nodes that use them.
  for (size_t i = nodes.size(); i-- > 0;) {
    const ScalarNode &node = nodes[i];
    if (scopes[i].empty())
      scopes[i].insert(0);
    if (node.op && !node.operands.empty()) {
      count.most =
          std::max<unsigned>(count.most, places[node.op] += scopes[i].size());
      count.all += scopes[i].size();
    }
    if (count.most > limit)
      break;
    for (unsigned operand : node.operands)
      for (unsigned scope : scopes[i])
        scopes[operand].insert(node.kind == Kind::Piecewise ? numScopes++
                                                            : scope);
    for (unsigned row : node.rows)
      scopes[row].insert(scopes[i].begin(), scopes[i].end());
  }
  return count;
}

bool ScalarProgram::exprVaries(Expr expr, unsigned dim) const {
  bool result = false;
  expr.walkLeaves([&](Expr leaf) {
    if (leaf.getKind() == ExprKind::Dim)
      result |= leaf.getIndex() == dim;
    else if (leaf.getKind() == ExprKind::Indirect)
      result |= varies(leaf.getIndex(), dim);
  });
  return result;
}

bool ScalarProgram::varies(unsigned id, unsigned dim) const {
  auto entry = std::make_pair(id, dim);
  if (auto it = variance.find(entry); it != variance.end())
    return it->second;
  const ScalarNode &node = nodes[id];
  auto inExpr = [&](Expr expr) { return exprVaries(expr, dim); };
  auto inNode = [&](unsigned operand) { return varies(operand, dim); };
  bool result =
      llvm::any_of(node.indices, inExpr) || (node.expr && inExpr(node.expr)) ||
      llvm::any_of(node.conditions,
                   [&](const IndexCondition &condition) {
                     return inExpr(condition.value);
                   }) ||
      llvm::any_of(node.operands, inNode) || llvm::any_of(node.rows, inNode);
  variance[entry] = result;
  return result;
}

bool ScalarProgram::variesEverywhere(unsigned node) const {
  for (auto [dim, size] : llvm::enumerate(getSizes()))
    if (!size.isConstant(1) && !varies(node, dim))
      return false;
  return true;
}

bool fusec::isExactCast(Type from, Type to) {
  if (from.isF16() || from.isBF16())
    return to.isF32();
  return !from.isInteger(1) && isa<IntegerType>(from) && isa<IntegerType>(to) &&
         getElementBytes(from) < getElementBytes(to);
}

unsigned fusec::skipExactCast(const ScalarProgram &program, unsigned node) {
  const ScalarNode &own = program[node];
  if (!isa_and_nonnull<CastOp>(own.op))
    return node;
  unsigned narrow = own.operands[0];
  return isExactCast(program[narrow].type, own.type) ? narrow : node;
}
