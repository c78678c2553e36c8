// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/Problems.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace mlir;

namespace fusec::onnx {

constexpr size_t maxProblems = 1000;
constexpr size_t maxNameLength = 200;
constexpr size_t maxMessageLength = 4000;

/// Bytes of the character that the text begins with: one that is printed as it
/// is, or 0.
static size_t getCharacter(llvm::StringRef text) {
  auto byte = static_cast<unsigned char>(text.front());
  if (byte < 0x80)
    return llvm::isPrint(text.front()) ? 1 : 0;
  const auto *start = text.bytes_begin();
  unsigned length = llvm::getNumBytesForUTF8(byte);
  if (length > text.size() || !llvm::isLegalUTF8Sequence(start, start + length))
    return 0;
  // U+0080 to U+009F are control characters, too.
  bool isControl = byte == 0xc2 && start[1] < 0xa0;
  return isControl ? 0 : length;
}

std::string printable(llvm::StringRef text) {
  std::string result;
  while (!text.empty()) {
    size_t length = getCharacter(text);
    if (length != 0) {
      result += text.take_front(length);
    } else {
      length = 1;
      result += "\\x" + llvm::toHex(text.take_front(1), /*LowerCase=*/true);
    }
    text = text.drop_front(length);
  }
  return result;
}

/// As many bytes at most, and "..." where there are more.
static std::string printable(llvm::StringRef text, size_t length) {
  if (text.size() <= length)
    return printable(text);
  // Not in the middle of a character.
  while (length != 0 &&
         (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
    --length;
  return printable(text.take_front(length)) + "...";
}

std::string quoted(llvm::StringRef name) {
  return "'" + printable(name, maxNameLength) + "'";
}

LogicalResult Problems::add(ProblemKind kind, const llvm::Twine &message,
                            const llvm::Twine &note, llvm::StringRef node,
                            llvm::StringRef opType) {
  if (list.size() - start >= maxProblems) {
    ++dropped;
    return failure();
  }
  list.push_back({kind, printable(node, maxNameLength),
                  printable(opType, maxNameLength),
                  printable(message.str(), maxMessageLength),
                  printable(note.str(), maxMessageLength)});
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
