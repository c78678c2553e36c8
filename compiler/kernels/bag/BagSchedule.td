// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_BAG_SCHEDULE_TD
#define FUSEC_BAG_SCHEDULE_TD

include "ir/FusecAttributes.td"

def Fusec_BagScheduleAttr : Fusec_Attr<"BagSchedule", "bag_schedule"> {
  let summary = "threads a block, elements an access";
  let parameters = (ins "int64_t":$threads, "int64_t":$vector);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // FUSEC_BAG_SCHEDULE_TD
