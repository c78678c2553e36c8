// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration of an epilogue: what is computed of a root's values where they
// are, and of rows of them.

#include "compiler/analysis/TileEpilogue.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

FailureOr<TileAccess> fusec::splitOffset(Expr offset, unsigned first,
                                         unsigned second) {
  auto a = getDimCoefficient(offset, first),
       b = getDimCoefficient(offset, second);
  if (!a || !b || usesIndirect(offset))
    return failure();
  MLIRContext *context = offset.getContext();
  Expr rest =
      offset - *a * Expr::dim(context, first) - *b * Expr::dim(context, second);
  if (usesDim(rest, first) || usesDim(rest, second) || usesDim(*a, first) ||
      usesDim(*b, second))
    return failure();
  bool plain = true; // strides that depend on sizes alone
  for (Expr stride : {*a, *b})
    stride.walkLeaves(
        [&](Expr leaf) { plain &= leaf.getKind() == ExprKind::Symbol; });
  if (!plain)
    return failure();
  return TileAccess{*a, *b, rest};
}

namespace {
/// Where a reduction over the columns of the root's result reads and is: its
/// operand at a point, and its result at a row.
struct ReducedPoint {
  SmallVector<Expr> operand, result;
};
} // namespace

/// Fails where the reduction does not run over the last of `sizes`. Its operand
/// may regroup dimensions; whether it is read where the root computes it is
/// seen when it is built.
static FailureOr<ReducedPoint> getReducedPoint(Operation *op,
                                               ArrayRef<Expr> sizes) {
  MLIRContext *context = op->getContext();
  SmallVector<Expr> own = getSizes(op->getOperand(0)), kept, reduced;
  SmallVector<int64_t> axes = getReducedAxes(op);
  for (auto [i, size] : llvm::enumerate(own))
    (llvm::is_contained(axes, static_cast<int64_t>(i)) ? reduced : kept)
        .push_back(size);
  SmallVector<Expr> point = IndexMap::identity(context, sizes.size()).results;
  ArrayRef<Expr> rowSizes = sizes.drop_back(),
                 row = ArrayRef(point).drop_back();
  if (getElementCount(kept, context) != getElementCount(rowSizes, context) ||
      getElementCount(reduced, context) != sizes.back())
    return failure();
  ReducedPoint result;
  result.result = ArrayRef(kept) == rowSizes
                      ? SmallVector<Expr>(row)
                      : delinearize(linearize(row, rowSizes, context), kept);
  SmallVector<Expr> inner = delinearize(point.back(), reduced);
  size_t nextKept = 0, nextReduced = 0;
  for (size_t i = 0; i < own.size(); ++i)
    result.operand.push_back(llvm::is_contained(axes, static_cast<int64_t>(i))
                                 ? inner[nextReduced++]
                                 : result.result[nextKept++]);
  return result;
}

/// Whether the root's or a reduction's value is asked for where it is computed.
static bool isComputedAt(const ScalarProgram &program, const ScalarNode &node,
                         const EpilogueRoot &root) {
  ArrayRef<Expr> sizes = program.getSizes();
  SmallVector<Expr> expected = root.indices;
  if (expected.empty())
    expected = IndexMap::identity(program.getContext(), sizes.size()).results;
  if (node.op != root.op) {
    if (!isa<ReduceOp, ArgReduceOp>(node.op))
      return false;
    auto point = getReducedPoint(node.op, sizes);
    if (failed(point))
      return false;
    expected = point->result;
  }
  return node.indices.size() == expected.size() &&
         llvm::all_of(llvm::zip_equal(node.indices, expected),
                      [&](const auto &pair) {
                        return std::get<0>(pair) ==
                               program.getRanges().simplify(std::get<1>(pair));
                      });
}

LogicalResult fusec::collectOperands(const ScalarProgram &program,
                                     const EpilogueRoot &root,
                                     InputStrides inputStrides,
                                     SmallVectorImpl<TileOperand> &operands) {
  MLIRContext *context = program.getContext();
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    switch (node.kind) {
    case Kind::Root:
      if (!isComputedAt(program, node, root))
        return failure();
      break;
    case Kind::Load: {
      Expr offset = program.getRanges().simplify(
          getOffset(node.indices, inputStrides(node.value), context));
      auto access = splitOffset(offset, root.batchRank, root.batchRank + 1);
      if (failed(access))
        return failure();
      operands.push_back({static_cast<unsigned>(n), node.value, *access});
      break;
    }
    case Kind::Splat:
    case Kind::Compute:
      break;
    default:
      return failure();
    }
  }
  return success();
}

FailureOr<TileEpilogue> fusec::analyzeEpilogue(const EpilogueRoot &root,
                                               ArrayRef<Value> outputs,
                                               ScalarProgram::Inside isInside,
                                               InputStrides inputStrides,
                                               OutputStrides outputStrides) {
  MLIRContext *context = root.op->getContext();
  ArrayRef<Expr> sizes = root.sizes;
  unsigned batchRank = root.batchRank;
  TileEpilogue result{{}, ScalarProgram(sizes, context), {}, {}};
  result.batchSizes.assign(sizes.begin(), sizes.begin() + batchRank);
  ScalarProgram &program = result.epilogue;
  IndexMap identity = IndexMap::identity(context, sizes.size());
  for (Operation *op : collectInside(outputs, isInside)) {
    if (!isa<ReduceOp, ArgReduceOp>(op))
      continue;
    auto point = getReducedPoint(op, sizes);
    if (failed(point))
      return failure();
    result.reductions.push_back(
        {op, program.build(op->getOperand(0), point->operand, isInside)});
  }
  ArrayRef<Expr> rowSizes = sizes.drop_back();
  Expr count = getElementCount(sizes, context),
       rows = getElementCount(rowSizes, context);
  for (auto [i, output] : llvm::enumerate(outputs)) {
    SmallVector<Expr> own = getSizes(output), indices = identity.results;
    Expr ownCount = getElementCount(own, context);
    bool isFull = ownCount == count;
    if (!isFull && (result.reductions.empty() || ownCount != rows))
      return failure();
    if (!isFull)
      indices = delinearize(
          linearize(ArrayRef(indices).drop_back(), rowSizes, context), own);
    else if (ArrayRef(own) != sizes)
      indices = delinearize(linearize(indices, sizes, context), own);
    unsigned node = program.build(output, indices, isInside);
    Expr offset = program.getRanges().simplify(
        getOffset(indices, outputStrides(i), context));
    auto access = splitOffset(offset, batchRank, batchRank + 1);
    if (failed(access) || (!isFull && program.varies(node, batchRank + 1)))
      return failure();
    result.stores.push_back({node, static_cast<unsigned>(i), *access, isFull});
  }
  if (failed(collectOperands(program, root, inputStrides, result.operands)))
    return failure();
  return result;
}
