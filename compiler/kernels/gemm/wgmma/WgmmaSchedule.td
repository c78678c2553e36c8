// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef FUSEC_WGMMA_SCHEDULE_TD
#define FUSEC_WGMMA_SCHEDULE_TD

include "ir/FusecAttributes.td"
include "ir/FusecScheduleInterface.td"

def Fusec_WgmmaScheduleAttr : Fusec_Attr<"WgmmaSchedule", "wgmma_schedule", [Fusec_GemmScheduleAttr]> {
  let summary = "tile of a block, stages of the ring in shared memory, clusters, blocks";
  let description = [{
    Blocks of a cluster lie beside each other along M or N; along K they multiply
    a part of K of one tile each. `blocks` is the most that the persistent grid
    has; with a cluster along K there is one for each tile. `pingPong`: the two consumers have tiles of
    their own instead of halves of one. `tf32x3`: fp32 by three products of tf32.
    `lead`: columns of the product that the last segment's A is, where the same
    launch computes it first. `swapped`: the kernel multiplies B^T by A^T, so
    that M and N of its tile are N and M of the product. `band`: rows of tiles
    that are walked together, down before across.
  }];
  let parameters = (ins "int64_t":$tileM, "int64_t":$tileN, "int64_t":$tileK, "int64_t":$stages,
      DefaultValuedParameter<"int64_t", "1">:$clusterM, DefaultValuedParameter<"int64_t", "1">:$clusterN,
      "int64_t":$blocks, DefaultValuedParameter<"bool", "false">:$pingPong,
      DefaultValuedParameter<"bool", "false">:$tf32x3, DefaultValuedParameter<"int64_t", "0">:$lead,
      DefaultValuedParameter<"bool", "false">:$swapped, DefaultValuedParameter<"int64_t", "1">:$clusterK,
      DefaultValuedParameter<"int64_t", "16">:$band);
  let builders = [
    AttrBuilder<(ins "int64_t":$tileM, "int64_t":$tileN, "int64_t":$tileK, "int64_t":$stages,
                     "int64_t":$clusterM, "int64_t":$clusterN, "int64_t":$blocks, "bool":$pingPong,
                     "bool":$tf32x3), [{
      return $_get($_ctxt, tileM, tileN, tileK, stages, clusterM, clusterN, blocks, pingPong, tf32x3, 0, false, 1, 16);
    }]>
  ];
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    ::fusec::GemmMath getMath() const {
      return getTf32x3() ? ::fusec::GemmMath::Tf32x3 : ::fusec::GemmMath::Tensor;
    }
    int64_t getCluster() const { return getClusterM() * getClusterN() * getClusterK(); }
    /// The same schedule with a leading product of so many columns.
    WgmmaScheduleAttr withLead(int64_t columns) const {
      return get(getContext(), getTileM(), getTileN(), getTileK(), getStages(), getClusterM(), getClusterN(),
                 getBlocks(), getPingPong(), getTf32x3(), columns, getSwapped(), getClusterK(), getBand());
    }
    /// The same schedule of the transposed product.
    WgmmaScheduleAttr asSwapped() const {
      return get(getContext(), getTileM(), getTileN(), getTileK(), getStages(), getClusterM(), getClusterN(),
                 getBlocks(), getPingPong(), getTf32x3(), getLead(), true, getClusterK(), getBand());
    }
    /// The same schedule of clusters that divide K.
    WgmmaScheduleAttr withClusterK(int64_t cluster) const {
      return get(getContext(), getTileM(), getTileN(), getTileK(), getStages(), getClusterM(), getClusterN(),
                 getBlocks(), getPingPong(), getTf32x3(), getLead(), getSwapped(), cluster, getBand());
    }
    /// The same schedule that walks so many rows of tiles together.
    WgmmaScheduleAttr withBand(int64_t rows) const {
      return get(getContext(), getTileM(), getTileN(), getTileK(), getStages(), getClusterM(), getClusterN(),
                 getBlocks(), getPingPong(), getTf32x3(), getLead(), getSwapped(), getClusterK(), rows);
    }
  }];
}

#endif // FUSEC_WGMMA_SCHEDULE_TD
