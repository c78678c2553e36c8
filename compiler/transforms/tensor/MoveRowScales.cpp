// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scale by rows commutes with a product: (r x) . W -> r (x . W), where r has
// one value a row. A norm before a linear layer then computes r alone, the
// product's epilogue applies it, and the scaled x is never stored. Of 16-bit
// operands the product stays fp32 until it is scaled.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/transforms/tensor/Rewrites.h"

namespace fusec {
#define GEN_PASS_DEF_MOVEROWSCALES
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

/// The broadcast that spreads one value over each row of `value`, or null.
static BroadcastOp getRowBroadcast(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return nullptr;
  int64_t last = getRank(value) - 1;
  Sizes sizes = getSizes(broadcast.getOperand());
  for (auto [i, dim] : llvm::enumerate(broadcast.getDimensions()))
    if (dim == last && !sizes[i].isConstant(1))
      return nullptr;
  return broadcast;
}

static bool isOnlyLeftOperand(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    auto product = dyn_cast<ContractionOp>(use.getOwner());
    return product && product.getNumSegments() == 1 &&
           use.getOperandNumber() == 0;
  });
}

static Value convert(OpBuilder &builder, Location loc, Value value,
                     Type element) {
  if (getElementType(value) == element)
    return value;
  return CastOp::create(builder, loc, getTensorType(getSizes(value), element),
                        value);
}

static void moveScale(ContractionOp product, Value x, BroadcastOp scale) {
  OpBuilder builder(product);
  Location loc = product.getLoc();
  Type element = getElementType(x);
  Type wide = element.isF64() ? element : Type(builder.getF32Type());
  SmallVector<Type> types =
      llvm::map_to_vector(product.getResults(), [&](Value v) {
        return Type(getTensorType(getSizes(v), wide));
      });
  auto unscaled =
      ContractionOp::create(builder, loc, types, x, product.getRhs());
  Value rows = convert(builder, loc, scale.getOperand(), wide);
  for (auto [from, to] :
       llvm::zip_equal(unscaled.getResults(), product.getResults())) {
    Value spread = createBroadcast(builder, loc, rows, getSizes(from),
                                   scale.getDimensions());
    Value scaled = MulOp::create(builder, loc, from, spread);
    to.replaceAllUsesWith(convert(builder, loc, scaled, getElementType(to)));
  }
  product.erase();
}

namespace {
struct MoveRowScales : fusec::impl::MoveRowScalesBase<MoveRowScales> {
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    for (auto product :
         llvm::make_early_inc_range(block.getOps<ContractionOp>())) {
      auto mul = product.getLhs()[0].getDefiningOp<MulOp>();
      if (!mul || !isa<FloatType>(getElementType(mul)) ||
          product.getNumSegments() != 1 || !isOnlyLeftOperand(mul))
        continue;
      for (auto [x, scale] : {std::pair(mul.getLhs(), mul.getRhs()),
                              std::pair(mul.getRhs(), mul.getLhs())}) {
        BroadcastOp rows = getRowBroadcast(scale);
        if (!rows)
          continue;
        remarkPassed(remarks::moveRowScale, mul.getLoc())
            << "a scale by rows is applied to the product";
        moveScale(product, x, rows);
        if (mul.use_empty())
          mul.erase();
        break;
      }
    }
  }
};
} // namespace
