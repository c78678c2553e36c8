// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_SKINNY_SCHEDULE_TD
#define FUSEC_SKINNY_SCHEDULE_TD

include "ir/FusecAttributes.td"
include "ir/FusecScheduleInterface.td"

def Fusec_SkinnyScheduleAttr : Fusec_Attr<"SkinnySchedule", "skinny_schedule", [Fusec_GemmScheduleAttr]> {
  let summary = "rows of A and columns of a block, stages of the ring in shared memory, split of K";
  let description = [{
    The blocks of a cluster, `clusterK`, split K. `resident`: blocks that a
    multiprocessor is to have room for. `tf32x3`: fp32 by three products of tf32.
  }];
  let parameters = (ins "int64_t":$tileM, "int64_t":$tileN, "int64_t":$tileK, "int64_t":$stages,
      DefaultValuedParameter<"int64_t", "1">:$clusterK, DefaultValuedParameter<"int64_t", "1">:$resident,
      DefaultValuedParameter<"bool", "false">:$tf32x3);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    ::fusec::GemmMath getMath() const {
      return getTf32x3() ? ::fusec::GemmMath::Tf32x3 : ::fusec::GemmMath::Tensor;
    }
  }];
}

#endif // FUSEC_SKINNY_SCHEDULE_TD
