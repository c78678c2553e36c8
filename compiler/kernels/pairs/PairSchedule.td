// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_PAIR_SCHEDULE_TD
#define FUSEC_PAIR_SCHEDULE_TD

include "ir/FusecAttributes.td"

def Fusec_PairUnit : Fusec_Enum<"PairUnit", "what multiplies products of pairs", ["Mma", "Wgmma", "Fma"]>;

def Fusec_PairScheduleAttr : Fusec_Attr<"PairSchedule", "pair_schedule"> {
  let summary = "what multiplies, columns of a block's tile, stages of the ring of weights";
  let description = [{
    `whole`: rows have whole blocks of features, which lie at multiples of 16
    bytes. `Fma`, for exact products of fp32, has no ring.
  }];
  let parameters = (ins EnumParameter<Fusec_PairUnit>:$unit, "int64_t":$tileN, "int64_t":$stages, "bool":$whole);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // FUSEC_PAIR_SCHEDULE_TD
