// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a command ends early: one exception, which main() turns into a message
// and an exit status.

#ifndef FUSEC_TOOLS_FUSEC_FAILURE_H
#define FUSEC_TOOLS_FUSEC_FAILURE_H

#include "tools/support/ExitCode.h"

#include <string>
#include <utility>

namespace fusec {

struct Failure {
  ExitCode code;
  /// Empty where everything has been said.
  std::string message;
};

[[noreturn]] inline void fail(ExitCode code, std::string message) {
  throw Failure{code, std::move(message)};
}

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_FAILURE_H
