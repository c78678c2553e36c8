// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/tensor/QuantizedWeights.h"
#include "compiler/analysis/Views.h"

using namespace mlir;

namespace fusec {

/// Scales and zeros: the same for all, or for a row or a column.
static bool isSpread(Value value) {
  return isa_and_nonnull<SplatOp, BroadcastOp>(value.getDefiningOp());
}

SmallVector<Operation *> findDequantization(ConstantOp weights,
                                            OpOperand *&read) {
  SmallVector<Operation *> ops;
  auto type = cast<RankedTensorType>(weights.getType());
  if (!type.getElementType().isInteger(8) || type.getRank() != 2)
    return ops;
  for (Value value = weights; value.hasOneUse();) {
    read = &*value.use_begin();
    Operation *user = read->getOwner();
    if (isa<MatmulOp, ContractionOp>(user))
      return ops;
    bool isStep = isa<CastOp>(user) || isViewOfOne(user) ||
                  (isa<SubOp, MulOp>(user) &&
                   isSpread(user->getOperand(1 - read->getOperandNumber())));
    if (!isStep)
      break;
    ops.push_back(user);
    value = user->getResult(0);
  }
  return {};
}

} // namespace fusec
