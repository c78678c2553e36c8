// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_RESIDENT_SCHEDULE_TD
#define FUSEC_RESIDENT_SCHEDULE_TD

include "ir/FusecAttributes.td"
include "ir/FusecScheduleInterface.td"

def Fusec_ResidentScheduleAttr : Fusec_Attr<"ResidentSchedule", "resident_schedule", [Fusec_GemmScheduleAttr]> {
  let summary = "columns of the weights, warpgroups that multiply, stages of the ring of rows, blocks";
  let description = [{
    `blocks` is the most that the persistent grid has.
  }];
  let parameters = (ins "int64_t":$tileN, "int64_t":$consumers, "int64_t":$stages, "int64_t":$blocks);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    ::fusec::GemmMath getMath() const { return ::fusec::GemmMath::Tensor; }
  }];
}

#endif // FUSEC_RESIDENT_SCHEDULE_TD
