// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of collapse, expand, transpose and broadcast, each to its shortest.

#include "compiler/transforms/tensor/Rewrites.h"
#include "compiler/transforms/tensor/ViewPatterns.h"

using namespace mlir;
using namespace fusec;

namespace {
/// Any chain of reshapes is at most one collapse and one expand after it.
template <typename ReshapeOp>
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern<ReshapeOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    Value root = op.getOperand();
    unsigned length = 1;
    for (; isa_and_present<CollapseOp, ExpandOp>(root.getDefiningOp());
         ++length)
      root = root.getDefiningOp()->getOperand(0);
    if (length == 1)
      return rewriter.notifyMatchFailure(op, "follows no other reshape");
    auto groups = getReshapeGroups(getSizes(root), getSizes(op.getResult()));
    if (!groups)
      return rewriter.notifyMatchFailure(op, "the sizes do not pair");
    // Of two ops, the canonical pair collapses first.
    bool canonical = isa<ExpandOp>(op) &&
                     op.getOperand().template getDefiningOp<CollapseOp>();
    unsigned needed = countReshapeOps(*groups);
    if (needed > length || (needed == length && canonical))
      return rewriter.notifyMatchFailure(op, "the chain is as short as can be");
    rewriter.replaceOp(op, createReshape(rewriter, op.getLoc(), root,
                                         getSizes(op.getResult()), *groups));
    return success();
  }
};

struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "follows no other transpose");
    auto permutation = llvm::map_to_vector(op.getPermutation(), [&](int64_t p) {
      return inner.getPermutation()[p];
    });
    rewriter.replaceOp(op, createTranspose(rewriter, op.getLoc(),
                                           inner.getOperand(), permutation));
    return success();
  }
};

/// A transpose that moves dimensions of size 1 only is a reshape.
struct UnitTransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    Sizes source = getSizes(op.getOperand()), target = getSizes(op.getResult());
    int64_t previous = -1;
    for (int64_t p : op.getPermutation()) {
      if (source[p].isConstant(1))
        continue;
      if (p < previous)
        return rewriter.notifyMatchFailure(op,
                                           "moves a dimension that has a size");
      previous = p;
    }
    auto groups = getReshapeGroups(source, target);
    if (!groups)
      return rewriter.notifyMatchFailure(op, "the sizes do not pair");
    // Two reshapes in place of one transpose pay only where they merge.
    if (countReshapeOps(*groups) > 1 &&
        !isa_and_present<CollapseOp, ExpandOp>(op.getOperand().getDefiningOp()))
      return rewriter.notifyMatchFailure(op, "would be two reshapes");
    rewriter.replaceOp(op, createReshape(rewriter, op.getLoc(), op.getOperand(),
                                         target, *groups));
    return success();
  }
};

/// Where a group's dimensions are neighbours before the transpose they join
/// there, and fewer dimensions are transposed.
struct CollapseOfTranspose : OpRewritePattern<CollapseOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CollapseOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getOperand().getDefiningOp<TransposeOp>();
    if (!transpose)
      return rewriter.notifyMatchFailure(op, "follows no transpose");
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    Groups moved = getGroups(op);
    for (SmallVector<int64_t> &group : moved) {
      if (group.empty())
        return rewriter.notifyMatchFailure(op, "adds a dimension");
      for (int64_t &d : group)
        d = permutation[d];
      for (size_t k = 1; k < group.size(); ++k)
        if (group[k] != group[k - 1] + 1)
          return rewriter.notifyMatchFailure(
              op, "joins dimensions that are no neighbours");
    }
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, moved.size()));
    llvm::sort(order,
               [&](int64_t a, int64_t b) { return moved[a][0] < moved[b][0]; });
    Groups sorted;
    SmallVector<int64_t> place(order.size());
    for (auto [i, from] : llvm::enumerate(order)) {
      sorted.push_back(moved[from]);
      place[from] = i;
    }
    Value joined =
        createCollapse(rewriter, op.getLoc(), transpose.getOperand(), sorted);
    rewriter.replaceOp(op,
                       createTranspose(rewriter, op.getLoc(), joined, place));
    return success();
  }
};

/// A reduction over one element is that element.
struct ReduceOfUnitAxes : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    Sizes sizes = getSizes(op.getOperand());
    SmallVector<int64_t> units, axes;
    for (int64_t axis : op.getAxes())
      (sizes[axis].isConstant(1) ? units : axes).push_back(axis);
    if (units.empty() || op.getParts())
      return rewriter.notifyMatchFailure(op, "no axis has size 1");
    llvm::sort(units, std::greater<>());
    Value value = op.getOperand();
    // Exporters sum halves in fp32: casts meet behind the view.
    auto cast = axes.empty() ? value.getDefiningOp<CastOp>() : CastOp();
    if (cast)
      value = cast.getOperand();
    for (int64_t unit : units) {
      value = dropUnitDim(rewriter, op.getLoc(), value, unit);
      for (int64_t &axis : axes)
        axis -= axis > unit;
    }
    if (cast)
      value = CastOp::create(rewriter, op.getLoc(), op.getType(), value);
    if (!axes.empty())
      value = ReduceOp::create(rewriter, op.getLoc(), op.getType(),
                               op.getKind(), value, axes);
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<BroadcastOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "follows no other broadcast");
    auto dims = llvm::map_to_vector(inner.getDimensions(), [&](int64_t d) {
      return op.getDimensions()[d];
    });
    rewriter.replaceOp(op, createBroadcast(rewriter, op.getLoc(),
                                           inner.getOperand(),
                                           getSizes(op.getResult()), dims));
    return success();
  }
};

/// A broadcast that only adds dimensions of size 1 is an expand.
struct UnitBroadcastToExpand : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    Sizes source = getSizes(op.getOperand()), target = getSizes(op.getResult());
    if (getElementCount(source, getContext()) !=
        getElementCount(target, getContext()))
      return rewriter.notifyMatchFailure(op, "repeats elements");
    auto groups = getReshapeGroups(source, target);
    if (!groups)
      return rewriter.notifyMatchFailure(op, "the sizes do not pair");
    rewriter.replaceOp(op, createReshape(rewriter, op.getLoc(), op.getOperand(),
                                         target, *groups));
    return success();
  }
};

/// Dimensions of size 1 need not be there before a broadcast spreads them.
struct BroadcastOfExpand : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op,
                                PatternRewriter &rewriter) const override {
    auto expand = op.getOperand().getDefiningOp<ExpandOp>();
    if (!expand)
      return rewriter.notifyMatchFailure(op, "follows no expand");
    Sizes source = getSizes(expand.getOperand()),
          middle = getSizes(expand.getResult());
    SmallVector<int64_t> dims;
    for (auto [i, group] : llvm::enumerate(getGroups(expand))) {
      // The one dimension of the group that carries the operand's size.
      auto carrier = llvm::find_if(
          group, [&, i = i](int64_t d) { return middle[d] == source[i]; });
      bool others =
          carrier != group.end() && llvm::all_of(group, [&](int64_t d) {
            return d == *carrier || middle[d].isConstant(1);
          });
      if (!others)
        return rewriter.notifyMatchFailure(op, "the expand splits a dimension");
      dims.push_back(op.getDimensions()[*carrier]);
    }
    rewriter.replaceOp(op, createBroadcast(rewriter, op.getLoc(),
                                           expand.getOperand(),
                                           getSizes(op.getResult()), dims));
    return success();
  }
};

/// The smaller tensor is transposed, or none.
struct TransposeOfBroadcast : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getOperand().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return rewriter.notifyMatchFailure(op, "follows no broadcast");
    SmallVector<int64_t> place(op.getPermutation().size());
    for (auto [i, p] : llvm::enumerate(op.getPermutation()))
      place[p] = i;
    ArrayRef<int64_t> dims = broadcast.getDimensions();
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
    llvm::sort(order, [&](int64_t a, int64_t b) {
      return place[dims[a]] < place[dims[b]];
    });
    auto placed =
        llvm::map_to_vector(order, [&](int64_t d) { return place[dims[d]]; });
    Value operand =
        createTranspose(rewriter, op.getLoc(), broadcast.getOperand(), order);
    rewriter.replaceOp(op, createBroadcast(rewriter, op.getLoc(), operand,
                                           getSizes(op.getResult()), placed));
    return success();
  }
};

/// Joins dimensions that the operand has, or has not, as a whole.
struct CollapseOfBroadcast : OpRewritePattern<CollapseOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CollapseOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getOperand().getDefiningOp<BroadcastOp>();
    if (!broadcast)
      return rewriter.notifyMatchFailure(op, "follows no broadcast");
    Sizes source = getSizes(broadcast.getOperand()),
          full = getSizes(op.getOperand());
    SmallVector<int64_t> origin(full.size(),
                                -1); // operand dimension, if it carries a size
    SmallVector<bool> carries(source.size());
    for (auto [i, d] : llvm::enumerate(broadcast.getDimensions()))
      if (source[i] == full[d] && !full[d].isConstant(1))
        origin[d] = i, carries[i] = true;
    Groups joined;
    SmallVector<int64_t> dims;
    int64_t next = 0;
    for (auto [i, group] : llvm::enumerate(getGroups(op))) {
      SmallVector<int64_t> kept;
      unsigned spread = 0;
      for (int64_t d : group) {
        if (origin[d] >= 0)
          kept.push_back(origin[d]);
        else if (!full[d].isConstant(1))
          ++spread;
      }
      if (kept.empty())
        continue;
      if (spread)
        return rewriter.notifyMatchFailure(
            op, "joins a dimension with a repeated one");
      dims.push_back(i);
      // Dimensions of size 1 that are spread or dropped join their successor.
      joined.emplace_back();
      for (; next <= kept.back(); ++next)
        joined.back().push_back(next);
    }
    for (; next < static_cast<int64_t>(source.size()); ++next) {
      if (joined.empty())
        joined.emplace_back();
      joined.back().push_back(next);
    }
    Value operand = broadcast.getOperand();
    if (dims.empty()) // one element, repeated
      operand = createExpand(rewriter, op.getLoc(), operand, {},
                             Groups(source.size()));
    else
      operand = createCollapse(rewriter, op.getLoc(), operand, joined);
    rewriter.replaceOp(op, createBroadcast(rewriter, op.getLoc(), operand,
                                           getSizes(op.getResult()), dims));
    return success();
  }
};

/// A view of one value everywhere is that value everywhere.
template <typename ViewOp> struct ViewOfSplat : OpRewritePattern<ViewOp> {
  using OpRewritePattern<ViewOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(ViewOp op,
                                PatternRewriter &rewriter) const override {
    TypedAttr value = getSplatValue(op.getResult());
    if (!value)
      return rewriter.notifyMatchFailure(
          op, "the elements are not known to be equal");
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), value);
    return success();
  }
};

/// Exchanges of the last two dimensions are flags of a matmul.
struct MatmulOfTranspose : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    auto absorb = [&](Value value,
                      UnitAttr flag) -> std::pair<Value, UnitAttr> {
      auto transpose = value.getDefiningOp<TransposeOp>();
      int64_t rank = getRank(value);
      if (!transpose || transpose.getPermutation()[rank - 1] != rank - 2 ||
          transpose.getPermutation()[rank - 2] != rank - 1)
        return {value, flag};
      for (int64_t i = 0; i < rank - 2; ++i)
        if (transpose.getPermutation()[i] != i)
          return {value, flag};
      changed = true;
      return {transpose.getOperand(),
              flag ? UnitAttr() : rewriter.getUnitAttr()};
    };
    auto [lhs, transposeLhs] = absorb(op.getLhs(), op.getTransposeLhsAttr());
    auto [rhs, transposeRhs] = absorb(op.getRhs(), op.getTransposeRhsAttr());
    if (!changed)
      return rewriter.notifyMatchFailure(op,
                                         "no operand is a transposed matrix");
    rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getType(), lhs, rhs,
                                          transposeLhs, transposeRhs);
    return success();
  }
};
} // namespace

void fusec::populateReshapePatterns(RewritePatternSet &patterns) {
  patterns
      .add<MergeReshapes<CollapseOp>, MergeReshapes<ExpandOp>, MergeTransposes,
           UnitTransposeToReshape, ReduceOfUnitAxes, CollapseOfTranspose,
           MergeBroadcasts, UnitBroadcastToExpand, BroadcastOfExpand,
           TransposeOfBroadcast, CollapseOfBroadcast, ViewOfSplat<CollapseOp>,
           ViewOfSplat<ExpandOp>, ViewOfSplat<TransposeOp>,
           ViewOfSplat<SliceOp>, ViewOfSplat<BroadcastOp>, MatmulOfTranspose>(
          patterns.getContext());
}
