// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_POINTWISE_SCHEDULE_TD
#define FUSEC_POINTWISE_SCHEDULE_TD

include "ir/FusecAttributes.td"

def Fusec_PointwiseScheduleAttr : Fusec_Attr<"PointwiseSchedule", "pointwise_schedule"> {
  let summary = "threads a block, elements a thread along the innermost dimension, index width, blocks, rows";
  let description = [{
    `blocks` is the most that the grid has: threads of larger problems take
    several vectors, one after another. 0: each thread takes one. `holds`: a
    block holds in shared memory so many rows at once that its points pick
    elements of by indices, each for a part of its threads; 0: none. `rows`: a block puts so many rows together there,
    whose parts lie side by side, and stores them as one run of memory; 0: every
    element is stored by whom it is computed.
  }];
  let parameters = (ins "int64_t":$threads, "int64_t":$vector, "int64_t":$indexBits,
      DefaultValuedParameter<"int64_t", "0">:$blocks, DefaultValuedParameter<"int64_t", "0">:$holds,
      DefaultValuedParameter<"int64_t", "0">:$rows);
  let builders = [
    AttrBuilder<(ins "int64_t":$threads, "int64_t":$vector, "int64_t":$indexBits), [{
      return $_get($_ctxt, threads, vector, indexBits, 0, 0, 0);
    }]>,
    AttrBuilder<(ins "int64_t":$threads, "int64_t":$vector, "int64_t":$indexBits, "int64_t":$blocks), [{
      return $_get($_ctxt, threads, vector, indexBits, blocks, 0, 0);
    }]>
  ];
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // FUSEC_POINTWISE_SCHEDULE_TD
