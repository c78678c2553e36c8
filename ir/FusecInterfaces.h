// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_IR_FUSECINTERFACES_H
#define FUSEC_IR_FUSECINTERFACES_H

#include "ir/FusecAttributes.h"
#include "ir/IndexMap.h"
#include "ir/Pointwise.h"
#include "mlir/IR/OpDefinition.h"

#include "ir/FusecInterfaces.h.inc"

#endif // FUSEC_IR_FUSECINTERFACES_H
