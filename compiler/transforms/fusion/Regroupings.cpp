// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/fusion/Regroupings.h"

using namespace mlir;
using namespace fusec;

SmallVector<Value> fusec::followRegroupings(Value value) {
  SmallVector<Value> values = {value};
  while (isa_and_nonnull<CollapseOp, ExpandOp>(values.back().getDefiningOp()))
    values.push_back(values.back().getDefiningOp()->getOperand(0));
  return values;
}

/// Strides of a regrouping view's operand from those of its result.
static std::optional<SmallVector<Expr>> stridesBehind(Operation *view,
                                                      ArrayRef<Expr> strides) {
  Value source = view->getOperand(0);
  SmallVector<Expr> sizes = getSizes(source);
  SmallVector<Expr> result(sizes.size(), Expr::constant(view->getContext(), 1));
  if (auto collapse = dyn_cast<CollapseOp>(view)) {
    // A joined dimension is split again.
    for (auto [i, group] : llvm::enumerate(collapse.getReassociation())) {
      Expr stride = strides[i];
      for (Attribute index : llvm::reverse(cast<ArrayAttr>(group))) {
        int64_t d = cast<IntegerAttr>(index).getInt();
        result[d] = stride;
        stride = stride * sizes[d];
      }
    }
    return result;
  }
  auto expand = cast<ExpandOp>(view);
  SmallVector<Expr> inner = getSizes(expand.getResult());
  for (auto [i, group] : llvm::enumerate(expand.getReassociation())) {
    // Dimensions that are joined must lie one after another.
    std::optional<Expr> stride, next;
    for (Attribute index : llvm::reverse(cast<ArrayAttr>(group))) {
      int64_t d = cast<IntegerAttr>(index).getInt();
      if (inner[d].isConstant(1))
        continue;
      if (next && strides[d] != *next)
        return std::nullopt;
      if (!stride)
        stride = strides[d];
      next = strides[d] * inner[d];
    }
    if (stride)
      result[i] = *stride;
  }
  return result;
}

std::optional<SmallVector<Expr>>
fusec::getStridesBehindRegroupings(Value value, ArrayRef<Expr> strides) {
  SmallVector<Expr> result(strides);
  SmallVector<Value> forms = followRegroupings(value);
  for (Value form : ArrayRef(forms).drop_back()) {
    auto behind = stridesBehind(form.getDefiningOp(), result);
    if (!behind)
      return std::nullopt;
    result = *behind;
  }
  return result;
}
