// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/tensor/MergeContractions.h"
#include "compiler/Remarks.h"
#include "compiler/device/gemm_wgmma_config.h"
#include "compiler/transforms/fusion/FusionGroups.h"
#include "compiler/transforms/tensor/PointwisePaths.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec;

//===----------------------------------------------------------------------===//
// Along K
//===----------------------------------------------------------------------===//

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
  remarkPassed(RemarkTopic::Rewrite, "merge-summed-products", root.getLoc())
      << "a sum of " + std::to_string(products.size()) +
             " products became one product with " + std::to_string(lhs.size()) +
             " segments along K";
  root.replaceAllUsesWith(sum);
}

/// Erases what lost its last use, operands after users.
static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void fusec::mergeSummedContractions(Block &block) {
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

//===----------------------------------------------------------------------===//
// Along N
//===----------------------------------------------------------------------===//

/// Whether a value of `op`'s block feeds it, through any number of ops.
static bool dependsOn(Operation *op, Operation *producer) {
  llvm::SetVector<Operation *> seen;
  seen.insert(op);
  for (size_t i = 0; i < seen.size(); ++i)
    for (Value operand : seen[i]->getOperands())
      if (Operation *def = operand.getDefiningOp()) {
        if (def == producer)
          return true;
        if (producer->getBlock() == def->getBlock() &&
            producer->isBeforeInBlock(def))
          seen.insert(def);
      }
  return false;
}

bool fusec::canBeGrouped(ContractionOp a, ContractionOp b) {
  if (a.getLhs() != b.getLhs() || a.getRhs().empty() ||
      a.getNumAccumulators() + b.getNumAccumulators() >
          unsigned(wgmmaMaxAccumulators))
    return false;
  for (unsigned s = 0; s < a.getNumSegments(); ++s)
    if (a.getRhs(s, 0).getType() != b.getRhs(s, 0).getType() ||
        !lieAlike(a.getRhs(s, 0), b.getRhs(s, 0)))
      return false;
  return true;
}

ContractionOp fusec::groupContractions(ArrayRef<ContractionOp> members) {
  OpBuilder builder(members.back());
  SmallVector<Value> rhs;
  SmallVector<Type> types;
  SmallVector<Location> locs;
  ContractionOp first = members.front();
  for (unsigned s = 0; s < first.getNumSegments(); ++s)
    for (ContractionOp member : members)
      for (unsigned j = 0; j < member.getNumAccumulators(); ++j)
        rhs.push_back(member.getRhs(s, j));
  for (ContractionOp member : members) {
    llvm::append_range(types, member.getAccumulators().getTypes());
    locs.push_back(member.getLoc());
  }
  Location loc = builder.getFusedLoc(locs);
  auto grouped =
      ContractionOp::create(builder, loc, types, first.getLhs(), rhs);
  unsigned next = 0;
  for (ContractionOp member : members)
    for (Value result : member.getAccumulators())
      result.replaceAllUsesWith(grouped.getAccumulators()[next++]);
  for (ContractionOp member : members)
    member.erase();
  return grouped;
}

/// Groups what can be of contractions with one left operand.
static void groupSiblings(SmallVector<ContractionOp> pending) {
  while (!pending.empty()) {
    SmallVector<ContractionOp> members = {pending.front()}, rest;
    unsigned accumulators = members[0].getNumAccumulators();
    for (ContractionOp candidate : ArrayRef(pending).drop_front()) {
      bool fits = accumulators + candidate.getNumAccumulators() <=
                      unsigned(wgmmaMaxAccumulators) &&
                  canBeGrouped(members[0], candidate) &&
                  llvm::any_of(members, [&](ContractionOp member) {
                    return meetThroughPointwise(member, candidate);
                  });
      if (fits && llvm::any_of(members, [&](ContractionOp member) {
            return dependsOn(candidate, member);
          })) {
        remarkMissed(RemarkTopic::Rewrite, "group-products", candidate.getLoc())
            << "a product of the same left operand depends on the other's "
               "result";
        fits = false;
      }
      (fits ? members : rest).push_back(candidate);
      accumulators += fits ? candidate.getNumAccumulators() : 0;
    }
    if (members.size() > 1) {
      ContractionOp grouped = groupContractions(members);
      remarkPassed(RemarkTopic::Rewrite, "group-products", grouped.getLoc())
          << std::to_string(grouped.getNumAccumulators()) +
                 " products of one left operand became accumulators of one "
                 "kernel";
    }
    pending = std::move(rest);
  }
}

void fusec::groupContractions(Block &block) {
  // Of thousands of products few share a left operand and meet.
  auto classes = classifyByPointwiseUsers(block);
  llvm::MapVector<std::pair<Operation *, Value>, SmallVector<ContractionOp>>
      candidates;
  for (auto product : block.getOps<ContractionOp>())
    candidates[{classes.getLeaderValue(product), product.getLhs()[0]}]
        .push_back(product);
  for (auto &[key, products] : candidates)
    groupSiblings(std::move(products));
  // A grouped op stands at its last member, whose users may come before it.
  sortTopologically(&block);
}
