// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_SIMT_SCHEDULE_TD
#define FUSEC_SIMT_SCHEDULE_TD

include "ir/FusecAttributes.td"
include "ir/FusecScheduleInterface.td"

def Fusec_SimtScheduleAttr : Fusec_Attr<"SimtSchedule", "simt_schedule", [Fusec_GemmScheduleAttr]> {
  let summary = "tile of a block, and the part of it that a thread computes";
  let parameters = (ins "int64_t":$tileM, "int64_t":$tileN, "int64_t":$tileK,
      "int64_t":$threadM, "int64_t":$threadN);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    ::fusec::GemmMath getMath() const { return ::fusec::GemmMath::Fma; }
  }];
}

#endif // FUSEC_SIMT_SCHEDULE_TD
