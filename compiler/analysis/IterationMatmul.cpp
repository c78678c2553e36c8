// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration of matmul roots: matrices and tiles.

#include "compiler/analysis/Iteration.h"

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

/// A single row, or column, is at no distance from others; one that tensor maps
/// can express makes it a matrix like all.
static void spreadSingle(MatrixAccess &access, Expr outers, Expr k) {
  constexpr int64_t elements = 16; // a multiple of 16 bytes
  if (outers.isConstant(1) && access.outerStride.isConstant(0) &&
      access.isAlongK())
    access.outerStride =
        k.ceilDiv(Expr::constant(k.getContext(), elements)) * elements;
}

/// Ranges of K are batches of one matrix.
static void countRanges(ContractionOp root, MatrixAccess &access, Expr range,
                        Expr wholeK) {
  if (!root.getRanges())
    return;
  access.batch =
      access.batch + Expr::dim(root.getContext(), 0) * (range * access.kStride);
  access.wholeK = wholeK;
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

/// Whether a root's or a reduction's value is asked for where it is computed.
static bool isComputedAt(const ScalarProgram &program, const ScalarNode &node) {
  ArrayRef<Expr> sizes = program.getSizes();
  SmallVector<Expr> expected =
      IndexMap::identity(program.getContext(), sizes.size()).results;
  if (!isa<ContractionOp>(node.op)) {
    auto point = getReducedPoint(node.op, sizes);
    if (failed(point))
      return false;
    expected = point->result;
  }
  return llvm::all_of(llvm::zip_equal(node.indices, expected),
                      [&](const auto &pair) {
                        return std::get<0>(pair) ==
                               program.getRanges().simplify(std::get<1>(pair));
                      });
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
      if (!isComputedAt(program, node))
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

bool MadeMatrix::isConversion() const {
  for (unsigned n = node; n != source; n = program[n].operands[0])
    if (!isa_and_nonnull<CastOp>(program[n].op))
      return false;
  return true;
}

/// Types of which a warp reads fragments, whatever is made of them.
static bool isReadAsFragments(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isInteger(8);
}

/// An operand that is computed of one matrix. `isRhs`: its dims are k and then
/// the outer one.
static FailureOr<MatrixAccess> analyzeMade(Value value, bool isRhs,
                                           ScalarProgram::Inside isInside,
                                           InputStrides inputStrides,
                                           std::optional<MadeMatrix> &made) {
  Type type = getElementType(value);
  if (!type.isF16() && !type.isBF16())
    return failure();
  MLIRContext *context = value.getContext();
  SmallVector<Expr> sizes = getSizes(value);
  unsigned batchRank = sizes.size() - 2;
  SmallVector<Expr> indices = IndexMap::identity(context, sizes.size()).results;
  if (isRhs) {
    std::swap(sizes[batchRank], sizes[batchRank + 1]);
    std::swap(indices[batchRank], indices[batchRank + 1]);
  }
  ScalarProgram program(sizes, context);
  unsigned node = program.build(value, indices, isInside);
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Root)
      return failure();
  SmallVector<TileOperand> operands;
  if (program[node].kind != Kind::Compute ||
      failed(collectOperands(program, batchRank, inputStrides, operands)))
    return failure();
  auto isMatrix = [](const TileOperand &operand) {
    return !operand.access.rowStride.isConstant(0) &&
           !operand.access.columnStride.isConstant(0);
  };
  auto source = llvm::find_if(operands, isMatrix);
  if (source == operands.end() || llvm::count_if(operands, isMatrix) != 1 ||
      !isReadAsFragments(getElementType(source->value)))
    return failure();
  TileOperand matrix = *source;
  operands.erase(source);
  made = MadeMatrix{std::move(program), node, matrix.node, operands};
  return MatrixAccess{matrix.value, matrix.access.rowStride,
                      matrix.access.columnStride, matrix.access.batch};
}

/// The segments of the root: their matrices, and how long they are.
static LogicalResult addMatrices(ContractionOp root,
                                 ScalarProgram::Inside isInside,
                                 InputStrides inputStrides, bool mayMake,
                                 MatmulIteration &result) {
  // A matrix is in memory, even where its elements are all the same.
  auto isReadThrough = [&](Operation *op) {
    return isInside(op) && !isa<ConstantOp>(op);
  };
  mayMake &= root.getNumSegments() == 1 && !root.getRanges();
  for (unsigned s = 0; s < root.getNumSegments(); ++s) {
    auto lhs = analyzeMatrix(root.getLhs()[s], isReadThrough, inputStrides);
    if (failed(lhs) && mayMake)
      lhs = analyzeMade(root.getLhs()[s], /*isRhs=*/false, isReadThrough,
                        inputStrides, result.made);
    if (failed(lhs))
      return failure();
    result.lhs.push_back(*lhs);
    result.k.push_back(root.getDepth(s));
    Expr wholeK = getSizes(root.getLhs()[s]).back();
    spreadSingle(result.lhs[s], result.m, wholeK);
    countRanges(root, result.lhs[s], result.k[s], wholeK);
    result.rhs.emplace_back();
    for (unsigned j = 0; j < root.getNumAccumulators(); ++j) {
      auto rhs = analyzeMatrix(root.getRhs(s, j), isReadThrough, inputStrides);
      if (succeeded(rhs))
        std::swap(rhs->outerStride, rhs->kStride); // B is [k, n]
      bool mayMakeRhs =
          mayMake && !result.made && root.getNumAccumulators() == 1;
      if (failed(rhs) && mayMakeRhs) {
        rhs = analyzeMade(root.getRhs(s, j), /*isRhs=*/true, isReadThrough,
                          inputStrides, result.made);
        result.isRhsMade = true;
      }
      if (failed(rhs))
        return failure();
      spreadSingle(*rhs, result.n, wholeK);
      countRanges(root, *rhs, result.k[s], wholeK);
      const MatrixAccess &first =
          result.rhs[s].empty() ? *rhs : result.rhs[s][0];
      if (first.outerStride != rhs->outerStride ||
          first.kStride != rhs->kStride ||
          !(first.batch - rhs->batch).isConstant())
        return failure();
      result.rhs[s].push_back(*rhs);
    }
  }
  return success();
}

FailureOr<MatmulIteration> fusec::analyzeMatmul(ArrayRef<Value> outputs,
                                                ScalarProgram::Inside isInside,
                                                InputStrides inputStrides,
                                                OutputStrides outputStrides,
                                                bool mayMake) {
  ContractionOp root;
  SmallVector<Operation *> reduces;
  for (Operation *op : collectInside(outputs, isInside))
    if (isa<ReduceOp, ArgReduceOp>(op))
      reduces.push_back(op);
    else if (auto contraction = dyn_cast<ContractionOp>(op)) {
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

  if (failed(addMatrices(root, isInside, inputStrides, mayMake, result)))
    return failure();

  ScalarProgram &program = result.epilogue;
  IndexMap identity = IndexMap::identity(context, sizes.size());
  for (Operation *op : reduces) {
    auto point = getReducedPoint(op, sizes);
    if (failed(point))
      return failure();
    result.reductions.push_back(
        {op, program.build(op->getOperand(0), point->operand, isInside)});
  }
  ArrayRef<Expr> rowSizes = ArrayRef(sizes).drop_back();
  Expr count = getElementCount(sizes, context),
       rows = getElementCount(rowSizes, context);
  for (auto [i, output] : llvm::enumerate(outputs)) {
    SmallVector<Expr> own = getSizes(output), indices = identity.results;
    Expr ownCount = getElementCount(own, context);
    bool isFull = ownCount == count;
    if (!isFull && (reduces.empty() || ownCount != rows))
      return failure();
    if (!isFull)
      indices = delinearize(
          linearize(ArrayRef(indices).drop_back(), rowSizes, context), own);
    else if (own != sizes)
      indices = delinearize(linearize(indices, sizes, context), own);
    unsigned node = program.build(output, indices, isInside);
    Expr offset = program.getRanges().simplify(
        getOffset(indices, outputStrides(i), context));
    auto access = splitOffset(offset, batchRank, batchRank + 1);
    if (failed(access) || (!isFull && program.varies(node, batchRank + 1)))
      return failure();
    result.stores.push_back({node, static_cast<unsigned>(i), *access, isFull});
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
      [&](unsigned i) { return step.getOutputBuffer(i).getStrideExprs(); },
      /*mayMake=*/true);
}

bool fusec::canSwapOperands(const MatmulIteration &iteration) {
  return ContractionOp(iteration.root).getNumAccumulators() == 1 &&
         iteration.reductions.empty();
}

MatmulIteration fusec::swapOperands(MatmulIteration iteration) {
  std::swap(iteration.m, iteration.n);
  iteration.isRhsMade = iteration.made && !iteration.isRhsMade;
  for (auto [lhs, rhs] : llvm::zip_equal(iteration.lhs, iteration.rhs))
    std::swap(lhs, rhs[0]);
  auto swapAxes = [](TileAccess &access) {
    std::swap(access.rowStride, access.columnStride);
  };
  for (TileOperand &operand : iteration.operands)
    swapAxes(operand.access);
  for (TileStore &store : iteration.stores)
    swapAxes(store.access);
  return iteration;
}
