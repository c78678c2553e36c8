// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How errors travel inside the library: as one exception, which the C functions
// turn into a status and a message.

#ifndef FUSEC_RUNTIME_SRC_FAILURE_H
#define FUSEC_RUNTIME_SRC_FAILURE_H

#include "runtime/format/Printable.h"
#include "runtime/include/fusec/fusec.h"

#include <string>

namespace fusec::rt {

struct Failure {
  fusec_status status;
  std::string message;
};

// Messages quote what a file or a driver has, which may be anything.
[[noreturn]] inline void fail(fusec_status status, const std::string &message) {
  throw Failure{status, format::printable(message)};
}

} // namespace fusec::rt

#endif
