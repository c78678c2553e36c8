// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/device/gemm_config.h"
#include "compiler/kernels/gemm/GemmUnits.h"
#include <numeric>

using namespace mlir;
using namespace fusec;

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

static bool holdsRows(const MatmulIteration &iteration,
                      GemmScheduleAttr schedule) {
  if (iteration.reductions.empty())
    return true;
  GemmUnit unit = schedule.getUnit();
  return unit != GemmUnit::Resident && unit != GemmUnit::GemvM &&
         iteration.n.isConstant() && iteration.n.getValue() > 0 &&
         iteration.n.getValue() <= schedule.getTileN();
}

void GemmProblem::add(GemmScheduleAttr schedule, const GemmSizes &sizes,
                      SmallVectorImpl<Candidate> &to) const {
  if (holdsRows(iteration, schedule))
    to.push_back({schedule, estimateGemm(target, sizes, schedule)});
}

SmallVector<Candidate> fusec::getGemmCandidates(const GemmProblem &problem,
                                                int64_t dim, bool mapped,
                                                bool aligned) {
  GemmSizes sizes = getGemmSizes(problem.step, problem.iteration, dim);
  SmallVector<Candidate> candidates;
  addGemv(problem, sizes, candidates);
  if (mapped && problem.usesWgmma(sizes)) {
    addWgmma(problem, sizes, candidates);
    addSwapped(problem, sizes, candidates);
    addSkinny(problem, sizes, candidates);
  }
  if (mapped && problem.tensorCores)
    addResident(problem, sizes, candidates);
  sizes.wideCopies = aligned;
  addTiles(problem, sizes, aligned, candidates);
  return candidates;
}
