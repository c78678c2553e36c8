// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration of matmul roots: matrices and tiles.

#include "compiler/analysis/TileEpilogue.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

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
      failed(collectOperands(program, {nullptr, sizes, batchRank}, inputStrides,
                             operands)))
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
  MatmulIteration result{{{}, ScalarProgram(sizes, context), {}, {}},
                         root,
                         sizes[batchRank],
                         sizes[batchRank + 1],
                         {},
                         {},
                         {}};

  if (failed(addMatrices(root, isInside, inputStrides, mayMake, result)))
    return failure();

  auto epilogue = analyzeEpilogue({root, sizes, batchRank}, outputs, isInside,
                                  inputStrides, outputStrides);
  if (failed(epilogue))
    return failure();
  static_cast<TileEpilogue &>(result) = std::move(*epilogue);
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
