// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonical forms of views, so that few remain and equal ones look equal.

#include "compiler/Passes.h"
#include "compiler/transforms/tensor/ViewPatterns.h"
#include "ir/FusecOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fusec {
#define GEN_PASS_DEF_SIMPLIFYVIEWS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;

namespace {
struct SimplifyViews : fusec::impl::SimplifyViewsBase<SimplifyViews> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    fusec::populateReshapePatterns(patterns);
    fusec::populateSlicePatterns(patterns);
    fusec::populateGatherPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
