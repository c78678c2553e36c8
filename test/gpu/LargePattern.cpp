// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/gpu/LargePattern.h"
#include "runtime/src/SmallFloat.h"

#include <algorithm>
#include <random>
#include <thread>

using namespace fusec;

Pattern::Pattern() : values(period), bits(period), sums(period) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> any(-most, most);
  // What follows the middle takes back what comes before it.
  for (int64_t i = 0; i != period / 2; ++i)
    values[period - 1 - i] = -(values[i] = any(random));
  int64_t sum = 0;
  for (int64_t i = 0; i != period; ++i) {
    bits[i] = rt::toHalf(values[i]);
    sums[i] = sum;
    sum += values[i];
  }
}

int64_t Pattern::getSum(int64_t first, int64_t count, int64_t apart) const {
  // As many as the period are all of them, unless all are the same one.
  if (apart % period)
    count %= period;
  int64_t sum = 0, at = first % period;
  for (int64_t i = 0; i != count; ++i) {
    sum += values[at];
    at = (at + apart) % period;
  }
  return sum;
}

const Pattern &fusec::getPattern() {
  static const Pattern pattern;
  return pattern;
}

void fusec::forEachPart(int64_t count,
                        const std::function<void(int64_t, int64_t)> &body) {
  int64_t parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (int64_t part = 0; part != parts; ++part)
    threads.emplace_back(
        [&, part] { body(count * part / parts, count * (part + 1) / parts); });
  for (std::thread &thread : threads)
    thread.join();
}
