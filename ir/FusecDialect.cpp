// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/FusecDialect.h"
#include "ir/FusecOps.h"
#include "ir/PlanBuffers.h"

using namespace mlir;
using namespace fusec;

#include "ir/FusecDialect.cpp.inc"

void FusecDialect::initialize() {
  registerAttributes();
  registerTensorOps();
  addInterfaces<PlanBufferTables>();
}

Operation *FusecDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}
