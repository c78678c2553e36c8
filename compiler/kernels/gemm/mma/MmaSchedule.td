// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_MMA_SCHEDULE_TD
#define FUSEC_MMA_SCHEDULE_TD

include "ir/FusecAttributes.td"
include "ir/FusecScheduleInterface.td"

def Fusec_MmaScheduleAttr : Fusec_Attr<"MmaSchedule", "mma_schedule", [Fusec_GemmScheduleAttr]> {
  let summary = "tile of a block, warps that share it, stages of the ring in shared memory";
  let description = [{
    `tf32x3`: fp32 by three products of tf32.
  }];
  let parameters = (ins "int64_t":$tileM, "int64_t":$tileN, "int64_t":$tileK,
      "int64_t":$warpsM, "int64_t":$warpsN, "int64_t":$stages,
      DefaultValuedParameter<"bool", "false">:$tf32x3);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    ::fusec::GemmMath getMath() const {
      return getTf32x3() ? ::fusec::GemmMath::Tf32x3 : ::fusec::GemmMath::Tensor;
    }
  }];
}

#endif // FUSEC_MMA_SCHEDULE_TD
