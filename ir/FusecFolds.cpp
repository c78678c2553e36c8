// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folds that need no arithmetic: ops that change nothing. Arithmetic on
// constants is done by the reference (ir/reference), as a pass.

#include "ir/FusecOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

static bool isIdentity(ArrayRef<int64_t> indices) {
  for (auto [i, index] : llvm::enumerate(indices))
    if (index != static_cast<int64_t>(i))
      return false;
  return true;
}

OpFoldResult CollapseOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return {};
}
OpFoldResult ExpandOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return {};
}
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return isIdentity(getPermutation()) ? OpFoldResult(getOperand())
                                      : OpFoldResult();
}
OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType() &&
      llvm::all_of(getSteps(), [](int64_t step) { return step == 1; }))
    return getOperand();
  return {};
}
OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return {};
}
OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getValues().size() == 1 ? OpFoldResult(getValues()[0])
                                 : OpFoldResult();
}

/// Whether the value is 1 everywhere. Multiplying or dividing by it changes no
/// bit, in any type.
static bool isOne(Value value) {
  while (auto view = value.getDefiningOp<BroadcastOp>())
    value = view.getOperand();
  Attribute attr;
  if (auto splat = value.getDefiningOp<SplatOp>())
    attr = splat.getValue();
  else if (auto constant = value.getDefiningOp<ConstantOp>())
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        dense && dense.isSplat())
      attr = dense.getSplatValue<Attribute>();
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attr))
    return integer.getValue().isOne();
  if (auto real = dyn_cast_or_null<FloatAttr>(attr))
    return real.getValue().isExactlyValue(1.0);
  return false;
}

OpFoldResult MulOp::fold(FoldAdaptor) {
  if (isOne(getRhs()))
    return getLhs();
  if (isOne(getLhs()))
    return getRhs();
  return {};
}
OpFoldResult DivOp::fold(FoldAdaptor) {
  return isOne(getRhs()) ? OpFoldResult(getLhs()) : OpFoldResult();
}
OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  // A wider float and back.
  auto inner = getOperand().getDefiningOp<CastOp>();
  if (!inner || inner.getOperand().getType() != getType())
    return {};
  auto narrow = dyn_cast<FloatType>(getElementType(getResult())),
       wide = dyn_cast<FloatType>(getElementType(inner.getResult()));
  bool isExact = narrow && wide && narrow.getWidth() < wide.getWidth();
  return isExact ? OpFoldResult(inner.getOperand()) : OpFoldResult();
}
