// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every remark that the compiler makes: what it is about and its name, which
// readers search for. A name belongs to one pass;
// test/lit/tools/remark-kinds.test looks for a second.

#ifndef FUSEC_COMPILER_REMARKKINDS_H
#define FUSEC_COMPILER_REMARKKINDS_H

#include "llvm/ADT/StringRef.h"

namespace fusec {

enum class RemarkTopic { Rewrite, Fusion, Schedule, Storage };

struct RemarkKind {
  RemarkTopic topic;
  llvm::StringLiteral name;
};

namespace remarks {
constexpr RemarkTopic Rewrite = RemarkTopic::Rewrite;
constexpr RemarkTopic Fusion = RemarkTopic::Fusion;
constexpr RemarkTopic Schedule = RemarkTopic::Schedule;
constexpr RemarkTopic Storage = RemarkTopic::Storage;

// What exporters write as several ops.
constexpr RemarkKind recognizeSilu = {Rewrite, "recognize-silu"};
constexpr RemarkKind recognizeGelu = {Rewrite, "recognize-gelu"};
constexpr RemarkKind recognizeSigmoid = {Rewrite, "recognize-sigmoid"};
constexpr RemarkKind recognizeRsqrt = {Rewrite, "recognize-rsqrt"};
constexpr RemarkKind recognizeSoftplus = {Rewrite, "recognize-softplus"};
constexpr RemarkKind recognizeRelu = {Rewrite, "recognize-relu"};

// Other tensor rewrites.
constexpr RemarkKind expandPower = {Rewrite, "expand-power"};
constexpr RemarkKind foldConstants = {Rewrite, "fold-constants"};
constexpr RemarkKind foldSteps = {Rewrite, "fold-steps"};
constexpr RemarkKind foldScale = {Rewrite, "fold-scale"};
constexpr RemarkKind foldShift = {Rewrite, "fold-shift"};
constexpr RemarkKind gatherToSlice = {Rewrite, "gather-to-slice"};
constexpr RemarkKind formBag = {Rewrite, "form-bag"};
constexpr RemarkKind gatherQuantized = {Rewrite, "gather-quantized"};
constexpr RemarkKind packTable = {Rewrite, "pack-table"};
constexpr RemarkKind groupLookups = {Rewrite, "group-lookups"};
constexpr RemarkKind layOutWeights = {Rewrite, "lay-out-weights"};
constexpr RemarkKind markAdapter = {Rewrite, "mark-adapter"};
constexpr RemarkKind narrowProducts = {Rewrite, "narrow-products"};

// Products, in the order of Pipelines.cpp.
constexpr RemarkKind outerProductToMul = {Rewrite, "outer-product-to-mul"};
constexpr RemarkKind formPairs = {Rewrite, "form-pairs"};
constexpr RemarkKind mergeSummedProducts = {Rewrite, "merge-summed-products"};
constexpr RemarkKind groupMeetingProducts = {Rewrite, "group-meeting-products"};
constexpr RemarkKind moveRowScale = {Rewrite, "move-row-scale"};

// Regions.
constexpr RemarkKind splitConcat = {Fusion, "split-concat"};
constexpr RemarkKind merge = {Fusion, "merge"};
constexpr RemarkKind assembleConcat = {Fusion, "assemble-concat"};

// Steps of a plan.
constexpr RemarkKind chain = {Fusion, "chain"};
constexpr RemarkKind rowEpilogue = {Fusion, "row-epilogue"};
constexpr RemarkKind bagEpilogue = {Fusion, "bag-epilogue"};
constexpr RemarkKind prologue = {Fusion, "prologue"};
constexpr RemarkKind groupProducts = {Fusion, "group-products"};
constexpr RemarkKind splitProduct = {Fusion, "split-product"};
constexpr RemarkKind splitReduction = {Fusion, "split-reduction"};
constexpr RemarkKind divideScan = {Fusion, "divide-scan"};
constexpr RemarkKind nestReductions = {Fusion, "nest-reductions"};
constexpr RemarkKind joinSiblings = {Fusion, "join-siblings"};
constexpr RemarkKind lead = {Fusion, "lead"};

// Buffers.
constexpr RemarkKind rowPitch = {Storage, "row-pitch"};
constexpr RemarkKind shareSlots = {Storage, "share-slots"};

// Kernels.
constexpr RemarkKind spills = {Schedule, "spills"};
} // namespace remarks

} // namespace fusec

#endif // FUSEC_COMPILER_REMARKKINDS_H
