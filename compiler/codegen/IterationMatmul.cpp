// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration of matmul roots: matrices and tiles.

#include "compiler/codegen/Iteration.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

/// Splits an offset into the strides along two dims and the rest.
static FailureOr<TileAccess> splitOffset(Expr offset, unsigned first,
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

FailureOr<MatrixAccess> fusec::analyzeMatrix(Value value,
                                             ScalarProgram::Inside isInside,
                                             InputStrides inputStrides) {
  SmallVector<Expr> sizes = getSizes(value);
  MLIRContext *context = value.getContext();
  ScalarProgram program(sizes, context);
  const ScalarNode &node = program[program.build(
      value, IndexMap::identity(context, sizes.size()).results, isInside)];
  if (node.kind != Kind::Load)
    return failure();
  Expr offset = program.getRanges().simplify(
      getOffset(node.indices, inputStrides(node.value), context));
  auto access = splitOffset(offset, sizes.size() - 2, sizes.size() - 1);
  if (failed(access))
    return failure();
  return MatrixAccess{node.value, access->rowStride, access->columnStride,
                      access->batch};
}

/// Leaves and structure that an epilogue may have.
static LogicalResult collectOperands(const ScalarProgram &program,
                                     unsigned batchRank,
                                     InputStrides inputStrides,
                                     SmallVectorImpl<TileOperand> &operands) {
  MLIRContext *context = program.getContext();
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    switch (node.kind) {
    case Kind::Root:
      for (auto [i, index] : llvm::enumerate(node.indices))
        if (index != program.getRanges().simplify(Expr::dim(context, i)))
          return failure();
      break;
    case Kind::Load: {
      Expr offset = program.getRanges().simplify(
          getOffset(node.indices, inputStrides(node.value), context));
      auto access = splitOffset(offset, batchRank, batchRank + 1);
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

FailureOr<MatmulIteration> fusec::analyzeMatmul(ArrayRef<Value> outputs,
                                                ScalarProgram::Inside isInside,
                                                InputStrides inputStrides,
                                                OutputStrides outputStrides) {
  ContractionOp root;
  for (Operation *op : collectInside(outputs, isInside))
    if (auto contraction = dyn_cast<ContractionOp>(op)) {
      if (root)
        return failure();
      root = contraction;
    }
  if (!root)
    return failure();
  MLIRContext *context = root.getContext();
  SmallVector<Expr> sizes = getSizes(root.getAccumulators()[0]);
  unsigned batchRank = sizes.size() - 2;
  MatmulIteration result{root,
                         {},
                         sizes[batchRank],
                         sizes[batchRank + 1],
                         {},
                         {},
                         {},
                         ScalarProgram(sizes, context),
                         {},
                         {}};
  result.batchSizes.assign(sizes.begin(), sizes.begin() + batchRank);

  // A matrix is in memory, even where its elements are all the same.
  auto isView = [&](Operation *op) {
    return isInside(op) && !isa<ConstantOp>(op);
  };
  for (unsigned s = 0; s < root.getNumSegments(); ++s) {
    auto lhs = analyzeMatrix(root.getLhs()[s], isView, inputStrides);
    if (failed(lhs))
      return failure();
    result.lhs.push_back(*lhs);
    result.k.push_back(getSizes(root.getLhs()[s]).back());
    result.rhs.emplace_back();
    for (unsigned j = 0; j < root.getNumAccumulators(); ++j) {
      auto rhs = analyzeMatrix(root.getRhs(s, j), isView, inputStrides);
      if (failed(rhs))
        return failure();
      std::swap(rhs->outerStride, rhs->kStride); // B is [k, n]
      const MatrixAccess &first =
          result.rhs[s].empty() ? *rhs : result.rhs[s][0];
      if (first.outerStride != rhs->outerStride ||
          first.kStride != rhs->kStride || first.batch != rhs->batch)
        return failure();
      result.rhs[s].push_back(*rhs);
    }
  }

  ScalarProgram &program = result.epilogue;
  IndexMap identity = IndexMap::identity(context, sizes.size());
  Expr count = getElementCount(sizes, context);
  for (auto [i, output] : llvm::enumerate(outputs)) {
    SmallVector<Expr> own = getSizes(output), indices = identity.results;
    if (own != sizes) {
      if (getElementCount(own, context) != count)
        return failure();
      indices = delinearize(linearize(indices, sizes, context), own);
    }
    unsigned node = program.build(output, indices, isInside);
    Expr offset = program.getRanges().simplify(
        getOffset(indices, outputStrides(i), context));
    auto access = splitOffset(offset, batchRank, batchRank + 1);
    if (failed(access))
      return failure();
    result.stores.push_back({node, static_cast<unsigned>(i), *access});
  }
  if (failed(
          collectOperands(program, batchRank, inputStrides, result.operands)))
    return failure();
  return result;
}

FailureOr<MatmulIteration> fusec::analyzeMatmul(StepOp step) {
  Block &block = step.getBody().front();
  return analyzeMatmul(
      llvm::to_vector(block.getTerminator()->getOperands()),
      [&](Operation *op) { return op->getBlock() == &block; },
      [&](Value v) { return step.getInputBuffer(v).getStrideExprs(); },
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); });
}
