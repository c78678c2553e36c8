// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch does, in the words of the manifest: bytes, operations, and the
// time that the cost model gave it.

#ifndef FUSEC_COMPILER_BUNDLE_LAUNCHWORK_H
#define FUSEC_COMPILER_BUNDLE_LAUNCHWORK_H

#include "compiler/bundle/ConvertExpr.h"

namespace fusec {

/// `leading`: the step whose result the launch computes first, or null; its
/// work counts too. Nothing where the work of so many tensors is too long an
/// expression for a manifest.
std::optional<format::Work> getLaunchWork(StepOp step, VariantAttr variant,
                                          StepOp leading, ExprConverter &exprs);

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_LAUNCHWORK_H
