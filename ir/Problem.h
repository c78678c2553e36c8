// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is wrong with a model, wherever it is found: while it is read, or by a
// pass.

#ifndef FUSEC_IR_PROBLEM_H
#define FUSEC_IR_PROBLEM_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace fusec {

enum class ProblemKind {
  Unsupported, // legal ONNX that fusec does not compile
  Malformed,   // not what its format says
  IO,          // a file could not be read
  Option,      // what an option names is not in the model
  Internal     // a defect of fusec
};

struct Problem {
  ProblemKind kind = ProblemKind::Malformed;
  std::string node;   // name of the ONNX node, or empty
  std::string opType; // with its domain unless that is the default one
  std::string message;
  std::string note; // how to go on, or empty

  /// "node 'name' (Op): message"
  std::string str() const;
};
using ProblemList = std::vector<Problem>;

/// Text in which no byte moves a terminal's cursor or begins a line of its own:
/// control characters, and what is no UTF-8, as "\\x1b".
std::string printable(llvm::StringRef text);
} // namespace fusec

#endif // FUSEC_IR_PROBLEM_H
