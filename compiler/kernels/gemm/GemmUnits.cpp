// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/GemmUnits.h"
#include "compiler/kernels/gemm/device/gemm_config.h"
#include <numeric>

using namespace mlir;
using namespace fusec;

/// Of candidates that take equally long the first is chosen.
static const GemmUnit *const units[] = {&gemvUnit,     &wgmmaUnit, &skinnyUnit,
                                        &residentUnit, &mmaUnit,   &simtUnit};

const GemmUnit &fusec::getGemmUnit(GemmScheduleAttr schedule) {
  return **llvm::find_if(units, [&](const GemmUnit *unit) {
    return unit->schedule == schedule.getTypeID();
  });
}

Estimate fusec::estimateGemm(const Target &target, const GemmSizes &sizes,
                             GemmScheduleAttr schedule) {
  return getGemmUnit(schedule).estimate(target, sizes, schedule);
}

SmallVector<Candidate> fusec::getGemmCandidates(const GemmProblem &problem,
                                                int64_t dim, bool mapped,
                                                bool aligned) {
  GemmSizes sizes =
      getGemmSizes(problem.step, problem.target, problem.iteration, dim);
  sizes.wideCopies = aligned && !sizes.made;
  // What makes operands one by one is there for where there are no maps.
  auto isFit = [&](const GemmUnit &unit) {
    if (sizes.made)
      return unit.makes && unit.usesTensorMaps() == mapped;
    return mapped || !unit.usesTensorMaps();
  };
  SmallVector<Candidate> candidates;
  for (const GemmUnit *unit : units)
    if (isFit(*unit))
      unit->addCandidates(problem, sizes, candidates);
  return candidates;
}

GemmProblem::GemmProblem(StepOp step, const Target &target, Products products,
                         const MatmulIteration &iteration)
    : step(step), target(target), iteration(iteration),
      context(step.getContext()),
      type(getElementType(ContractionOp(iteration.root).getLhs()[0])),
      element(getElementBytes(type)),
      accumulators(ContractionOp(iteration.root).getNumAccumulators()),
      tensorCores(type.isF16() || type.isBF16() ||
                  (type.isF32() && products == Products::Tf32)),
      mayUseTf32x3(type.isF32() && products == Products::Ieee) {}

bool GemmProblem::usesTf32x3(const GemmSizes &sizes) const {
  return mayUseTf32x3 && std::accumulate(sizes.k.begin(), sizes.k.end(),
                                         int64_t(0)) >= tf32x3MinK;
}

bool GemmProblem::holdsRows(int64_t columns) const {
  return iteration.reductions.empty() ||
         (iteration.n.isConstant() && iteration.n.getValue() > 0 &&
          iteration.n.getValue() <= columns);
}
