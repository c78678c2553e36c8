// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of compilation as the user sees them.

#ifndef FUSEC_TOOLS_FUSEC_COMPILEFAILURE_H
#define FUSEC_TOOLS_FUSEC_COMPILEFAILURE_H

#include "compiler/CompileError.h"
#include "tools/fusec/Failure.h"

namespace fusec {

/// Ends the command with the message `file: node 'name' (Op): ...` for each
/// problem of the error.
[[noreturn]] void failFor(const std::string &file, llvm::Error error);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_COMPILEFAILURE_H
