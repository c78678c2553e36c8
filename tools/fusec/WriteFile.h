// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that commands write: whole, or not at all.

#ifndef FUSEC_TOOLS_FUSEC_WRITEFILE_H
#define FUSEC_TOOLS_FUSEC_WRITEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace fusec {

/// Makes a folder and those it lies in. Throws Failure.
void makeFolder(const std::string &path);

/// Writes a file anew; where that fails the one that was there stays. Throws
/// Failure.
void writeFile(const std::string &path,
               llvm::function_ref<void(llvm::raw_ostream &)> print);
void writeFile(const std::string &path, llvm::StringRef bytes);
/// One of a folder of files to look at. A disk takes 10 ms to sync each.
void dumpFile(const std::string &path, llvm::StringRef bytes);
/// Throws what `writeFile` would where the path is none to write to: before
/// long work.
void checkWritable(const std::string &path);

/// Flushes the standard output; false, and why on stderr, where it took not
/// all of it.
bool flushOutput();

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_WRITEFILE_H
