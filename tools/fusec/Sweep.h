// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of one model at several sizes, one after the other.

#ifndef FUSEC_TOOLS_FUSEC_SWEEP_H
#define FUSEC_TOOLS_FUSEC_SWEEP_H

#include "tools/fusec/BenchRun.h"

namespace fusec {

struct Sweep {
  /// The dimensions whose sizes change.
  std::vector<std::string> names;
  /// One a combination of sizes, the last dimension's changing first, and of
  /// each as many as ids are drawn in ways.
  std::vector<BenchResult> results;

  void print() const;
  /// Where ids are drawn in several ways.
  bool hasIds() const;
  llvm::json::Object toJson() const;
};

/// All combinations of the lists, each with the sizes that stay the same.
std::vector<NamedSizes> combine(const std::vector<SizeList> &lists,
                                const NamedSizes &others);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_SWEEP_H
