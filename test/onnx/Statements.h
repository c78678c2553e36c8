// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of many kernels say something that no other of them says.

#ifndef FUSEC_TEST_ONNX_STATEMENTS_H
#define FUSEC_TEST_ONNX_STATEMENTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace fusec {

/// The statements of a kernel's text, without comments, in a form that is equal
/// for those that differ in the names of values and in sizes alone: numbers
/// above 16 that are neither template arguments, nor lengths of arrays, nor
/// the kernel's launch bounds, which are what registers are counted by.
std::vector<std::string> getStatements(llvm::StringRef text);

/// What the texts seen so far consist of.
class StatementSet {
public:
  /// Adds those of `text`; whether one of them is new. `kind` keeps texts
  /// apart that are compiled differently.
  bool add(llvm::StringRef text, llvm::StringRef kind);

private:
  llvm::StringSet<> known;
};

} // namespace fusec

#endif // FUSEC_TEST_ONNX_STATEMENTS_H
