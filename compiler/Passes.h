// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every pass of the compiler; Passes.td describes them with their IR before
// and after.

#ifndef FUSEC_COMPILER_PASSES_H
#define FUSEC_COMPILER_PASSES_H

#include "compiler/Options.h"
#include "mlir/Pass/Pass.h"

namespace fusec {

#define GEN_PASS_DECL
#include "compiler/Passes.h.inc"

/// With measured schedules, where `tuning` is not null.
std::unique_ptr<mlir::Pass>
createChooseSchedules(const ChooseSchedulesOptions &options,
                      std::shared_ptr<const TuningFile> tuning);

/// Within what is left of a compilation's budget; null: within a new one.
std::unique_ptr<mlir::Pass>
createFoldConstants(std::shared_ptr<reference::FoldBudget> budget);

#define GEN_PASS_REGISTRATION
#include "compiler/Passes.h.inc"

} // namespace fusec

#endif // FUSEC_COMPILER_PASSES_H
