// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_TRANSPOSE_SCHEDULE_TD
#define FUSEC_TRANSPOSE_SCHEDULE_TD

include "ir/FusecAttributes.td"

def Fusec_TransposeScheduleAttr : Fusec_Attr<"TransposeSchedule", "transpose_schedule"> {
  let summary = "a block's tile and threads, elements an access, index width";
  let description = [{
    `along` is the tile's extent in the dimension along which it is filled,
    `across` in the one along which results are stored; `load` and `store` are
    elements of an access in these. A block has `threads`.
  }];
  let parameters = (ins "int64_t":$along, "int64_t":$across, "int64_t":$load, "int64_t":$store,
      "int64_t":$indexBits, DefaultValuedParameter<"int64_t", "256">:$threads);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // FUSEC_TRANSPOSE_SCHEDULE_TD
