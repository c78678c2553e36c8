// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `fusec bench --json` wrote, read again.

#ifndef FUSEC_TOOLS_FUSEC_BENCHFILE_H
#define FUSEC_TOOLS_FUSEC_BENCHFILE_H

#include "tools/fusec/BenchReport.h"
#include "tools/fusec/MeasuredSteps.h"

namespace fusec {

struct BenchFile {
  /// What was measured, and on what.
  BenchResult result;
  /// None without --profile.
  std::optional<std::vector<MeasuredStep>> steps;
};

/// Throws Failure.
BenchFile readBenchFile(const std::string &file);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_BENCHFILE_H
