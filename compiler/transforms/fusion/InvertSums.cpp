// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inside a kernel, what softmax divides by the sum of it all is multiplied by
// the sum's inverse.

#include "compiler/Passes.h"
#include "ir/FusecOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_INVERTSUMS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// The reduction of `rows` of which the value repeats each result along what it
/// was reduced from.
static ReduceOp findOfRows(Value value, ReduceKind kind, Value rows) {
  auto repeated = value.getDefiningOp<BroadcastOp>();
  auto reduce =
      repeated ? repeated.getOperand().getDefiningOp<ReduceOp>() : ReduceOp();
  if (!reduce || reduce.getKind() != kind || reduce.getOperand() != rows ||
      reduce.getParts())
    return {};
  SmallVector<int64_t> kept;
  for (int64_t dim = 0, rank = getSizes(rows.getType()).size(); dim < rank;
       ++dim)
    if (!llvm::is_contained(reduce.getAxes(), dim))
      kept.push_back(dim);
  return repeated.getDimensions() == ArrayRef(kept) ? reduce : ReduceOp();
}

/// The sum by which exponentials are divided of what is below their row's
/// largest: some of them are 1, so that its inverse is no more than that.
static ReduceOp findSum(DivOp div) {
  auto exp = div.getLhs().getDefiningOp<ExpOp>();
  auto sub = exp ? exp.getOperand().getDefiningOp<SubOp>() : SubOp();
  if (!sub)
    return {};
  ReduceOp largest = findOfRows(sub.getRhs(), ReduceKind::Max, sub.getLhs()),
           sum = findOfRows(div.getRhs(), ReduceKind::Sum, exp);
  return largest && sum && largest.getAxes() == sum.getAxes() ? sum
                                                              : ReduceOp();
}

/// In 16 bits a quotient is a few products anyway, and sums of many, and their
/// inverses, are beyond them.
static bool isWide(Value value) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  return type.isF32() || type.isF64();
}

static void invertSum(DivOp div) {
  ReduceOp sum = isWide(div) ? findSum(div) : ReduceOp();
  if (!sum)
    return;
  OpBuilder builder(div);
  Location loc = div.getLoc();
  auto repeated = div.getRhs().getDefiningOp<BroadcastOp>();
  Value inverse = ReciprocalOp::create(builder, loc, sum.getType(), sum);
  inverse = BroadcastOp::create(builder, loc, repeated.getType(), inverse,
                                repeated.getDimensions());
  Value product =
      MulOp::create(builder, loc, div.getType(), div.getLhs(), inverse);
  div.replaceAllUsesWith(product);
  div.erase();
  if (repeated.use_empty())
    repeated.erase();
}

namespace {
struct InvertSums : fusec::impl::InvertSumsBase<InvertSums> {
  void runOnOperation() override {
    getOperation().walk([](FusionOp fusion) {
      for (DivOp div :
           llvm::to_vector(fusion.getBody().front().getOps<DivOp>()))
        invertSum(div);
    });
  }
};
} // namespace
