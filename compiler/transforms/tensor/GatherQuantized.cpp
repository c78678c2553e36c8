// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are gathered before they are dequantised: the table then stays narrow,
// where folding constants would make floats of it. What scales and shifts a row
// is gathered as it is.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/BagPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fusec {
#define GEN_PASS_DEF_GATHERQUANTIZED
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// As many columns share an element; nothing where they share none.
static std::optional<int64_t> getBlockWidth(Value matrix) {
  int64_t width = getSizes(matrix)[1].getValue();
  if (isSameAlongLast(matrix))
    return width;
  ViewSource source = traceViews(matrix);
  Expr column = Expr::dim(matrix.getContext(), 1);
  for (auto [index, size] :
       llvm::zip_equal(source.map.results, getSizes(source.value))) {
    if (!usesDim(index, 1))
      continue;
    auto blocks = size.getConstant();
    if (!blocks || *blocks < 1 || width % *blocks != 0 ||
        index != column.floorDiv(
                     Expr::constant(matrix.getContext(), width / *blocks)))
      return std::nullopt;
    return width / *blocks;
  }
  return std::nullopt;
}

namespace {
/// (x - zeros) * factors of a table of 8-bit integers, or without the zeros.
struct Quantized {
  Value table, zeros, factors;
};

struct GatherOfQuantized : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override;
};

struct GatherQuantized : fusec::impl::GatherQuantizedBase<GatherQuantized> {
  using GatherQuantizedBase::GatherQuantizedBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<GatherOfQuantized>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

static std::optional<Quantized> match(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  if (!product)
    return std::nullopt;
  for (auto [wide, factors] : {std::pair(product.getLhs(), product.getRhs()),
                               std::pair(product.getRhs(), product.getLhs())}) {
    Quantized found{wide, {}, factors};
    if (auto difference = wide.getDefiningOp<SubOp>()) {
      found.table = difference.getLhs();
      found.zeros = difference.getRhs();
    }
    auto cast = found.table.getDefiningOp<CastOp>();
    if (!cast || !getElementType(cast.getOperand()).isInteger(8))
      continue;
    found.table = cast.getOperand();
    if (getBlockWidth(found.factors) &&
        (!found.zeros || getBlockWidth(found.zeros)))
      return found;
  }
  return std::nullopt;
}

LogicalResult
GatherOfQuantized::matchAndRewrite(GatherOp op,
                                   PatternRewriter &rewriter) const {
  Value source = op.getSource();
  auto narrowing = source.getDefiningOp<CastOp>();
  if (getRank(source) != 2 || !getSizes(source)[1].isConstant() ||
      getSizes(source)[1].isConstant(0) || !gathersRows(op))
    return rewriter.notifyMatchFailure(op, "gathers no rows");
  if (narrowing)
    source = narrowing.getOperand();
  auto found = match(source);
  if (!found)
    return rewriter.notifyMatchFailure(op, "gathers nothing quantised");
  MLIRContext *context = op.getContext();
  Location loc = op.getLoc();
  Sizes result = getSizes(op.getResult());
  Value index = createRowIndices(op, rewriter);
  auto gather = [&](Value matrix) -> Value {
    Sizes sizes = getSizes(index);
    SmallVector<int64_t> along =
        llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
    sizes.push_back(getSizes(matrix)[1]);
    return GatherOp::create(
        rewriter, loc, getTensorType(sizes, getElementType(matrix)), matrix,
        op.getPositions(), createBroadcast(rewriter, loc, index, sizes, along),
        op.getPolicy());
  };
  // Of blocks an element each, then as wide as rows.
  auto gatherBlocks = [&](Value matrix) -> Value {
    int64_t blockWidth = *getBlockWidth(matrix);
    Sizes sizes = getSizes(matrix);
    Expr block = Expr::constant(context, blockWidth),
         blocks = sizes[1].floorDiv(block), zero = Expr::constant(context, 0);
    sizes[1] = blocks;
    Value found = gather(createSlice(rewriter, loc, matrix, {zero, zero}, sizes,
                                     {1, blockWidth}));
    int64_t last = result.size() - 1;
    SmallVector<int64_t> along =
        llvm::to_vector(llvm::seq<int64_t>(0, result.size()));
    if (blocks.isConstant(1))
      return createBroadcast(rewriter, loc, found, result, along);
    Sizes split = result;
    split[last] = blocks;
    split.push_back(block);
    Groups groups;
    for (int64_t i = 0; i < last; ++i)
      groups.push_back({i});
    groups.push_back({last, last + 1});
    return createCollapse(rewriter, loc,
                          createBroadcast(rewriter, loc, found, split, along),
                          groups);
  };
  Type wide = getTensorType(result, getElementType(source));
  Value rows = CastOp::create(rewriter, loc, wide, gather(found->table));
  if (found->zeros)
    rows = SubOp::create(rewriter, loc, wide, rows, gatherBlocks(found->zeros));
  rows = MulOp::create(rewriter, loc, wide, rows, gatherBlocks(found->factors));
  if (narrowing)
    rows = CastOp::create(rewriter, loc, op.getType(), rows);
  remarkPassed(remarks::gatherQuantized, loc)
      << "rows are gathered before they are dequantised";
  rewriter.replaceOp(op, rows);
  return success();
}
