// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Names.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace fusec;
using llvm::StringRef;

std::string fusec::getNodeName(mlir::Location loc) {
  if (auto name = llvm::dyn_cast<mlir::NameLoc>(loc))
    return name.getName().str();
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc))
    for (mlir::Location part : fused.getLocations())
      if (std::string name = getNodeName(part); !name.empty())
        return name;
  return "";
}

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
