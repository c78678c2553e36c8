// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What TableGen writes of the ops. Apart from the verifiers because it takes
// longer to compile than the rest of the dialect together.

#include "ir/FusecOps.h"
#include "ir/ReferenceScalars.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fusec;

#include "ir/FusecInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "ir/FusecOps.cpp.inc"

void FusecDialect::registerTensorOps() {
  addOperations<
#define GET_OP_LIST
#include "ir/FusecOps.cpp.inc"
      >();
}
