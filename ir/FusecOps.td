// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ops of the dialect, for the generators.

include "ir/FusecTensorOps.td"
include "ir/FusecFusedOps.td"
include "ir/FusecPlanOps.td"
