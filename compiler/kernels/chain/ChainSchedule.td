// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_CHAIN_SCHEDULE_TD
#define FUSEC_CHAIN_SCHEDULE_TD

include "ir/FusecAttributes.td"

def Fusec_ChainScheduleAttr : Fusec_Attr<"ChainSchedule", "chain_schedule"> {
  let summary = "rows of a block's tile, threads a block, rows of a phase that a thread sums, blocks";
  let description = [{
    `blocks` is the most that the grid has: a block keeps its weights and walks
    over tiles.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$threads, "int64_t":$perThread, "int64_t":$blocks);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // FUSEC_CHAIN_SCHEDULE_TD
