// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Views.h"
#include "ir/ShapeRules.h"

using namespace mlir;
using namespace fusec;

Value fusec::leaveFusions(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto fusion = dyn_cast<FusionOp>(argument.getOwner()->getParentOp());
      if (!fusion)
        return value;
      value = fusion.getInputs()[argument.getArgNumber()];
    } else if (auto fusion = value.getDefiningOp<FusionOp>()) {
      value = fusion.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(value).getResultNumber());
    } else {
      return value;
    }
  }
}

ViewSource fusec::traceViews(Value value) {
  ViewSource source{value,
                    IndexMap::identity(value.getContext(), getRank(value))};
  Sizes sizes = getSizes(value);
  ExprRanges ranges(sizes);
  while (Operation *op = source.value.getDefiningOp()) {
    if (!isa<CollapseOp, ExpandOp, TransposeOp, SliceOp, BroadcastOp>(op))
      break;
    source.map = cast<IndexedOpInterface>(op)
                     .getOperandMap(0)
                     .compose(source.map.results)
                     .simplify(ranges);
    source.value = op->getOperand(0);
  }
  return source;
}
