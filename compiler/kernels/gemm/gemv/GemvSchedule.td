// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_GEMV_SCHEDULE_TD
#define FUSEC_GEMV_SCHEDULE_TD

include "ir/FusecAttributes.td"
include "ir/FusecScheduleInterface.td"

def Fusec_NarrowSide : Fusec_Enum<"NarrowSide", "which side of a product is narrow", ["M", "N"]>;

def Fusec_GemvScheduleAttr : Fusec_Attr<"GemvSchedule", "gemv_schedule", [Fusec_GemmScheduleAttr]> {
  let summary = "the narrow side, rows or columns that a kernel keeps of it, threads a block";
  let parameters = (ins EnumParameter<Fusec_NarrowSide>:$narrow, "int64_t":$width, "int64_t":$threads);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    ::fusec::GemmMath getMath() const { return ::fusec::GemmMath::Fma; }
  }];
}

#endif // FUSEC_GEMV_SCHEDULE_TD
