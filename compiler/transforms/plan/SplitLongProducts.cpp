// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of few tiles and a long K become two steps: ranges of K as a batch,
// and the sum of their results, which has the epilogue. Tiles that are too few
// for all multiprocessors would have to be small, and L2 then bounds them.
//
// The ranges are a batch to every kernel, and the sum is a reduction: units,
// epilogues and storage are those that are there, and since the sum has an
// order, bits are the same from run to run.

#include "compiler/Passes.h"
#include "compiler/Remarks.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/Family.h"
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/SplitProducts.h"
#include "ir/PlanBuffers.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_SPLITLONGPRODUCTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// Shorter ones are over before a second launch begins.
static constexpr int64_t leastK = 4096, leastRange = 512;
/// What a split must gain over all sizes of the named dimensions, and may lose
/// at one of them: about what the cost model errs by. Of a K that one wave of
/// small tiles gets through soon it errs by more: five fp16 products with K =
/// 11008, predicted to gain 1.13 to 1.2, lost 4 to 17% on an H200.
static constexpr double leastGain = 1.1, leastGainOfShort = 1.25,
                        mostLoss = 1.03;
static constexpr int64_t shortK = 16384;
/// Of all partial results, unless they are few beside the operands: they stay
/// near L2, and the arena small.
static constexpr double mostPartBytes = 64 << 20, partsOfOperands = 0.25;

namespace {
/// How much faster a split is than the step, and each at the size where it
/// gains most.
struct Gain {
  double factor = 0; // 0: not at all
  double whole = 0, split = 0;
  int64_t dim = typicalDim;
};

struct SplitLongProducts
    : fusec::impl::SplitLongProductsBase<SplitLongProducts> {
  using SplitLongProductsBase::SplitLongProductsBase;

  void runOnOperation() override {
    PlanOp plan = getOperation();
    target = getPlanTarget(plan);
    if (!target)
      return signalPassFailure();
    PlanBuffers buffers(plan);
    for (StepOp step : llvm::to_vector(plan.getOps<StepOp>()))
      if (step.getFamily() == Family::Gemm)
        trySplit(step);
  }

  void trySplit(StepOp step);
  SmallVector<int64_t> getDims(ContractionOp product) const;
  Gain getGain(StepOp step, const SplitStep &split, const Estimates &whole,
               ArrayRef<int64_t> dims) const;
  bool hasRoom(StepOp step, const SplitStep &split, int64_t dim) const;

  const Target *target = nullptr;
};
} // namespace

/// Where no size is named, one stands for all.
SmallVector<int64_t> SplitLongProducts::getDims(ContractionOp product) const {
  bool isConstant = llvm::all_of(getSizes(product.getAccumulators()[0]),
                                 [](Expr size) { return size.isConstant(); });
  return isConstant ? SmallVector<int64_t>{typicalDim}
                    : llvm::to_vector(sampledDims);
}

bool SplitLongProducts::hasRoom(StepOp step, const SplitStep &split,
                                int64_t dim) const {
  double parts = getStepBytesAt(split.products, dim).written;
  return parts <= std::max(mostPartBytes,
                           partsOfOperands * getStepBytesAt(step, dim).read);
}

Gain SplitLongProducts::getGain(StepOp step, const SplitStep &split,
                                const Estimates &whole,
                                ArrayRef<int64_t> dims) const {
  Estimates first = estimateStep(split.products, *target, products, dims),
            second = estimateStep(split.sum, *target, products, dims);
  double gained = 0, most = 0;
  Gain gain;
  for (auto [dim, one, a, b] : llvm::zip_equal(dims, whole, first, second)) {
    if (!one || !a || !b || !hasRoom(step, split, dim))
      return {};
    double apart = a->microseconds + b->microseconds - estimateOverlap(*target);
    double factor = one->microseconds / apart;
    if (factor < 1 / mostLoss && !always)
      return {};
    if (factor > most) {
      most = factor;
      gain = {0, one->microseconds, apart, dim};
    }
    gained += std::log(factor);
  }
  gain.factor = std::exp(gained / dims.size());
  return gain;
}

void SplitLongProducts::trySplit(StepOp step) {
  std::string reason;
  ContractionOp product = getSplittableProduct(step, reason);
  if (!product)
    return;
  SmallVector<int64_t> splits =
      getSplits(product, target->multiprocessors, leastRange);
  int64_t k = 0;
  for (Value lhs : product.getLhs())
    k += getSizes(lhs).back().getValue();
  if (splits.empty() || (k < leastK && !always))
    return;
  SmallVector<int64_t> dims = getDims(product);
  Estimates whole = estimateStep(step, *target, products, dims);
  Gain best;
  int64_t bestParts = 0;
  for (int64_t parts : splits) {
    SplitStep split = splitProduct(step, product, parts);
    Gain gain = getGain(step, split, whole, dims);
    if (gain.factor > best.factor) {
      best = gain;
      bestParts = parts;
    }
    split.erase();
  }
  double least = k < shortK ? leastGainOfShort : leastGain;
  if (!bestParts || (best.factor < least && !always))
    return;
  splitProduct(step, product, bestParts);
  remarkPassed(remarks::splitProduct, step.getLoc())
      << llvm::formatv("'{0}' sums {1} ranges of K: {2:f1} us instead of "
                       "{3:f1} us, at dimensions of {4}",
                       step.getName(), bestParts, best.split, best.whole,
                       best.dim)
             .str();
  step.erase();
}
