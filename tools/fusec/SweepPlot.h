// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sweep as a plot that browsers show.

#ifndef FUSEC_TOOLS_FUSEC_SWEEPPLOT_H
#define FUSEC_TOOLS_FUSEC_SWEEPPLOT_H

#include "tools/fusec/Sweep.h"

namespace fusec {

/// As SVG: the time of a run and of one of its rows by the sizes of the first
/// swept dimension, which are above 0, on logarithmic scales. One curve a
/// combination of the other dimensions' sizes, from p10 to p90.
void writePlot(llvm::raw_ostream &os, const Sweep &sweep,
               llvm::StringRef title);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_SWEEPPLOT_H
