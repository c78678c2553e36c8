// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/GemmUnits.h"

using namespace mlir;
using namespace fusec;

UnitStep::UnitStep(StepOp step, VariantAttr variant,
                   const MatmulIteration &iteration, EpilogueMaps maps)
    : step(step), variant(variant),
      schedule(cast<GemmScheduleAttr>(variant.getSchedule())),
      iteration(iteration),
      accumulators(ContractionOp(iteration.root).getNumAccumulators()),
      element(getElementBytes(
          getElementType(ContractionOp(iteration.root).getLhs()[0]))),
      maps(std::move(maps)) {}

Expr UnitStep::countTiles(int64_t m, int64_t n) const {
  return iteration.m.ceilDiv(number(m)) * iteration.n.ceilDiv(number(n)) *
         getElementCount(iteration.batchSizes, variant.getContext());
}

/// Constant weights need not wait for the kernel before.
static bool canPrefetch(StepOp step, const MatmulIteration &iteration,
                        GemmScheduleAttr schedule) {
  if (schedule.getLead() || !(schedule.isWgmma() || schedule.isSkinny()))
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
  UnitStep at(step, variant, *iteration,
              chooseEpilogueMaps(step, *iteration, variant));
  auto getArray = [&](ArrayRef<Attribute> attributes) {
    return attributes.empty() ? ArrayAttr()
                              : ArrayAttr::get(step.getContext(), attributes);
  };
  return getGemmUnit(schedule.getUnit())
      .getLaunch(at)
      .starting(/*early=*/false, canPrefetch(step, *iteration, schedule))
      .withMaps(getArray(chooseCopies(at)),
                getArray(llvm::to_vector_of<Attribute>(at.maps.operands)),
                getArray(llvm::to_vector_of<Attribute>(at.maps.results)));
}
