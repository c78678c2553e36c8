// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tensors of more than 2^31 elements hold: small integers that repeat
// after a prime number of elements, and whose sum over such a period is 0.

#ifndef FUSEC_TEST_GPU_LARGEPATTERN_H
#define FUSEC_TEST_GPU_LARGEPATTERN_H

#include <cstdint>
#include <functional>
#include <vector>

namespace fusec {

/// More than 2^31, of halves.
constexpr int64_t mostElements = (int64_t(1) << 31) + (1 << 24);

/// What all inputs hold, one element after another.
class Pattern {
public:
  static constexpr int64_t period = 65521; // prime
  static constexpr int most = 7;           // from -7 to 7

  Pattern();
  int getValue(int64_t i) const { return values[i % period]; }
  uint16_t getBits(int64_t i) const { return bits[i % period]; }
  /// Of `count` elements from `first` on.
  int64_t getSum(int64_t first, int64_t count) const {
    return sums[(first + count) % period] - sums[first % period];
  }
  /// Of `count` elements that are `apart` from one another.
  int64_t getSum(int64_t first, int64_t count, int64_t apart) const;

private:
  std::vector<int> values;
  std::vector<uint16_t> bits;
  std::vector<int64_t> sums; // of those before each
};
const Pattern &getPattern();

/// Calls body(begin, end) for parts of [0, count), on all processors.
void forEachPart(int64_t count,
                 const std::function<void(int64_t, int64_t)> &body);

} // namespace fusec

#endif // FUSEC_TEST_GPU_LARGEPATTERN_H
