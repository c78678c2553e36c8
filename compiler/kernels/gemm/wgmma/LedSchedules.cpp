// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of a matmul whose kernel computes the A of its last segment first.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/MappedMatrix.h"
#include "compiler/kernels/gemm/wgmma/WgmmaSchedules.h"
#include "compiler/kernels/gemm/wgmma/device/gemm_wgmma_lead_config.h"

using namespace mlir;
using namespace fusec;

// Clusters share the load of B. A launch with leading tiles needs that: its
// blocks are no longer in step, so that L2 reads for each what single blocks in
// step had read for several; measured at 8192 x 11008 x 4096, tiles of 128 x
// 128 without clusters lose 12%, in clusters 2%.
static const WgmmaTiling ledTilings[] = {
    {128, 128, 0, 2, 1, WgmmaSchedule::PingPong},
    {128, 256, 0, 2, 1, WgmmaSchedule::Cooperative},
    {128, 128, 0, 2, 1, WgmmaSchedule::Cooperative}};

/// Adds the guards under which every matrix of the leading product has a tensor
/// map; false where one never has.
static bool collectGuards(StepOp leading, const MatmulIteration &iteration,
                          SmallVectorImpl<GuardAttr> &guards) {
  SmallVector<GuardAttr> needed;
  SmallVector<BufferOp> buffers;
  for (const MatrixAccess &access : {iteration.lhs[0], iteration.rhs[0][0]}) {
    auto mapped = analyzeMapped(access, iteration.batchSizes);
    BufferOp buffer = leading.getInputBuffer(access.value);
    int64_t bytes = getElementBytes(buffer.getElementType());
    if (failed(mapped) || (!mapped->alongK && bytes != 2) ||
        failed(addMapGuards(*mapped, buffer, needed)))
      return false;
    buffers.push_back(buffer);
  }
  if (failed(addDepthGuard(iteration.k, needed)))
    return false;
  llvm::append_range(needed, getAlignmentGuards(buffers));
  for (GuardAttr guard : needed)
    if (!llvm::is_contained(guards, guard))
      guards.push_back(guard);
  return true;
}

/// Columns of the leading product in whole steps of the tensor cores, or 0
/// where the one kernel cannot compute both.
static int64_t getLead(StepOp leading, const MatmulIteration &first,
                       StepOp step, const MatmulIteration &second) {
  MLIRContext *context = step.getContext();
  ContractionOp root = first.root;
  auto isOne = [&](ArrayRef<Expr> sizes) {
    return getElementCount(sizes, context).isConstant(1);
  };
  if (!first.reductions.empty() || !second.reductions.empty() || first.made ||
      first.lhs.size() != 1 || root.getNumAccumulators() != 1 ||
      first.stores.size() != 1 || !isOne(first.batchSizes) ||
      !isOne(second.batchSizes) || first.m != second.m ||
      first.n != second.k.back() || !first.n.isConstant() ||
      first.n.getValue() > wgmmaLeadColumns)
    return 0;
  Type element = getElementType(second.lhs[0].value);
  for (const MatmulIteration *product : {&first, &second})
    for (const MatrixAccess &access : product->lhs)
      if (getElementType(access.value) != element)
        return 0;
  if (!second.lhs.back().isAlongK())
    return 0;
  // What it reads must not have been overwritten: it is computed later than
  // where its step stands.
  for (BlockArgument argument : leading.getBody().front().getArguments()) {
    BufferOp buffer = leading.getInputBuffer(argument);
    bool isKept = buffer.getKind() != BufferKind::Slot ||
                  llvm::is_contained(step.getInputs().getValue(),
                                     FlatSymbolRefAttr::get(buffer));
    if (!isKept || buffer.getKind() == BufferKind::Output)
      return 0;
  }
  return llvm::alignTo(first.n.getValue(), 32 / getElementBytes(element));
}

SmallVector<VariantAttr> fusec::leadVariant(StepOp leading, StepOp step,
                                            VariantAttr variant,
                                            const Target &target,
                                            Products products) {
  auto schedule = dyn_cast<GemmScheduleAttr>(variant.getSchedule());
  EstimateAttr apart = variant.getEstimate();
  if (!schedule || !apart || schedule.getMath() != GemmMath::Tensor ||
      !getGemmUnit(schedule).usesTensorMaps())
    return {variant};
  auto first = analyzeMatmul(leading), second = analyzeMatmul(step);
  SmallVector<GuardAttr> guards(variant.getGuards());
  if (failed(first) || failed(second) ||
      !collectGuards(leading, *first, guards))
    return {variant};
  int64_t columns = getLead(leading, *first, step, *second);
  auto own = estimateGemmStep(leading, target, products, apart.getDim())[0];
  if (columns == 0 || !own)
    return {variant};

  GemmSizes sizes = getGemmSizes(step, target, *second, apart.getDim()),
            leadSizes = getGemmSizes(leading, target, *first, apart.getDim());
  double before = double(apart.getNanoseconds()) / 1000 + own->microseconds;
  SmallVector<Candidate> candidates;
  for (WgmmaScheduleAttr tiled :
       getWgmmaSchedules(step, *second, ledTilings, target)) {
    WgmmaScheduleAttr led = tiled.withLead(columns);
    Estimate estimate = estimateGemm(target, sizes, led);
    estimate.microseconds += estimateLead(target, sizes, leadSizes, led);
    if (estimate.microseconds < before)
      candidates.push_back({led, estimate});
  }
  if (candidates.empty())
    return {variant};
  VariantAttr led =
      makeVariant(step.getContext(), guards, candidates, apart.getDim());
  if (guards.size() > variant.getGuards().size())
    return {led, variant};
  // Where all of them spill, the kernels stay apart.
  SmallVector<CandidateAttr> alternatives(led.getAlternatives());
  alternatives.push_back(
      CandidateAttr::get(step.getContext(), schedule, apart));
  return {VariantAttr::get(step.getContext(), led.getGuards(),
                           led.getSchedule(), led.getEstimate(), alternatives)};
}
