// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/TunedSchedules.h"
#include "compiler/analysis/TypicalSizes.h"

#include <cmath>

using namespace mlir;
using namespace fusec;

using Sizes = std::map<std::string, int64_t>;

/// Whether a guard holds, as far as sizes say.
static bool holds(GuardAttr guard, const Sizes &dims) {
  if (guard.getKind() == GuardKind::Aligned)
    return true;
  auto evaluate = [&](ExprAttr expr) {
    return Expr(expr).evaluate([&](Expr leaf) -> std::optional<int64_t> {
      if (leaf.getKind() != ExprKind::Symbol)
        return std::nullopt;
      auto it = dims.find(leaf.getName().str());
      return it == dims.end() ? std::nullopt : std::optional(it->second);
    });
  };
  std::optional<int64_t> lhs = evaluate(guard.getLhs()),
                         rhs = evaluate(guard.getRhs());
  if (!lhs || !rhs)
    return false;
  switch (guard.getKind()) {
  case GuardKind::Le:
    return *lhs <= *rhs;
  case GuardKind::Lt:
    return *lhs < *rhs;
  case GuardKind::Ge:
    return *lhs >= *rhs;
  case GuardKind::Gt:
    return *lhs > *rhs;
  case GuardKind::Eq:
    return *lhs == *rhs;
  case GuardKind::Ne:
    return *lhs != *rhs;
  case GuardKind::Aligned:
    break;
  }
  return true;
}

/// How far an entry's sizes are from those that the variant was estimated at.
static double getDistance(VariantAttr variant, const TuningProblem &problem,
                          const Sizes &sizes) {
  double distance = 0;
  EstimateAttr estimate = variant.getEstimate();
  if (!estimate)
    return distance;
  for (const auto &[name, size] : problem.sizes) {
    double measured = sizes.at(name),
           estimated = getSampledValue(size, estimate.getDim());
    distance = std::max(distance, std::abs(std::log(std::max(measured, 1.0) /
                                                    std::max(estimated, 1.0))));
  }
  return distance;
}

/// The variant with `tuned` first, or null where it has no such schedule.
static VariantAttr putFirst(VariantAttr variant,
                            const MeasuredSchedule &tuned) {
  SmallVector<CandidateAttr> all;
  all.push_back(CandidateAttr::get(variant.getContext(), variant.getSchedule(),
                                   variant.getEstimate()));
  llvm::append_range(all, variant.getAlternatives());
  auto it = llvm::find_if(all, [&](CandidateAttr candidate) {
    return getScheduleText(candidate.getSchedule()) == tuned.schedule;
  });
  if (it == all.end())
    return nullptr;
  std::rotate(all.begin(), it, it + 1);
  return VariantAttr::get(variant.getContext(), variant.getGuards(),
                          all[0].getSchedule(), all[0].getEstimate(),
                          ArrayRef(all).drop_front(), tuned.nanoseconds);
}

void fusec::takeTunedSchedules(StepOp step, const Target &target,
                               Products products, const TuningFile &tuning,
                               MutableArrayRef<VariantAttr> variants) {
  const TuningDevice *device = tuning.find(target.name);
  std::optional<TuningProblem> problem = getTuningProblem(step, products);
  if (!device || !problem)
    return;
  struct Chosen {
    VariantAttr variant;
    double distance;
    Sizes sizes;
  };
  SmallVector<Chosen> chosen(variants.size());
  for (const TuningEntry &entry : device->entries) {
    if (!(entry.key == problem->key))
      continue;
    std::optional<Sizes> dims = solveSizes(*problem, entry.sizes);
    if (!dims)
      continue;
    auto it = llvm::find_if(variants, [&](VariantAttr variant) {
      return llvm::all_of(variant.getGuards(),
                          [&](GuardAttr guard) { return holds(guard, *dims); });
    });
    if (it == variants.end())
      continue;
    VariantAttr variant = putFirst(*it, entry.tuned);
    if (!variant)
      continue;
    Chosen &best = chosen[it - variants.begin()];
    double distance = getDistance(*it, *problem, entry.sizes);
    if (!best.variant || distance < best.distance ||
        (distance == best.distance && best.sizes < entry.sizes))
      best = {variant, distance, entry.sizes};
  }
  for (auto [variant, best] : llvm::zip_equal(variants, chosen))
    if (best.variant)
      variant = best.variant;
}
