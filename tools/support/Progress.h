// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Progress on stderr: a bar on a terminal, one line a step elsewhere, so that
// logs stay readable and stdout carries results alone.

#ifndef FUSEC_TOOLS_SUPPORT_PROGRESS_H
#define FUSEC_TOOLS_SUPPORT_PROGRESS_H

#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>

namespace fusec {

/// Functions may be called from several threads.
class Progress {
public:
  /// `out` other than stderr is for tests.
  Progress(std::string title, size_t total, bool quiet = false,
           std::FILE *out = stderr);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  /// Removes the bar.
  ~Progress();

  /// One more step is done; `what` names it.
  void step(const std::string &what);
  /// Writes a line of its own, above the bar.
  void message(const std::string &line);

private:
  void draw();
  void erase();

  std::mutex mutex;
  std::string title, last;
  size_t total, done = 0;
  bool quiet, terminal;
  std::FILE *out;
};

} // namespace fusec

#endif // FUSEC_TOOLS_SUPPORT_PROGRESS_H
