// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/Candidates.h"
#include "compiler/analysis/GridLimit.h"
#include "compiler/analysis/Iteration.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

VariantAttr fusec::makeVariant(MLIRContext *context, ArrayRef<GuardAttr> guards,
                               SmallVector<Candidate> candidates, int64_t dim,
                               Attribute first) {
  if (candidates.empty())
    return nullptr;
  Attribute smallest = candidates.back().schedule;
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.estimate.microseconds < b.estimate.microseconds;
  });
  auto isFirst = [&](const Candidate &c) { return c.schedule == first; };
  if (auto it = llvm::find_if(candidates, isFirst); it != candidates.end())
    std::rotate(candidates.begin(), it, it + 1);
  auto isSmallest = [&](const Candidate &c) { return c.schedule == smallest; };
  auto small = llvm::find_if(candidates, isSmallest);
  if (small != candidates.begin())
    std::rotate(small, std::next(small), candidates.end());
  SmallVector<CandidateAttr> all =
      llvm::map_to_vector(candidates, [&](const Candidate &candidate) {
        auto estimate = EstimateAttr::get(
            context,
            static_cast<int64_t>(
                std::min(candidate.estimate.microseconds, 1e12) * 1000),
            candidate.estimate.bound, dim);
        return CandidateAttr::get(context, candidate.schedule, estimate);
      });
  return VariantAttr::get(context, guards, all[0].getSchedule(),
                          all[0].getEstimate(), ArrayRef(all).drop_front());
}

Candidate fusec::getFastest(ArrayRef<Candidate> candidates) {
  return *llvm::min_element(candidates, [](auto &a, auto &b) {
    return a.estimate.microseconds < b.estimate.microseconds;
  });
}

Attribute fusec::getFirstFast(ArrayRef<Candidate> candidates) {
  constexpr double enough = 1.01;
  if (candidates.empty())
    return {};
  double most = enough * getFastest(candidates).estimate.microseconds;
  return llvm::find_if(candidates,
                       [&](const Candidate &candidate) {
                         return candidate.estimate.microseconds <= most;
                       })
      ->schedule;
}

/// How much slower than the fastest a schedule may be at a sampled size.
static constexpr double bucketTolerance = 1.1;
/// What one more kernel to compile and keep must gain: the sum, over the
/// sampled sizes, of the parts by which they get faster.
static constexpr double bucketGain = 0.1;

namespace {
/// What could run at a size.
struct SampledSize {
  int64_t dim;
  SmallVector<Candidate> candidates;
};

/// Some of the sampled sizes, one after another, and the schedule of all.
struct Bucket {
  size_t begin, end;
  Attribute schedule;
};
} // namespace

/// The buckets that lose least, by dynamic programming over where they end.
static SmallVector<Bucket> chooseBuckets(ArrayRef<SampledSize> sizes) {
  // By how much each schedule is slower than the fastest at each size.
  llvm::MapVector<Attribute, SmallVector<double>> losses;
  for (auto [i, size] : llvm::enumerate(sizes)) {
    double fastest = getFastest(size.candidates).estimate.microseconds;
    for (const Candidate &candidate : size.candidates) {
      SmallVector<double> &loss = losses[candidate.schedule];
      loss.resize(sizes.size(), INFINITY);
      double time = candidate.estimate.microseconds;
      loss[i] = time > fastest ? time / fastest - 1 : 0;
    }
  }
  struct Best {
    double loss = INFINITY;
    Bucket last{};
  };
  SmallVector<Best> best(sizes.size() + 1); // of so many sizes
  best[0].loss = 0;
  for (size_t begin = 0; begin < sizes.size(); ++begin)
    for (const auto &[schedule, loss] : losses) {
      double total = best[begin].loss + bucketGain;
      for (size_t end = begin;
           end < sizes.size() && loss[end] <= bucketTolerance - 1; ++end) {
        total += loss[end];
        if (total < best[end + 1].loss)
          best[end + 1] = {total, {begin, end + 1, schedule}};
      }
    }
  SmallVector<Bucket> buckets;
  for (size_t end = sizes.size(); end > 0; end = buckets.back().begin)
    buckets.push_back(best[end].last);
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

void fusec::addBuckets(
    Expr size, ArrayRef<GuardAttr> under,
    llvm::function_ref<SmallVector<Candidate>(int64_t dim)> candidatesAt,
    SmallVectorImpl<VariantAttr> &variants) {
  MLIRContext *context = size.getContext();
  if (size.isConstant()) {
    variants.push_back(makeVariant(context, under, candidatesAt(typicalDim)));
    return;
  }
  SmallVector<SampledSize> sampled;
  for (int64_t dim : llvm::reverse(scheduledDims))
    sampled.push_back({dim, candidatesAt(dim)});
  for (const Bucket &bucket : chooseBuckets(sampled)) {
    SmallVector<GuardAttr> all(under);
    if (bucket.end < sampled.size()) {
      int64_t above = getSampledValue(size, sampled[bucket.end].dim);
      all.push_back(GuardAttr::get(context, GuardKind::Gt, size.getAttr(),
                                   Expr::constant(context, above).getAttr(),
                                   nullptr));
    }
    // What is said of a bucket is said of the size nearest to the typical one.
    const SampledSize *told = &sampled[bucket.begin];
    for (const SampledSize &other :
         ArrayRef(sampled).slice(bucket.begin, bucket.end - bucket.begin))
      if (other.dim >= typicalDim)
        told = &other;
    variants.push_back(makeVariant(context, all, told->candidates, told->dim,
                                   bucket.schedule));
  }
}

/// Blocks for each place that a multiprocessor has for one: a loop that strides
/// over so many is hardly slower than a block each. The fewer, the sooner they
/// are placed.
static constexpr int64_t gridTurns[] = {16, 8};

Candidate
fusec::chooseGridLimit(const Target &target, int64_t threads, Expr blocks,
                       llvm::function_ref<Candidate(int64_t limit)> getAt) {
  SmallVector<Candidate> candidates;
  for (int64_t turns : gridTurns) {
    int64_t limit = turns * target.multiprocessors * (target.threads / threads);
    if (!blocks.isConstant() || blocks.getValue() > limit)
      candidates.push_back(getAt(limit));
  }
  candidates.push_back(getAt(0));
  return getFastest(candidates);
}

/// One number says which part of which row: where that begins is found from the
/// number times what rows, or parts that follow one another, are apart, minus
/// what that is too much.
static Expr getExtentOfParts(Operation *reduce) {
  SmallVector<Expr> sizes = getSizes(reduce->getOperand(0));
  SmallVector<int64_t> axes = getReducedAxes(reduce);
  Expr extent = Expr::constant(reduce->getContext(), *getReducedParts(reduce));
  if (getPlaceOfParts(reduce) > 0) {
    extent = extent * getPartLength(reduce);
    for (auto [axis, size] : llvm::enumerate(sizes))
      if (!llvm::is_contained(axes, int64_t(axis)))
        extent = extent * size;
    return extent;
  }
  size_t first = 0; // behind the leading axes that are reduced
  while (llvm::is_contained(axes, int64_t(first)))
    ++first;
  for (Expr size : ArrayRef(sizes).drop_front(std::min(first, sizes.size())))
    extent = extent * size;
  return extent;
}

IndexWidth fusec::getIndexWidth(StepOp step) {
  MLIRContext *context = step.getContext();
  // A loop's last step leads behind the last element by as many threads as the
  // grid has at most.
  Expr limit = Expr::constant(context, (int64_t(1) << 31) -
                                           maxGridBlocks * pointwiseThreads);
  SmallVector<Expr> extents;
  auto addExtent = [&](BufferOp buffer) {
    SmallVector<Expr> sizes = getSizes(buffer.getType());
    Expr extent = Expr::constant(context, 1);
    for (auto [size, stride] : llvm::zip_equal(sizes, buffer.getStrideExprs()))
      extent = extent + size * stride;
    extents.push_back(extent);
  };
  for (BlockArgument argument : step.getBody().getArguments())
    addExtent(step.getInputBuffer(argument));
  for (unsigned i = 0; i < step.getOutputs().size(); ++i)
    addExtent(step.getOutputBuffer(i));
  for (Operation &op : step.getBody().front().without_terminator()) {
    extents.push_back(getElementCount(
        cast<IndexedOpInterface>(op).getIterationSizes(), context));
    if (isa<ReduceOp, ArgReduceOp>(op) && getReducedParts(&op) &&
        step.getFamily() == Family::Reduce)
      extents.push_back(getExtentOfParts(&op));
  }
  IndexWidth width;
  width.alwaysNarrow = true;
  std::optional<Expr> largest;
  for (Expr extent : extents) {
    if (auto value = extent.getConstant()) {
      width.neverNarrow |= *value >= limit.getValue();
      continue;
    }
    largest = largest ? Expr::max(*largest, extent) : extent;
  }
  width.alwaysNarrow = !width.neverNarrow && !largest;
  if (largest && !width.neverNarrow)
    width.guards.push_back(GuardAttr::get(
        context, GuardKind::Lt, largest->getAttr(), limit.getAttr(), nullptr));
  return width;
}
