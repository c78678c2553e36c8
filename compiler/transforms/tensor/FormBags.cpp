// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over gathered rows are embedding bags, and all that are put side
// by side are one: all tables of a recommender in one launch.

#include "compiler/Passes.h"
#include "compiler/transforms/tensor/BagPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fusec {
#define GEN_PASS_DEF_FORMBAGS
#include "compiler/Passes.h.inc"
} // namespace fusec

using namespace mlir;
using namespace fusec;

namespace {
struct FormBags : fusec::impl::FormBagsBase<FormBags> {
  using FormBagsBase::FormBagsBase;

  void runOnOperation() override {
    // First all bags, so that those of a sum or a concat become one at once.
    RewritePatternSet rows(&getContext()), lookups(&getContext()),
        concats(&getContext());
    populateBagsOfRows(rows, exact);
    populateBagsOfSmallRows(lookups);
    populateBagsOfSums(concats);
    populateBagsOfConcats(concats);
    for (RewritePatternSet *patterns : {&rows, &lookups, &concats})
      if (failed(applyPatternsGreedily(getOperation(), std::move(*patterns))))
        signalPassFailure();
  }
};
} // namespace
