// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stopwatch on the host.

#ifndef FUSEC_RUNTIME_SRC_LAP_H
#define FUSEC_RUNTIME_SRC_LAP_H

#include <chrono>

namespace fusec::rt {

class Lap {
public:
  // Milliseconds since it was made, or since the last call.
  double next() {
    Clock::time_point now = Clock::now();
    std::chrono::duration<double, std::milli> passed = now - start;
    start = now;
    return passed.count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

} // namespace fusec::rt

#endif
