// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Leads.h"
#include "compiler/kernels/gemm/GemmAccesses.h"
#include "compiler/kernels/gemm/GemmUnits.h"

using namespace mlir;
using namespace fusec;

UnitStep::UnitStep(StepOp step, VariantAttr variant,
                   const MatmulIteration &iteration)
    : step(step), variant(variant),
      schedule(cast<GemmScheduleAttr>(variant.getSchedule())),
      iteration(iteration),
      accumulators(ContractionOp(iteration.root).getNumAccumulators()),
      element(getElementBytes(
          getElementType(ContractionOp(iteration.root).getLhs()[0]))) {}

Expr UnitStep::countTiles(int64_t m, int64_t n) const {
  return iteration.m.ceilDiv(number(m)) * iteration.n.ceilDiv(number(n)) *
         getElementCount(iteration.batchSizes, variant.getContext());
}

FailureOr<MappedMatrix> UnitStep::analyzeTile(BufferOp buffer,
                                              const TileAccess &access) const {
  int64_t alignment = getOffsetAlignment(
      getAlignment(buffer, variant), getElementBytes(buffer.getElementType()),
      access.getRunOffsets());
  return analyzeMappedTile(access, buffer.getElementType(), iteration.m,
                           iteration.n, iteration.batchSizes, alignment);
}

CopyAttr UnitStep::getCopy(int64_t tile, int64_t kBytes, int64_t promotion,
                           bool inTurn) const {
  return CopyAttr::get(variant.getContext(), tile, kBytes,
                       /*rounds=*/schedule.getMath() != GemmMath::Tf32x3,
                       promotion, inTurn);
}

CopyAttr UnitStep::getSourceCopy(int64_t tile, int64_t rowBytes) const {
  return CopyAttr::get(variant.getContext(), tile,
                       std::min<int64_t>(rowBytes, wgmmaRowBytes),
                       /*rounds=*/false, widestPromotion, /*inTurn=*/false);
}

/// Constant weights need not wait for the kernel before.
static bool canPrefetch(StepOp step, const MatmulIteration &iteration,
                        GemmScheduleAttr schedule) {
  if (schedule.getLead() || !getGemmUnit(schedule).prefetches)
    return false;
  auto isWeight = [&](const MatrixAccess &access) {
    return step.getInputBuffer(access.value).getKind() == BufferKind::Weight;
  };
  return llvm::all_of(schedule.getSwapped() ? ArrayRef(iteration.lhs[0])
                                            : ArrayRef(iteration.rhs[0]),
                      isWeight);
}

LaunchAttr fusec::getGemmLaunch(StepOp step, VariantAttr variant) {
  FailureOr<MatmulIteration> iteration = analyzeMatmul(step);
  if (failed(iteration))
    return {};
  auto schedule = cast<GemmScheduleAttr>(variant.getSchedule());
  if (schedule.getSwapped()) {
    if (!canSwapOperands(*iteration))
      return {};
    *iteration = swapOperands(std::move(*iteration));
  }
  const GemmUnit &unit = getGemmUnit(schedule);
  UnitStep at(step, variant, *iteration);
  // What rows are reduced for is evaluated in runs of them.
  if (unit.chooseMaps && iteration->reductions.empty())
    at.maps = unit.chooseMaps(at);
  SmallVector<Attribute> copies;
  if (unit.usesTensorMaps())
    copies = unit.chooseCopies(at);
  auto getArray = [&](ArrayRef<Attribute> attributes) {
    return attributes.empty() ? ArrayAttr()
                              : ArrayAttr::get(step.getContext(), attributes);
  };
  SmallVector<AccessesAttr> accesses = {
      getGemmAccesses(step, variant, *iteration)};
  if (StepOp leading = schedule.getLead() ? findLeadingStep(step) : StepOp())
    if (auto of = analyzeMatmul(leading); succeeded(of))
      accesses.push_back(getGemmAccesses(leading, variant, *of));
  return unit.getLaunch(at)
      .withAccesses(accesses)
      .starting(/*early=*/false, canPrefetch(step, *iteration, schedule))
      .withMaps(getArray(copies),
                getArray(llvm::to_vector_of<Attribute>(at.maps.operands)),
                getArray(llvm::to_vector_of<Attribute>(at.maps.results)));
}
