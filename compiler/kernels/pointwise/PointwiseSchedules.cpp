// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/kernels/pointwise/Pointwise.h"

using namespace mlir;
using namespace fusec;

SmallVector<VariantAttr>
fusec::choosePointwiseVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  StepBytes bytes = getStepBytesAt(step, typicalDim);
  Expr count = Expr::constant(context, 0);
  double elements = 0;
  // The widest schedule first, narrower ones should its kernel spill.
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t vector, int64_t bits) {
    SmallVector<Candidate> candidates;
    for (; vector >= 1; vector /= 2) {
      Expr perBlock = Expr::constant(context, pointwiseThreads * vector);
      candidates.push_back(chooseGridLimit(
          target, pointwiseThreads, count.ceilDiv(perBlock),
          [&](int64_t limit) -> Candidate {
            auto schedule = PointwiseScheduleAttr::get(
                context, pointwiseThreads, vector, bits, limit);
            return {schedule,
                    estimatePointwise(target, bytes.read + bytes.written,
                                      elements, schedule)};
          }));
    }
    return makeVariant(context, guards, candidates);
  };
  auto iteration = analyzePointwise(step);
  if (failed(iteration))
    return {variant({}, 1, 64)};
  count = getElementCount(iteration->program.getSizes(), context);
  elements = getSampledValue(count, typicalDim);
  ArrayRef<Expr> sizes = iteration->program.getSizes();
  VectorAccesses accesses;
  if (!sizes.empty())
    // A tail of the linear index is none of the innermost dim.
    accesses = analyzeVectorAccesses(step, iteration->program,
                                     iteration->stores, sizes.size() - 1,
                                     /*hasTail=*/sizes.size() == 1);
  IndexWidth width = getIndexWidth(step);
  int64_t fastBits = width.neverNarrow ? 64 : 32,
          safeBits = width.alwaysNarrow ? 32 : 64;
  SmallVector<GuardAttr> guards = getAlignmentGuards(accesses.aligned);
  llvm::append_range(guards, width.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, accesses.width, fastBits)};
  if (!guards.empty())
    variants.push_back(variant({}, 1, safeBits));
  return variants;
}
