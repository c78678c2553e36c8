// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/Problems.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace fusec::onnx {

constexpr size_t maxProblems = 1000;
constexpr size_t maxNameLength = 200;

static std::string printable(llvm::StringRef name) {
  std::string text;
  for (char c : name.take_front(maxNameLength))
    text += llvm::isPrint(c) ? c : '?';
  if (name.size() > maxNameLength)
    text += "...";
  return text;
}

std::string quoted(llvm::StringRef name) { return "'" + printable(name) + "'"; }

LogicalResult Problems::add(ProblemKind kind, const llvm::Twine &message,
                            const llvm::Twine &note, llvm::StringRef node,
                            llvm::StringRef opType) {
  if (list.size() - start >= maxProblems) {
    ++dropped;
    return failure();
  }
  list.push_back(
      {kind, printable(node), printable(opType), message.str(), note.str()});
  return failure();
}

std::string Problem::str() const {
  std::string text;
  if (!opType.empty() || !node.empty()) {
    text = "node '" + node + "'";
    if (!opType.empty())
      text += " (" + opType + ")";
    text += ": ";
  }
  return text + message;
}

} // namespace fusec::onnx
