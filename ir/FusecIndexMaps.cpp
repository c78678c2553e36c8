// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How each op besides the pointwise ones reads its operands.

#include "ir/FusecOps.h"
#include "ir/ShapeRules.h"

using namespace mlir;
using namespace fusec;

static Expr dimOf(Operation *op, unsigned index) {
  return Expr::dim(op->getContext(), index);
}
static Expr zeroOf(Operation *op) {
  return Expr::constant(op->getContext(), 0);
}
static SmallVector<Expr> resultSizes(Operation *op) {
  return getSizes(op->getResult(0));
}

// Verified ops only: their reassociation is known to be well formed.
static SmallVector<SmallVector<int64_t>> groupsOf(ArrayAttr attr,
                                                  unsigned rank) {
  return *getReassociation(attr, rank, [](const Twine &) {});
}

#define FUSEC_RESULT_ITERATION(Op, Kind)                                       \
  FusionKind Op::getFusionKind() { return FusionKind::Kind; }                  \
  SmallVector<Expr> Op::getIterationSizes() { return resultSizes(*this); }

// Generated values have no operands.
FUSEC_RESULT_ITERATION(SplatOp, Pointwise)
IndexMap SplatOp::getOperandMap(unsigned) { return {}; }
FUSEC_RESULT_ITERATION(IotaOp, Pointwise)
IndexMap IotaOp::getOperandMap(unsigned) { return {}; }
FUSEC_RESULT_ITERATION(SizeValueOp, Pointwise)
IndexMap SizeValueOp::getOperandMap(unsigned) { return {}; }

FUSEC_RESULT_ITERATION(CollapseOp, View)
IndexMap CollapseOp::getOperandMap(unsigned) {
  // Split each joined index, the last dimension fastest.
  IndexMap map;
  SmallVector<Expr> sizes = getSizes(getOperand());
  auto groups = groupsOf(getReassociation(), sizes.size());
  for (auto [i, group] : llvm::enumerate(groups)) {
    Expr rest = dimOf(*this, i);
    SmallVector<Expr> indices;
    for (size_t k = group.size(); k-- > 0;) {
      Expr size = sizes[group[k]];
      indices.push_back(k == 0 ? rest : rest.mod(size));
      if (k != 0)
        rest = rest.floorDiv(size);
    }
    map.results.append(indices.rbegin(), indices.rend());
  }
  return map;
}

FUSEC_RESULT_ITERATION(ExpandOp, View)
IndexMap ExpandOp::getOperandMap(unsigned) {
  IndexMap map;
  SmallVector<Expr> sizes = resultSizes(*this);
  for (ArrayRef<int64_t> group : groupsOf(getReassociation(), sizes.size())) {
    Expr index = zeroOf(*this);
    for (int64_t d : group)
      index = index * sizes[d] + dimOf(*this, d);
    map.results.push_back(index);
  }
  return map;
}

FUSEC_RESULT_ITERATION(TransposeOp, View)
IndexMap TransposeOp::getOperandMap(unsigned) {
  IndexMap map;
  map.results.resize(getPermutation().size());
  for (auto [i, p] : llvm::enumerate(getPermutation()))
    map.results[p] = dimOf(*this, i);
  return map;
}

FUSEC_RESULT_ITERATION(SliceOp, View)
IndexMap SliceOp::getOperandMap(unsigned) {
  IndexMap map;
  for (auto [i, offset, step] :
       llvm::enumerate(getOffsets().getAsRange<ExprAttr>(), getSteps()))
    map.results.push_back(Expr(offset) + dimOf(*this, i) * step);
  return map;
}

FUSEC_RESULT_ITERATION(BroadcastOp, View)
IndexMap BroadcastOp::getOperandMap(unsigned) {
  IndexMap map;
  SmallVector<Expr> sizes = getSizes(getOperand()), result = resultSizes(*this);
  for (auto [i, d] : llvm::enumerate(getDimensions()))
    map.results.push_back(sizes[i].isConstant(1) && sizes[i] != result[d]
                              ? zeroOf(*this)
                              : dimOf(*this, d));
  return map;
}

FUSEC_RESULT_ITERATION(ConcatOp, View)
IndexMap ConcatOp::getOperandMap(unsigned index) {
  IndexMap map = IndexMap::identity(getContext(), getRank(getResult()));
  unsigned axis = getAxis();
  Expr start = zeroOf(*this);
  for (unsigned i = 0; i < index; ++i)
    start = start + getSizes(getValues()[i])[axis];
  Expr size = getSizes(getValues()[index])[axis];
  map.results[axis] = map.results[axis] - start;
  map.conditions.push_back({dimOf(*this, axis), start, start + size});
  return map;
}

FUSEC_RESULT_ITERATION(GatherOp, Gather)
IndexMap GatherOp::getOperandMap(unsigned index) {
  if (index > 0)
    return IndexMap::identity(getContext(), getRank(getResult()));
  IndexMap map;
  for (int64_t position : getPositions())
    map.results.push_back(position >= 0
                              ? dimOf(*this, position)
                              : Expr::indirect(getContext(), -1 - position));
  return map;
}

FUSEC_RESULT_ITERATION(LookupOp, Gather)
IndexMap LookupOp::getOperandMap(unsigned index) {
  IndexMap map;
  unsigned tables = getTables().size();
  if (index == tables) {
    map.results = {dimOf(*this, 0), dimOf(*this, 1)};
    return map;
  }
  map.results = {Expr::indirect(getContext(), 0), dimOf(*this, 2)};
  Expr table = Expr::constant(getContext(), index);
  map.conditions.push_back({dimOf(*this, 1), table, table + 1});
  return map;
}

FusionKind BagOp::getFusionKind() { return FusionKind::Bag; }
SmallVector<Expr> BagOp::getIterationSizes() {
  SmallVector<Expr> sizes = resultSizes(*this);
  Expr longest = zeroOf(*this);
  for (Value indices : getIndices())
    longest = Expr::max(longest, getSizes(indices)[1]);
  sizes.push_back(longest);
  return sizes;
}
IndexMap BagOp::getOperandMap(unsigned index) {
  unsigned tables = getTables().size(), lengths = getLengths().size(),
           placed = tables + getPlaced().size();
  if (index >= placed - lengths && index < placed) {
    IndexMap map;
    map.results = {dimOf(*this, 0), zeroOf(*this)};
    return map;
  }
  unsigned table = (index < placed ? index : index - lengths) % tables;
  Expr start = zeroOf(*this);
  for (unsigned before = 0; before < table; ++before)
    start = start + getWidthOf(before);
  Expr column = dimOf(*this, 1), k = dimOf(*this, 2);
  IndexMap map;
  Expr width = getWidthOf(table), row = Expr::indirect(getContext(), 0);
  Value operand = getOperation()->getOperand(index);
  bool isByOffsets = !getOffsets().empty();
  if (index < tables)
    map.results = {
        row, getPacked()
                 ? (column - start).floorDiv(Expr::constant(getContext(), 2))
                 : column - start};
  else if (index >=
           getOperands().size() - getFactors().size() - getZeros().size())
    map.results = {
        row, (column - start).floorDiv(width.floorDiv(getSizes(operand)[1]))};
  else if (isByOffsets && index >= 2 * tables && index < 3 * tables)
    map.results = {zeroOf(*this), dimOf(*this, 0)}; // k would be one of indices
  else
    map.results = {isByOffsets ? zeroOf(*this) : dimOf(*this, 0), k};
  map.conditions.push_back({column, start, start + width});
  map.conditions.push_back(
      {k, zeroOf(*this), getSizes(getIndices()[table])[1]});
  return map;
}

/// Result dimensions in order, reduced axes after them.
static IndexMap reductionMap(Operation *op, unsigned rank,
                             ArrayRef<int64_t> axes) {
  IndexMap map;
  unsigned kept = 0, reduced = rank - axes.size();
  // Reduced dimensions are numbered in ascending order of their axes.
  for (unsigned i = 0; i < rank; ++i)
    map.results.push_back(
        dimOf(op, llvm::is_contained(axes, i) ? reduced++ : kept++));
  return map;
}

// What ReduceOp and ArgReduceOp share.
static SmallVector<int64_t> getAxesOf(ReduceOp op) {
  return SmallVector<int64_t>(op.getAxes());
}
static SmallVector<int64_t> getAxesOf(ArgReduceOp op) {
  return {int64_t(op.getAxis())};
}
template <class Op> static SmallVector<Expr> getReducedSizes(Op op) {
  SmallVector<Expr> reduced;
  for (auto [i, size] : llvm::enumerate(getSizes(op.getOperand())))
    if (llvm::is_contained(getAxesOf(op), static_cast<int64_t>(i)))
      reduced.push_back(size);
  return reduced;
}
template <class Op> static Expr getLengthOf(Op op) {
  Expr count = op.getReducedCount();
  // Vectors of any width begin where a part does.
  constexpr int64_t whole = 64;
  if (!op.getParts())
    return count;
  return count.ceilDiv(
             Expr::constant(op.getContext(), whole * *op.getParts())) *
         whole;
}
template <class Op> static SmallVector<Expr> getReductionSizes(Op op) {
  SmallVector<Expr> sizes = resultSizes(op);
  if (op.getParts())
    sizes.push_back(op.getLength());
  else
    llvm::append_range(sizes, getReducedSizes(op));
  return sizes;
}
template <class Op> static IndexMap getReductionMap(Op op) {
  SmallVector<int64_t> axes = getAxesOf(op);
  if (!op.getParts())
    return reductionMap(op, getRank(op.getOperand()), axes);
  // Of part p the k-th, of all that is reduced.
  unsigned rank = getRank(op.getResult());
  Expr at = dimOf(op, 0) * op.getLength() + dimOf(op, rank);
  SmallVector<Expr> reduced = delinearize(at, getReducedSizes(op));
  IndexMap map;
  unsigned kept = 1, next = 0;
  for (int64_t i = 0; i < getRank(op.getOperand()); ++i)
    map.results.push_back(llvm::is_contained(axes, i) ? reduced[next++]
                                                      : dimOf(op, kept++));
  map.conditions.push_back({at, zeroOf(op), op.getReducedCount()});
  return map;
}

Expr ReduceOp::getReducedCount() {
  return getElementCount(getReducedSizes(*this), getContext());
}
Expr ReduceOp::getLength() { return getLengthOf(*this); }
FusionKind ReduceOp::getFusionKind() { return FusionKind::Reduce; }
SmallVector<Expr> ReduceOp::getIterationSizes() {
  return getReductionSizes(*this);
}
IndexMap ReduceOp::getOperandMap(unsigned) { return getReductionMap(*this); }

Expr ArgReduceOp::getReducedCount() { return getReducedSizes(*this)[0]; }
Expr ArgReduceOp::getLength() { return getLengthOf(*this); }
FusionKind ArgReduceOp::getFusionKind() { return FusionKind::ArgReduce; }
SmallVector<Expr> ArgReduceOp::getIterationSizes() {
  return getReductionSizes(*this);
}
IndexMap ArgReduceOp::getOperandMap(unsigned) { return getReductionMap(*this); }

FusionKind CumSumOp::getFusionKind() { return FusionKind::Scan; }
// A walk along the axis visits each point once, with what was before it.
SmallVector<Expr> CumSumOp::getIterationSizes() { return resultSizes(*this); }
IndexMap CumSumOp::getOperandMap(unsigned) {
  return IndexMap::identity(getContext(), getRank(getResult()));
}

FusionKind MatmulOp::getFusionKind() { return FusionKind::Matmul; }
SmallVector<Expr> MatmulOp::getIterationSizes() {
  SmallVector<Expr> sizes = resultSizes(*this), lhs = getSizes(getLhs());
  sizes.push_back(lhs[lhs.size() - (getTransposeLhs() ? 2 : 1)]);
  return sizes;
}
IndexMap MatmulOp::getOperandMap(unsigned index) {
  unsigned rank = getRank(getResult());
  IndexMap map = IndexMap::identity(getContext(), rank - 2);
  Expr row = dimOf(*this, rank - 2), column = dimOf(*this, rank - 1),
       inner = dimOf(*this, rank);
  Expr first = index == 0 ? row : inner, second = index == 0 ? inner : column;
  if (index == 0 ? getTransposeLhs() : getTransposeRhs())
    std::swap(first, second);
  map.results.push_back(first);
  map.results.push_back(second);
  return map;
}
