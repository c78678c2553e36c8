// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of products become one product with several segments along K:
// x W + s ((x A) B) + bias  ->  [x | s (x A)] . [W ; B] + bias.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include <fmt/core.h>

namespace fusec {
#define GEN_PASS_DEF_MERGESUMMEDPRODUCTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

namespace {
/// One operand of a tree of additions.
struct Summand {
  Value value;
  ContractionOp product; // null where the summand is none
  TypedAttr scale;       // null where there is none
};
} // namespace

static ContractionOp getSingleUseProduct(Value value) {
  auto product = value.getDefiningOp<ContractionOp>();
  return product && value.hasOneUse() && product.getNumAccumulators() == 1
             ? product
             : ContractionOp();
}

static Summand classify(Value value) {
  Summand summand{value, getSingleUseProduct(value), {}};
  auto mul = value.getDefiningOp<MulOp>();
  if (summand.product || !mul || !value.hasOneUse())
    return summand;
  for (auto [factor, scale] : {std::pair(mul.getLhs(), mul.getRhs()),
                               std::pair(mul.getRhs(), mul.getLhs())})
    if (ContractionOp product = getSingleUseProduct(factor))
      if (TypedAttr attr = getSplatValue(scale))
        return {value, product, attr};
  return summand;
}

/// Operands of the additions below `value`, left to right.
static void collectSummands(Value value, SmallVectorImpl<Summand> &summands) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add || !value.hasOneUse()) {
    summands.push_back(classify(value));
    return;
  }
  collectSummands(add.getLhs(), summands);
  collectSummands(add.getRhs(), summands);
}

/// A scale can move onto the left operand only where that is itself a product's
/// result, whose epilogue then holds it; elsewhere it would cost a kernel.
static bool canScaleLeft(Summand summand) {
  return !summand.scale || (summand.product.getNumSegments() == 1 &&
                            getSingleUseProduct(summand.product.getLhs()[0]));
}

static void mergeSum(AddOp root) {
  SmallVector<Summand> summands, products, others;
  collectSummands(root.getLhs(), summands);
  collectSummands(root.getRhs(), summands);
  for (const Summand &summand : summands)
    (summand.product && canScaleLeft(summand) ? products : others)
        .push_back(summand);
  if (products.size() < 2)
    return;
  // The segment that carries most work comes first.
  llvm::stable_sort(products, [](const Summand &a, const Summand &b) {
    return !a.scale && b.scale;
  });

  OpBuilder builder(root);
  SmallVector<Value> lhs, rhs;
  SmallVector<Location> locs;
  for (const Summand &summand : products) {
    ContractionOp product = summand.product;
    for (Value left : product.getLhs()) {
      if (summand.scale) {
        auto splat = SplatOp::create(builder, product.getLoc(), left.getType(),
                                     summand.scale);
        left = MulOp::create(builder, summand.value.getLoc(), left, splat);
      }
      lhs.push_back(left);
    }
    llvm::append_range(rhs, product.getRhs());
    locs.push_back(product.getLoc());
  }
  Location loc = builder.getFusedLoc(locs);
  Value sum = ContractionOp::create(builder, loc, root.getType(), lhs, rhs)
                  .getAccumulators()[0];
  for (const Summand &summand : others)
    sum = AddOp::create(builder, root.getLoc(), sum, summand.value);
  remarkPassed(remarks::mergeSummedProducts, root.getLoc()) << fmt::format(
      "a sum of {} products became one product with {} segments along K",
      products.size(), lhs.size());
  root.replaceAllUsesWith(sum);
}

/// Erases what lost its last use, operands after users.
static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

static void mergeSums(Block &block) {
  SmallVector<AddOp> roots;
  for (auto add : block.getOps<AddOp>()) {
    // The root of a tree is no operand of a larger one.
    bool inner = add->hasOneUse() && isa<AddOp>(*add->user_begin());
    if (!inner)
      roots.push_back(add);
  }
  for (AddOp root : roots)
    mergeSum(root);
  eraseDead(block);
}

namespace {
struct MergeSummedProducts
    : fusec::impl::MergeSummedProductsBase<MergeSummedProducts> {
  void runOnOperation() override {
    mergeSums(getOperation().getBody().front());
  }
};
} // namespace
