// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM removes temporary files by handlers of SIGHUP, SIGINT and others, which
// it installs for all of them. Under nohup, or as a shell's background job, a
// program has some of them ignored, and a handler would end it nonetheless.

#ifndef FUSEC_COMPILER_IGNOREDSIGNALS_H
#define FUSEC_COMPILER_IGNOREDSIGNALS_H

#include <csignal>
#include <vector>

namespace fusec {

/// Around what installs handlers: signals that were ignored are again
/// afterwards. None of this thread's arrives in between.
class IgnoredSignals {
public:
  IgnoredSignals();
  IgnoredSignals(const IgnoredSignals &) = delete;
  IgnoredSignals &operator=(const IgnoredSignals &) = delete;
  ~IgnoredSignals();

private:
  std::vector<int> ignored;
  sigset_t before;
};

} // namespace fusec

#endif // FUSEC_COMPILER_IGNOREDSIGNALS_H
