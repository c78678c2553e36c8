// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fp32 products of 16-bit operands, where the user asked for them: operands are
// rounded, weights when compiling and activations by the kernel that computes
// them; sums and results stay fp32.

#include "compiler/Names.h"
#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/analysis/Views.h"
#include "ir/FusecOps.h"
#include "ir/reference/Elements.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace fusec {
#define GEN_PASS_DEF_NARROWPRODUCTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

namespace {
struct NarrowProducts : fusec::impl::NarrowProductsBase<NarrowProducts> {
  using NarrowProductsBase::NarrowProductsBase;

  void runOnOperation() override {
    Builder builder(&getContext());
    Type element = type == Precision::Fp16 ? Type(builder.getF16Type())
                                           : Type(builder.getBF16Type());
    llvm::MapVector<Value, Value> narrowed;
    for (auto product : getOperation().getBody().getOps<ContractionOp>()) {
      if (!getElementType(product.getLhs()[0]).isF32())
        continue;
      for (OpOperand &operand : product->getOpOperands())
        operand.set(narrow(operand.get(), element, narrowed));
      remarkPassed(remarks::narrowProducts, product.getLoc())
          << llvm::formatv("the operands are rounded to {0}", element).str();
    }
  }

  /// The value in `element`: rounded before views, so that a constant behind
  /// them is rounded when compiling.
  Value narrow(Value value, Type element,
               llvm::MapVector<Value, Value> &narrowed) {
    if (Value known = narrowed.lookup(value))
      return known;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    Type result = getTensorType(getSizes(value), element);
    Operation *view = value.getDefiningOp();
    if (view && isView(view) && view->getNumOperands() == 1) {
      IRMapping mapping;
      mapping.map(view->getOperand(0),
                  narrow(view->getOperand(0), element, narrowed));
      Operation *clone = builder.clone(*view, mapping);
      clone->getResult(0).setType(cast<RankedTensorType>(result));
      return narrowed[value] = clone->getResult(0);
    }
    // No fold rounds what sessions replace, and their copies should be narrow:
    // adapters are given in any type, whole weights in that of the model.
    if (auto factor = value.getDefiningOp<ReplaceableOp>();
        factor && factor.getSlot().getPart() != AdapterPart::Whole) {
      std::string error;
      auto tensor = reference::Tensor::fromConstant(factor.getValue(), error);
      if (succeeded(tensor))
        return narrowed[value] = ReplaceableOp::create(
                   builder, value.getLoc(), result, factor.getSlot(),
                   reference::convert(*tensor, element)
                       .toConstant(getNodeName(value.getLoc())));
    }
    return narrowed[value] =
               CastOp::create(builder, value.getLoc(), result, value);
  }
};
} // namespace
