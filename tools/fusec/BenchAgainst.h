// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two measurements of one model beside each other: whether the second is
// slower than noise allows.

#ifndef FUSEC_TOOLS_FUSEC_BENCHAGAINST_H
#define FUSEC_TOOLS_FUSEC_BENCHAGAINST_H

#include "tools/fusec/BenchReport.h"

namespace fusec {

/// Fewer runs than this have no interval.
constexpr unsigned leastRounds = 10;

/// Throws Failure where the two are not of one model, sizes and device, as
/// measured.
void checkComparable(const BenchResult &before, const BenchResult &now,
                     const std::string &file);

/// Of times on the device.
struct Comparison {
  /// In milliseconds, medians of rounds.
  double before = 0, now = 0;
  /// How many times as long, and where 95% of the bootstrap's resamples of
  /// rounds are.
  double ratio = 1, low = 1, high = 1;
  unsigned rounds = 0;
  /// Whether rounds of both took turns.
  bool isInTurn = false;

  /// Half of the interval.
  double getNoise() const { return (high - low) / 2; }
  /// By more than `tolerance`, and by more than chance.
  bool isSlower(double tolerance) const {
    return ratio > 1 + tolerance && low > 1;
  }

  void print(const std::string &file) const;
  llvm::json::Object toJson(const std::string &file, double tolerance,
                            const BenchResult &before) const;
};

/// Rounds are of `roundRuns` runs; where they did not take turns, fewer where
/// there are few runs.
Comparison compareTimes(const std::vector<double> &before,
                        const std::vector<double> &now, bool inTurn,
                        unsigned roundRuns);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_BENCHAGAINST_H
