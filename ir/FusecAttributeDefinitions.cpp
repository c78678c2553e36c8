// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What TableGen writes of the attributes, apart from their verifiers, as
// FusecOpDefinitions.cpp is.

#include "ir/FusecAttributes.h"
#include "ir/FusecDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec;

#include "ir/FusecEnums.cpp.inc"
#include "ir/FusecScheduleInterface.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/FusecAttributes.cpp.inc"

void FusecDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/FusecAttributes.cpp.inc"
      >();
}
