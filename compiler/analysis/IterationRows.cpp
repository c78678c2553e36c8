// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration of regions with reductions: rows, and points along them.

#include "compiler/analysis/NestedIteration.h"

using namespace mlir;
using namespace fusec;

SmallVector<Operation *> fusec::collectInside(ArrayRef<Value> outputs,
                                              ScalarProgram::Inside isInside) {
  SmallVector<Operation *> ordered;
  llvm::SmallPtrSet<Operation *, 16> seen;
  // An explicit stack: chains in models can be longer than a thread's stack.
  SmallVector<std::pair<Operation *, bool>> stack;
  for (Value output : llvm::reverse(outputs))
    if (Operation *op = output.getDefiningOp())
      stack.push_back({op, false});
  while (!stack.empty()) {
    auto [op, done] = stack.pop_back_val();
    if (done) {
      ordered.push_back(op);
      continue;
    }
    if (!isInside(op) || !seen.insert(op).second)
      continue;
    stack.push_back({op, true});
    for (Value operand : llvm::reverse(op->getOperands()))
      if (Operation *producer = operand.getDefiningOp())
        stack.push_back({producer, false});
  }
  return ordered;
}

SmallVector<int64_t> fusec::getReducedAxes(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    SmallVector<int64_t> axes(reduce.getAxes());
    llvm::sort(axes);
    return axes;
  }
  return {static_cast<int64_t>(cast<ArgReduceOp>(op).getAxis())};
}

ReduceKind fusec::getExtremeKind(ArgReduceOp op) {
  return op.getKind() == ArgKind::Max ? ReduceKind::Max : ReduceKind::Min;
}

std::optional<int64_t> fusec::getReducedParts(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getParts();
  return cast<ArgReduceOp>(op).getParts();
}

Expr fusec::getPartLength(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getLength();
  return cast<ArgReduceOp>(op).getLength();
}

bool fusec::reducesLastAxes(Operation *op) {
  SmallVector<int64_t> axes = getReducedAxes(op);
  return axes[0] + int64_t(axes.size()) == getRank(op->getOperand(0));
}

size_t fusec::getPlaceOfParts(Operation *op) {
  return getReducedParts(op) ? getReducedAxes(op)[0] : 0;
}

/// The row's index in each of the sizes that are kept, of which that of parts
/// comes first; the walk has it at getPlaceOfParts().
static SmallVector<Expr> getRowIndices(Operation *op, Expr row,
                                       ArrayRef<Expr> kept) {
  size_t place = getPlaceOfParts(op);
  SmallVector<Expr> order(kept);
  std::rotate(order.begin(), order.begin() + 1, order.begin() + place + 1);
  SmallVector<Expr> indices = delinearize(row, order);
  std::rotate(indices.begin(), indices.begin() + place,
              indices.begin() + place + 1);
  return indices;
}

bool fusec::findSameExtreme(const ScalarProgram &program, const RowReduction &a,
                            const RowReduction &b) {
  auto find = dyn_cast<ArgReduceOp>(a.op);
  auto reduce = dyn_cast<ReduceOp>(b.op);
  if (!find || !reduce)
    return isa<ArgReduceOp>(b.op) && isa<ReduceOp>(a.op) &&
           findSameExtreme(program, b, a);
  return skipExactCast(program, a.operand) ==
             skipExactCast(program, b.operand) &&
         reduce.getKind() == getExtremeKind(find);
}

/// Places and extremes need the same, so that the later one may be as early as
/// the other.
static void putExtremesTogether(const ScalarProgram &program,
                                SmallVectorImpl<RowReduction> &reductions) {
  for (auto *first = reductions.begin(); first != reductions.end(); ++first)
    for (auto *later = first + 1; later != reductions.end(); ++later)
      if (findSameExtreme(program, *first, *later)) {
        std::rotate(first + 1, later, later + 1);
        ++first;
        break;
      }
}

FailureOr<RowIteration> fusec::analyzeRows(ArrayRef<Value> outputs,
                                           ScalarProgram::Inside isInside,
                                           OutputStrides outputStrides) {
  return analyzeRowsOf({}, outputs, isInside, outputStrides);
}

static bool beginsWith(ArrayRef<Expr> sizes, ArrayRef<Expr> rows) {
  return sizes.size() > rows.size() && sizes.take_front(rows.size()) == rows;
}

/// Points that each of the rows has of such an output, one row behind the
/// other.
static std::optional<int64_t>
countPoints(ArrayRef<Expr> own, ArrayRef<Expr> rows, MLIRContext *context) {
  if (beginsWith(own, rows))
    return getElementCount(own.drop_front(rows.size()), context).getConstant();
  auto all = getElementCount(own, context).getConstant(),
       count = getElementCount(rows, context).getConstant();
  if (!all || !count || *count == 0 || *all % *count != 0)
    return std::nullopt;
  return *all / *count;
}

/// Points of the rows that are stored, where these are longer than those that
/// are reduced: over the first axis, which parts of longer rows lie along.
static std::optional<int64_t> getWideLength(ArrayRef<Value> outputs,
                                            ArrayRef<Operation *> reduces) {
  SmallVector<Expr> kept = getSizes(reduces[0]->getOperand(0));
  if (getReducedAxes(reduces[0]) != SmallVector<int64_t>{0} ||
      getReducedParts(reduces[0]))
    return std::nullopt;
  std::optional<int64_t> reduced = kept[0].getConstant(), length;
  kept.erase(kept.begin());
  for (Value output : outputs) {
    auto points = countPoints(getSizes(output), kept, reduces[0]->getContext());
    if (!points || !reduced || *points <= *reduced ||
        (length && points != length))
      return std::nullopt;
    length = points;
  }
  return length;
}

/// Whether every reduction is asked for at its own row, and every item at its
/// place.
static bool areInPlace(const ScalarProgram &program,
                       ArrayRef<Operation *> items, ArrayRef<Expr> ofRow,
                       ArrayRef<Expr> ofItem) {
  ExprRanges ranges = program.getRanges();
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != ScalarNode::Kind::Root)
      continue;
    ArrayRef<Expr> place = llvm::is_contained(items, node.op) ? ofItem : ofRow;
    if (node.indices.size() != place.size())
      return false;
    for (auto [index, expected] : llvm::zip_equal(node.indices, place))
      if (index != ranges.simplify(expected))
        return false;
  }
  return true;
}

namespace {
/// Indices in a space of these sizes.
struct Place {
  ArrayRef<Expr> sizes, indices;
};
struct OutputPlace {
  SmallVector<Expr> indices;
  bool isFull; // as of RowStore
};
} // namespace

/// Where an output of the sizes `own` has what is stored at a point of a row.
static std::optional<OutputPlace> findOutputPlace(Place row, Place point,
                                                  ArrayRef<Expr> own,
                                                  bool isWide,
                                                  MLIRContext *context) {
  if (isWide) {
    Expr k = Expr::dim(context, 1);
    if (!beginsWith(own, row.sizes)) {
      Expr first = linearize(row.indices, row.sizes, context) *
                   *countPoints(own, row.sizes, context);
      return OutputPlace{delinearize(first + k, own), true};
    }
    SmallVector<Expr> indices(row.indices);
    llvm::append_range(indices, delinearize(k, own.drop_front(indices.size())));
    return OutputPlace{indices, true};
  }
  Expr count = getElementCount(own, context);
  auto at = [&](Place place) {
    return own == place.sizes
               ? SmallVector<Expr>(place.indices)
               : delinearize(linearize(place.indices, place.sizes, context),
                             own);
  };
  if (own == point.sizes)
    return OutputPlace{at(point), true};
  if (count == getElementCount(row.sizes, context))
    return OutputPlace{at(row), false};
  if (count == getElementCount(point.sizes, context))
    return OutputPlace{at(point), true};
  return std::nullopt;
}

FailureOr<RowIteration> fusec::analyzeRowsOf(ArrayRef<Operation *> items,
                                             ArrayRef<Value> outputs,
                                             ScalarProgram::Inside isInside,
                                             OutputStrides outputStrides,
                                             bool areWide) {
  auto isBehindItems = [&](Operation *op) {
    return isInside(op) && !llvm::is_contained(items, op);
  };
  SmallVector<Operation *> reduces;
  for (Operation *op : collectInside(outputs, isBehindItems))
    if (isa<ReduceOp, ArgReduceOp>(op))
      reduces.push_back(op);
  if (reduces.empty())
    return failure();
  MLIRContext *context = reduces[0]->getContext();
  SmallVector<Expr> sizes = getSizes(reduces[0]->getOperand(0));
  SmallVector<int64_t> axes = getReducedAxes(reduces[0]);
  std::optional<int64_t> parts = getReducedParts(reduces[0]);
  for (Operation *op : reduces)
    if (getSizes(op->getOperand(0)) != sizes || getReducedAxes(op) != axes ||
        getReducedParts(op) != parts)
      return failure();

  // Dim 0 is the row, dim 1 the position in it.
  SmallVector<Expr> kept, reduced;
  if (parts)
    kept.push_back(Expr::constant(context, *parts));
  for (auto [i, size] : llvm::enumerate(sizes))
    (llvm::is_contained(axes, static_cast<int64_t>(i)) ? reduced : kept)
        .push_back(size);
  Expr rows = getElementCount(kept, context),
       length = getPartLength(reduces[0]);
  SmallVector<Expr> space = {rows, length};
  std::optional<int64_t> wide;
  if (areWide)
    wide = getWideLength(outputs, reduces);
  if (wide)
    space[1] = Expr::constant(context, *wide);
  RowIteration result{
      ScalarProgram(space, context), length, {}, {}, wide.has_value()};
  ScalarProgram &program = result.program;
  ExprRanges ranges = program.getRanges();
  Expr row = Expr::dim(context, 0), k = Expr::dim(context, 1);
  SmallVector<Expr> rowIndices = getRowIndices(reduces[0], row, kept);
  if (parts) {
    Expr start = ranges.simplify(rowIndices[0] * length);
    k = start + k;
    // The last part may have fewer.
    Expr count = getElementCount(reduced, context),
         left = ranges.simplify(count - start);
    if (!ranges.isNonNegative(count - length * *parts) &&
        !ranges.isNonNegative(left - length))
      result.length =
          Expr::min(length, Expr::max(left, Expr::constant(context, 0)));
  }
  SmallVector<Expr> innerIndices = delinearize(k, reduced), full;
  size_t nextKept = parts ? 1 : 0, nextReduced = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    full.push_back(llvm::is_contained(axes, static_cast<int64_t>(i))
                       ? innerIndices[nextReduced++]
                       : rowIndices[nextKept++]);
  for (Operation *op : reduces)
    result.reductions.push_back(
        {op, program.build(op->getOperand(0), full, isInside)});
  putExtremesTogether(program, result.reductions);

  for (auto [i, output] : llvm::enumerate(outputs)) {
    auto place = findOutputPlace({kept, rowIndices}, {sizes, full},
                                 getSizes(output), result.isWide, context);
    if (!place)
      return failure();
    unsigned node = program.build(output, place->indices, isInside);
    Expr offset =
        ranges.simplify(getOffset(place->indices, outputStrides(i), context));
    if (!place->isFull && program.varies(node, 1))
      return failure();
    result.stores.push_back(
        {{node, static_cast<unsigned>(i), offset}, place->isFull});
  }
  if (!areInPlace(program, items, rowIndices, full))
    return failure();
  return result;
}

FailureOr<RowIteration> fusec::analyzeRows(StepOp step) {
  Block &block = step.getBody().front();
  return analyzeRowsOf(
      {}, llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); },
      /*areWide=*/true);
}
