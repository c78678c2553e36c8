// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration of reductions whose rows are neighbours in memory: sums over a
// leading or a middle axis, or over the rows of a transposed matrix. The rows
// that lie beside each other are columns, a dim of their own.

#include "compiler/analysis/NestedIteration.h"

using namespace mlir;
using namespace fusec;

namespace {
/// Accesses of which neighbours along a dim are neighbours in memory.
struct Adjacent {
  unsigned alongRow = 0; // loads that vary along the row
  unsigned others = 0;   // loads that do not, and stores
};
} // namespace

static bool isAdjacent(const ScalarProgram &program, Expr offset,
                       unsigned dim) {
  auto coefficient =
      getDimCoefficient(program.getRanges().simplify(offset), dim);
  return coefficient && coefficient->isConstant(1);
}

/// Along one dim; of loads only those that vary along `also`.
static Adjacent countAdjacent(StepOp step, const RowIteration &iteration,
                              unsigned dim, unsigned also) {
  Adjacent count;
  const ScalarProgram &program = iteration.program;
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != ScalarNode::Kind::Load || !program.varies(n, also))
      continue;
    Expr offset = getOffset(node.indices,
                            step.getInputBuffer(node.value).getStrideExprs(),
                            step.getContext());
    if (isAdjacent(program, offset, dim))
      ++(program.varies(n, 1) ? count.alongRow : count.others);
  }
  for (const RowStore &store : iteration.stores)
    count.others += isAdjacent(program, store.offset, dim);
  return count;
}

/// The widest vectors that divide so many columns, of at most 8.
static int64_t getWidth(Expr columns) {
  int64_t width = 8;
  while (
      !columns.mod(Expr::constant(columns.getContext(), width)).isConstant(0))
    width /= 2;
  return width;
}

RowIteration fusec::splitRows(const RowIteration &rows, Expr outer,
                              Expr columns) {
  RowIteration split = rows;
  MLIRContext *context = columns.getContext();
  Expr length = rows.program.getSizes()[1];
  SmallVector<Expr> values = {Expr::dim(context, 0) * columns +
                                  Expr::dim(context, 2),
                              Expr::dim(context, 1)};
  if (outer.isConstant(1))
    values[0] = Expr::dim(context, 2);
  split.program.substitute({outer, length, columns}, values);
  split.length =
      split.program.getRanges().simplify(rows.length.replaceDims(values));
  for (RowStore &store : split.stores)
    store.offset =
        split.program.getRanges().simplify(store.offset.replaceDims(values));
  return split;
}

FailureOr<RowIteration> fusec::analyzeColumns(StepOp step) {
  FailureOr<RowIteration> rows = analyzeRows(step);
  if (failed(rows) || rows->isWide)
    return failure();
  Operation *reduction = rows->reductions[0].op;
  SmallVector<int64_t> axes = getReducedAxes(reduction);
  SmallVector<Expr> kept;
  if (std::optional<int64_t> parts = getReducedParts(reduction))
    kept.push_back(Expr::constant(step.getContext(), *parts));
  for (auto [i, size] : llvm::enumerate(getSizes(reduction->getOperand(0))))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      kept.push_back(size);
  if (size_t place = getPlaceOfParts(reduction))
    std::rotate(kept.begin(), kept.begin() + 1, kept.begin() + place + 1);

  // Of equals the one with most columns: the more threads find work side by
  // side.
  using Rank = std::tuple<unsigned, int64_t, unsigned>;
  FailureOr<RowIteration> best = failure();
  Rank most = {0, 0, 0};
  for (size_t first = 0; first < kept.size(); ++first) {
    ArrayRef<Expr> outer = ArrayRef(kept).take_front(first);
    Expr columns =
        getElementCount(ArrayRef(kept).drop_front(first), step.getContext());
    RowIteration split =
        splitRows(*rows, getElementCount(outer, step.getContext()), columns);
    // What all columns share, as weights of a sum are, is little beside what
    // each has of its own, and may lie along rows.
    Adjacent adjacent = countAdjacent(step, split, 2, 2);
    Rank rank = {adjacent.alongRow, getWidth(columns), adjacent.others};
    if (rank <= most ||
        adjacent.alongRow <= countAdjacent(step, split, 1, 2).alongRow)
      continue;
    most = rank;
    best = std::move(split);
  }
  return best;
}

bool fusec::liesAcrossRows(StepOp step, const RowIteration &columns) {
  unsigned across = countAdjacent(step, columns, 2, 2).alongRow;
  return across && across >= countAdjacent(step, columns, 1, 1).alongRow;
}
