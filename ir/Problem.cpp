// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Problem.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace fusec;
using llvm::StringRef;

/// Bytes of the character that the text begins with: one that is printed as it
/// is, or 0.
static size_t getCharacter(StringRef text) {
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

std::string fusec::printable(StringRef text) {
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
