// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Views.h"
#include "ir/ShapeRules.h"

using namespace mlir;
using namespace fusec;

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
