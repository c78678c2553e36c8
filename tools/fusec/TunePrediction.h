// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the cost model says of a contest's schedules, under coefficients that
// need not be the target's: what these are fitted by.

#ifndef FUSEC_TOOLS_FUSEC_TUNEPREDICTION_H
#define FUSEC_TOOLS_FUSEC_TUNEPREDICTION_H

#include "compiler/schedule/Targets.h"
#include "tools/fusec/TuneContest.h"
#include "llvm/Support/JSON.h"

namespace fusec {

/// The target with the coefficients that the file, {"name": value}, gives other
/// values; an empty `path` gives none.
Target readCosts(const Target &target, const std::string &path);

/// The contest's candidates with their predicted times and, a coefficient, by
/// how much the logarithm of the time follows its own: 1 where twice the
/// coefficient is twice the time. Coefficients that do not matter are left out.
llvm::json::Array predictContest(const Contest &contest, const Target &target,
                                 Products products);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_TUNEPREDICTION_H
