// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs for models whose real ones are not at hand.

#ifndef FUSEC_TOOLS_FUSEC_RANDOMINPUTS_H
#define FUSEC_TOOLS_FUSEC_RANDOMINPUTS_H

#include "tools/fusec/Arguments.h"

#include <cmath>

namespace fusec {

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// In (0, 1].
  double uniform() { return ((next() >> 11) + 1) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * M_PI * uniform());
  }

private:
  uint64_t state;
};

/// Floats are standard normal, integers uniform in [0, indexLimit) (at most
/// their type's largest value), bools fair coins. The same arguments give the
/// same tensor on every machine. Throws Failure where there is no memory.
data::Tensor makeRandomTensor(format::DType dtype, std::vector<int64_t> sizes,
                              uint64_t seed, int64_t indexLimit);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_RANDOMINPUTS_H
