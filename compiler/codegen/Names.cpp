// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/codegen/Names.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace fusec;
using llvm::StringRef;

std::string fusec::sanitizeName(StringRef name) {
  std::string result;
  for (char c : name.take_front(mostNameCharacters))
    result += llvm::isAlnum(c) || c == '_' || c == '.' ? c : '_';
  return result;
}

std::string fusec::sanitizeIdentifier(StringRef name) {
  std::string result = sanitizeName(name);
  std::replace(result.begin(), result.end(), '.', '_');
  if (result.empty() || llvm::isDigit(result[0]))
    result.insert(result.begin(), '_');
  result.resize(std::min(result.size(), mostNameCharacters));
  return result;
}

std::string UniqueNames::add(StringRef base) {
  std::string name = sanitizeIdentifier(base);
  if (names.insert(name).second)
    return name;
  StringRef clean = name;
  std::string numbered;
  unsigned &number = next.try_emplace(clean, 2).first->second;
  do {
    std::string suffix = "_" + std::to_string(number++);
    numbered =
        clean.take_front(mostNameCharacters - suffix.size()).str() + suffix;
  } while (!names.insert(numbered).second);
  return numbered;
}
