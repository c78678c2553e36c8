// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files beside a command's result.

#ifndef FUSEC_TOOLS_FUSEC_WRITEFILE_H
#define FUSEC_TOOLS_FUSEC_WRITEFILE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace fusec {

/// Makes a folder and those it lies in. Throws Failure.
void makeFolder(const std::string &path);

/// Writes a file anew. Throws Failure.
void writeFile(const std::string &path, llvm::StringRef bytes);

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_WRITEFILE_H
