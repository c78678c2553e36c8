// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps by which a low-rank update is followed through a model. Private to
// finding and marking.

#ifndef FUSEC_COMPILER_TRANSFORMS_ADAPTERS_FOLLOWUPDATES_H
#define FUSEC_COMPILER_TRANSFORMS_ADAPTERS_FOLLOWUPDATES_H

#include "compiler/transforms/adapters/MarkAdapters.h"

namespace fusec {

/// The product's constant right operand; nothing where it has none.
std::optional<LowRankFactor> getFactor(MatmulOp product);

/// The operand of an op that may stand in an update between or behind its
/// products, with its scale noted in `update`; null for any other op.
mlir::Value followBack(mlir::Operation *op, LowRankUpdate &update);

/// Fills in what stands behind the second product.
void followForward(LowRankUpdate &update);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_ADAPTERS_FOLLOWUPDATES_H
