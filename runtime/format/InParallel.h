// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same work by several threads.

#ifndef FUSEC_RUNTIME_FORMAT_INPARALLEL_H
#define FUSEC_RUNTIME_FORMAT_INPARALLEL_H

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace fusec::format {

// Calls `work`, which must not throw, on this thread and at once on as many
// others as make `most` or one a core with it; returns once all have returned.
template <typename Work> void inParallel(size_t most, const Work &work) {
  most = std::min<size_t>(most, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  try {
    threads.reserve(most);
    for (size_t i = 1; i < most; ++i)
      threads.emplace_back(work);
  } catch (const std::exception &) {
    // No more threads, or no memory for one: those there are, and this one, do
    // the work.
  }
  work();
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace fusec::format

#endif
