// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a kernel does its work: one attribute a family, of matmuls one a unit. A
// guard tells when the variant that carries it may run.

#ifndef FUSEC_SCHEDULE_ATTRIBUTES_TD
#define FUSEC_SCHEDULE_ATTRIBUTES_TD

include "ir/FusecAttributes.td"
include "compiler/kernels/bag/BagSchedule.td"
include "compiler/kernels/chain/ChainSchedule.td"
include "compiler/kernels/gemm/gemv/GemvSchedule.td"
include "compiler/kernels/gemm/mma/MmaSchedule.td"
include "compiler/kernels/gemm/resident/ResidentSchedule.td"
include "compiler/kernels/gemm/simt/SimtSchedule.td"
include "compiler/kernels/gemm/skinny/SkinnySchedule.td"
include "compiler/kernels/gemm/wgmma/WgmmaSchedule.td"
include "compiler/kernels/pairs/PairSchedule.td"
include "compiler/kernels/pointwise/PointwiseSchedule.td"
include "compiler/kernels/reduce/ReduceSchedule.td"
include "compiler/kernels/transpose/TransposeSchedule.td"

def Fusec_GuardKind : Fusec_Enum<"GuardKind", "a comparison, or the alignment of a buffer",
    ["Le", "Lt", "Ge", "Gt", "Eq", "Ne", "Aligned"]>;

def Fusec_GuardAttr : Fusec_Attr<"Guard", "guard"> {
  let summary = "a condition on sizes, or on the address of a user's tensor";
  let description = [{
    `Aligned`: the address of `buffer` is a multiple of `rhs`; `lhs` is then 0.
  }];
  let parameters = (ins EnumParameter<Fusec_GuardKind>:$kind, "::fusec::ExprAttr":$lhs, "::fusec::ExprAttr":$rhs,
      OptionalParameter<"::mlir::FlatSymbolRefAttr">:$buffer);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Fusec_CopyAttr : Fusec_Attr<"Copy", "copy"> {
  let summary = "what a tensor map copies of a segment's matrix at once";
  let description = [{
    `tile` along the outer axis, 0 where kernels read by pointers, by `kBytes`
    along K. `rounds`: floats, to tf32. `promotion`: bytes that a miss of the L2
    cache fetches. `inTurn`: ranges of K take its tiles in turn.
  }];
  let parameters = (ins "int64_t":$tile, "int64_t":$kBytes, "bool":$rounds, "int64_t":$promotion,
      DefaultValuedParameter<"bool", "false">:$inTurn);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Fusec_TileMapAttr : Fusec_Attr<"TileMap", "tile_map"> {
  let summary = "an operand or a result of an epilogue that moves by tensor map";
  let description = [{
    The one at `index`, in boxes of `inner` by `outer` elements.
  }];
  let parameters = (ins "int64_t":$index, "int64_t":$inner, "int64_t":$outer, "int64_t":$swizzle);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Fusec_Walk : Fusec_Enum<"Walk", "along what the lanes of a loop lie",
    ["Dimension", "Linear", "Memory"]>;

def Fusec_AccessesAttr : Fusec_Attr<"Accesses", "accesses"> {
  let summary = "how many elements each access of a loop moves at once";
  let description = [{
    `width` lanes lie along a dimension of the loop's points, along their linear
    index, or along memory from where what the loop stores, or reduces, is
    aligned, with single elements before and behind.
    `loads`: of each place where the region reads a tensor, or the tables of a
    lookup, in the order of its scalar program. `stores`: of each value that is
    stored, in the order in which they are. 1 is an element on its own. Else
    `width` for neighbours, in either order, and as many more as there are
    elements between the lanes: `loads = [8]` of 4 lanes is a vector of which
    every second element is theirs, `stores = [8, 8]` two values that take turns
    in one. `passing`: reads, by their place in `loads`, of what nobody reads
    again, whose lines are to leave L2 before others, or after them where a
    kernel stores more than L2 holds. `shifted`: reads whose vectors begin
    anywhere in memory, and are shifted into place.
    Of chains and matmuls, which have no lanes, they are runs of elements:
    of each tile that is copied; of A and B of each segment, then of the
    epilogue's operands.

    ```mlir
    #fusec.accesses<walk = linear, width = 4, loads = [4, 1], stores = [4]>
    ```
  }];
  let parameters = (ins Fusec_DefaultEnumParameter<Fusec_Walk, "::fusec::Walk::Dimension">:$walk,
      DefaultValuedParameter<"int64_t", "1">:$width, OptionalParameter<"::mlir::DenseI64ArrayAttr">:$loads,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$stores,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$passing,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$shifted);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<int64_t> getLoadWidths() const {
      return getLoads() ? getLoads().asArrayRef() : ::llvm::ArrayRef<int64_t>();
    }
    ::llvm::ArrayRef<int64_t> getStoreWidths() const {
      return getStores() ? getStores().asArrayRef() : ::llvm::ArrayRef<int64_t>();
    }
    ::llvm::ArrayRef<int64_t> getPassingReads() const {
      return getPassing() ? getPassing().asArrayRef() : ::llvm::ArrayRef<int64_t>();
    }
    ::llvm::ArrayRef<int64_t> getShiftedReads() const {
      return getShifted() ? getShifted().asArrayRef() : ::llvm::ArrayRef<int64_t>();
    }
  }];
}

def Fusec_LaunchAttr : Fusec_Attr<"Launch", "launch"> {
  let summary = "how a kernel is launched";
  let description = [{
    Grids, blocks and clusters extend along x. `shared` is dynamic shared memory
    in bytes, `resident` the blocks that a multiprocessor's registers are to
    have room for. `cooperative`: blocks wait for one another, so that all of
    the grid must find room. `early`: blocks may be placed while the kernel
    before drains; `prefetches`: they then read weights before they wait for it.
    `streams`: what is read of weights need not stay in the L2 cache.
    `matrices`: of matmuls, how A and B of each segment are copied, one after the
    other; `operands` and `results`: tiles of the epilogue that move by tensor
    map.
    `accesses`: of each loop of a kernel that reads and stores by pointers.
  }];
  let parameters = (ins "::fusec::ExprAttr":$blocks, "int64_t":$threads,
      DefaultValuedParameter<"int64_t", "0">:$shared, DefaultValuedParameter<"int64_t", "1">:$cluster,
      DefaultValuedParameter<"int64_t", "1">:$resident, DefaultValuedParameter<"bool", "false">:$cooperative,
      DefaultValuedParameter<"bool", "false">:$early, DefaultValuedParameter<"bool", "false">:$prefetches,
      DefaultValuedParameter<"bool", "false">:$streams, OptionalParameter<"::mlir::ArrayAttr">:$matrices,
      OptionalParameter<"::mlir::ArrayAttr">:$operands, OptionalParameter<"::mlir::ArrayAttr">:$results,
      OptionalParameter<"::mlir::ArrayAttr">:$accesses);
  let builders = [
    AttrBuilderWithInferredContext<(ins "::fusec::Expr":$blocks, "int64_t":$threads,
                                        CArg<"int64_t", "0">:$shared, CArg<"int64_t", "1">:$cluster), [{
      return $_get(blocks.getContext(), blocks.getAttr(), threads, shared, cluster, 1, false, false, false, false,
                   nullptr, nullptr, nullptr, nullptr);
    }]>
  ];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    LaunchAttr withMaps(::mlir::ArrayAttr matrices, ::mlir::ArrayAttr operands, ::mlir::ArrayAttr results) const {
      return get(getContext(), getBlocks(), getThreads(), getShared(), getCluster(), getResident(),
                 getCooperative(), getEarly(), getPrefetches(), getStreams(), matrices, operands, results,
                 getAccesses());
    }
    LaunchAttr withAccesses(::llvm::ArrayRef<::fusec::AccessesAttr> accesses) const;
    /// Of the loop, null where none is listed.
    ::fusec::AccessesAttr getLoopAccesses(size_t loop) const {
      ::mlir::ArrayAttr loops = getAccesses();
      return loops && loop < loops.size() ? ::llvm::cast<::fusec::AccessesAttr>(loops[loop]) : nullptr;
    }
    LaunchAttr withResident(int64_t resident) const {
      return get(getContext(), getBlocks(), getThreads(), getShared(), getCluster(), resident,
                 getCooperative(), getEarly(), getPrefetches(), getStreams(), getMatrices(), getOperands(), getResults(),
                 getAccesses());
    }
    LaunchAttr asCooperative() const {
      return get(getContext(), getBlocks(), getThreads(), getShared(), getCluster(), getResident(),
                 true, getEarly(), getPrefetches(), getStreams(), getMatrices(), getOperands(), getResults(),
                 getAccesses());
    }
    LaunchAttr starting(bool early, bool prefetches) const {
      return get(getContext(), getBlocks(), getThreads(), getShared(), getCluster(), getResident(),
                 getCooperative(), early, prefetches, getStreams(), getMatrices(), getOperands(), getResults(),
                 getAccesses());
    }
    LaunchAttr streaming(bool streams) const {
      return get(getContext(), getBlocks(), getThreads(), getShared(), getCluster(), getResident(),
                 getCooperative(), getEarly(), getPrefetches(), streams, getMatrices(), getOperands(), getResults(),
                 getAccesses());
    }
  }];
}

def Fusec_TimeBound : Fusec_Enum<"TimeBound", "what most of a kernel's time goes into",
    ["Launch", "Memory", "L2", "Arithmetic", "Tensor", "Latency"]>;

def Fusec_EstimateAttr : Fusec_Attr<"Estimate", "estimate"> {
  let summary = "the cost model's time of a kernel, and what bounds it";
  let description = [{
    Where every named dimension is `dim`; see `compiler/kernels/Estimate.h`.
  }];
  let parameters = (ins "int64_t":$nanoseconds, EnumParameter<Fusec_TimeBound>:$bound, "int64_t":$dim);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Fusec_CandidateAttr : Fusec_Attr<"Candidate", "candidate"> {
  let summary = "a schedule with its predicted time";
  let parameters = (ins "::mlir::Attribute":$schedule, OptionalParameter<"::fusec::EstimateAttr">:$estimate);
  let assemblyFormat = "`<` $schedule (`,` $estimate^)? `>`";
}

def Fusec_VariantAttr : Fusec_Attr<"Variant", "variant"> {
  let summary = "a schedule and when it may be used";
  let description = [{
    `alternatives` may replace the schedule, under the same guards: where the
    compiler of its kernel spills registers, the next one is taken. `measured`
    is the time in nanoseconds for which `fusec tune` preferred the schedule; 0
    where the cost model chose it. `launch` follows from all of the others and
    is written last.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::fusec::GuardAttr">:$guards, "::mlir::Attribute":$schedule,
      OptionalParameter<"::fusec::EstimateAttr">:$estimate,
      OptionalArrayRefParameter<"::fusec::CandidateAttr">:$alternatives,
      DefaultValuedParameter<"int64_t", "0">:$measured, OptionalParameter<"::fusec::LaunchAttr">:$launch);
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<::fusec::GuardAttr>":$guards, "::mlir::Attribute":$schedule,
                     "::fusec::EstimateAttr":$estimate, "::llvm::ArrayRef<::fusec::CandidateAttr>":$alternatives,
                     "int64_t":$measured), [{
      return $_get($_ctxt, guards, schedule, estimate, alternatives, measured, ::fusec::LaunchAttr());
    }]>,
    AttrBuilder<(ins "::llvm::ArrayRef<::fusec::GuardAttr>":$guards, "::mlir::Attribute":$schedule,
                     "::fusec::EstimateAttr":$estimate, "::llvm::ArrayRef<::fusec::CandidateAttr>":$alternatives), [{
      return $_get($_ctxt, guards, schedule, estimate, alternatives, 0, ::fusec::LaunchAttr());
    }]>,
    AttrBuilder<(ins "::llvm::ArrayRef<::fusec::GuardAttr>":$guards, "::mlir::Attribute":$schedule), [{
      return $_get($_ctxt, guards, schedule, ::fusec::EstimateAttr(),
                   ::llvm::ArrayRef<::fusec::CandidateAttr>(), 0, ::fusec::LaunchAttr());
    }]>
  ];
  let assemblyFormat = [{
    `<` `[` (`]`) : ($guards^ `]`)? `,` $schedule (`launch` $launch^)? (`measured` $measured^)? (`,` `takes` $estimate^)? (`,` `else` `[` $alternatives^ `]`)? `>`
  }];
  let extraClassDeclaration = [{
    /// This variant with its first alternative; null where it has none.
    ::fusec::VariantAttr getNext();
    ::fusec::VariantAttr withLaunch(::fusec::LaunchAttr launch) const {
      return get(getContext(), getGuards(), getSchedule(), getEstimate(), getAlternatives(), getMeasured(), launch);
    }
  }];
}

#endif // FUSEC_SCHEDULE_ATTRIBUTES_TD
