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
#include "compiler/schedule/Schedules.h"
#include "compiler/transforms/plan/SplitProducts.h"
#include "ir/PlanBuffers.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec {
#define GEN_PASS_DEF_SPLITLONGPRODUCTS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace fusec;

/// Of K, of a range.
static constexpr int64_t leastRange = 512;
/// What a split must gain over all sizes of the named dimensions: about what
/// the cost model errs by, which is more for a K that one wave of small tiles
/// gets through soon. Predicted to gain 1.13 to 1.2, five fp16 products with
/// K = 11008 lost 4 to 17% on an H200, and to gain 1.21, 128 x 4096 x 256 lost
/// 12%; 1024 x 8192 x 512, to gain as much, did gain 1.24.
static double getLeastGain(int64_t k) {
  return k < 8192 ? 1.25 : k < 16384 ? 1.2 : 1.1;
}
/// Of the operands, by which partial results are few.
static constexpr double partsOfOperands = 0.25;

namespace {
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
  bool hasRoom(StepOp step, const CutStep &split, int64_t dim) const;

  const Target *target = nullptr;
};
} // namespace

bool SplitLongProducts::hasRoom(StepOp step, const CutStep &split,
                                int64_t dim) const {
  // Unless they are few, they are to stay near L2, and the arena small.
  double parts = getStepBytesAt(split.first, dim).written;
  return parts <= std::max(target->tile.mostRangesBytes,
                           partsOfOperands * getStepBytesAt(step, dim).read);
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
  if (splits.empty() || (k < target->tile.leastRangesK && !always))
    return;
  SmallVector<int64_t> dims = getDecisiveDims(step);
  Estimates whole = estimateStep(step, *target, products, dims);
  CutGain best;
  int64_t bestParts = 0;
  for (int64_t parts : splits) {
    CutStep split = splitProduct(step, product, parts);
    bool fits = llvm::all_of(
        dims, [&](int64_t dim) { return hasRoom(step, split, dim); });
    CutGain gain = fits ? getGain({split.first, split.second}, whole, *target,
                                  products, dims, always)
                        : CutGain();
    if (gain.factor > best.factor) {
      best = gain;
      bestParts = parts;
    }
    split.erase();
  }
  double least = getLeastGain(k);
  if (!bestParts || (best.factor < least && !always))
    return;
  splitProduct(step, product, bestParts);
  remarkPassed(remarks::splitProduct, step.getLoc())
      << fmt::format("'{}' sums {} ranges of K: {:.1f} us instead of "
                     "{:.1f} us, at dimensions of {}",
                     step.getName(), bestParts, best.cut, best.whole, best.dim);
  step.erase();
}
