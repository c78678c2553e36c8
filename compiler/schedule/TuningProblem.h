// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a measured schedule holds for: steps with equal problems run equally
// fast under equal schedules, whatever model they are part of.

#ifndef FUSEC_COMPILER_SCHEDULE_TUNINGPROBLEM_H
#define FUSEC_COMPILER_SCHEDULE_TUNINGPROBLEM_H

#include "compiler/Options.h"
#include "ir/FusecOps.h"
#include <map>
#include <optional>
#include <string>

namespace fusec {

/// Changes with what getTuningProblem() writes: entries of tuning files under
/// other versions match nothing.
constexpr unsigned tuningKeyVersion = 1;

/// What does not depend on sizes.
struct TuningKey {
  std::string family;
  /// How fp32 products multiply; "ieee" where there are none.
  std::string precision;
  /// Inputs, then results: the element type and a letter a dimension, by its
  /// stride: 1, 0, `a` for a multiple of 16 bytes, `u` for others.
  /// "f16:a1 f16:a1 f16:1 -> f16:a1".
  std::string operands;
  /// The first 16 digits of SHA-256 of the region's ops, their attributes,
  /// their operands and the ranks of their results.
  std::string region;

  bool operator==(const TuningKey &other) const {
    return family == other.family && precision == other.precision &&
           operands == other.operands && region == other.region;
  }
};

struct TuningProblem {
  TuningKey key;
  /// Of gemm "m", "n", "batch" (all of them multiplied), "k", "k2", ... a
  /// segment; of reduce "rows", "length"; of pointwise "size0", ...
  std::map<std::string, Expr> sizes;
};

/// Nothing for a step that has only one schedule.
std::optional<TuningProblem> getTuningProblem(StepOp step, Products products);

/// Numbers for the named dimensions with which the problem has the given sizes;
/// nothing where there are none. Sizes are solved in turn: each must be a
/// number, or a multiple of one dimension, plus dimensions already known; of
/// several that are multiplied, all but one are taken to be 1.
std::optional<std::map<std::string, int64_t>>
solveSizes(const TuningProblem &problem,
           const std::map<std::string, int64_t> &sizes);

} // namespace fusec

#endif // FUSEC_COMPILER_SCHEDULE_TUNINGPROBLEM_H
