// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a command ends early: one exception, which main() turns into a message,
// or an object of --json, and an exit status.

#ifndef FUSEC_TOOLS_FUSEC_FAILURE_H
#define FUSEC_TOOLS_FUSEC_FAILURE_H

#include "tools/support/ExitCode.h"

#include <string>
#include <utility>
#include <vector>

namespace fusec {

/// One of the things that stand against a model; texts may be empty.
struct FailureProblem {
  std::string kind, node, opType, message, note;
};

struct Failure {
  ExitCode code = ExitCode::Done;
  /// All of it, as lines.
  std::string message = {};
  /// Where the compiler named them one by one.
  std::vector<FailureProblem> problems = {};
  /// A word for programs; empty: that of the exit status.
  std::string kind = {};
};

[[noreturn]] inline void fail(ExitCode code, std::string message,
                              std::string kind = {}) {
  throw Failure{code, std::move(message), {}, std::move(kind)};
}
/// Of a file that cannot be read or written, and of one that is damaged.
[[noreturn]] inline void failUnreadable(std::string message) {
  fail(ExitCode::Input, std::move(message), "unreadable");
}
[[noreturn]] inline void failMalformed(std::string message) {
  fail(ExitCode::Input, std::move(message), "malformed");
}

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_FAILURE_H
