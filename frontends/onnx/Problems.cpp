// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/Problems.h"
#include <fmt/core.h>

using namespace mlir;

namespace fusec::onnx {

constexpr size_t maxProblems = 1000;
constexpr size_t maxNameLength = 200;
constexpr size_t maxMessageLength = 4000;

/// As many bytes at most, and "..." where there are more.
static std::string shorten(llvm::StringRef text, size_t length) {
  if (text.size() <= length)
    return printable(text);
  // Not in the middle of a character.
  while (length != 0 &&
         (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
    --length;
  return printable(text.take_front(length)) + "...";
}

std::string quoted(llvm::StringRef name) {
  return fmt::format("'{}'", shorten(name, maxNameLength));
}

LogicalResult Problems::add(ProblemKind kind, const llvm::Twine &message,
                            const llvm::Twine &note, llvm::StringRef node,
                            llvm::StringRef opType) {
  if (list.size() - start >= maxProblems) {
    ++dropped;
    return failure();
  }
  list.push_back({kind, shorten(node, maxNameLength),
                  shorten(opType, maxNameLength),
                  shorten(message.str(), maxMessageLength),
                  shorten(note.str(), maxMessageLength)});
  return failure();
}

} // namespace fusec::onnx
