// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names in generated text. What a model calls its tensors and dimensions is
// data: reduced to a few characters, and prefixed. No word of the language, no
// macro and no name that the emitters or the device headers use begins with one
// of the prefixes, so that nobody needs a list of them.

#ifndef FUSEC_COMPILER_NAMES_H
#define FUSEC_COMPILER_NAMES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace fusec {

/// The name of the model's node that an op comes from, or nothing.
std::string getNodeName(mlir::Location loc);

constexpr size_t mostNameCharacters = 64;

/// A name that is safe in comments and paths: [A-Za-z0-9_.], at most 64
/// characters; and one that is a C identifier.
std::string sanitizeName(llvm::StringRef name);
std::string sanitizeIdentifier(llvm::StringRef name);

/// What the text calls a tensor in memory, and a named dimension.
inline constexpr llvm::StringLiteral tensorPrefix = "t_", sizePrefix = "n_";
inline std::string getTensorName(llvm::StringRef name) {
  return sanitizeIdentifier((tensorPrefix + name).str());
}
inline std::string getSizeName(llvm::StringRef name) {
  return sanitizeIdentifier((sizePrefix + name).str());
}

/// Identifiers of one scope, each once.
class UniqueNames {
public:
  /// The name, or the name with the lowest number that makes it another one.
  std::string add(llvm::StringRef base);
  const llvm::StringSet<> &getAll() const { return names; }

private:
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> next; // number of a name that was taken
};

} // namespace fusec

#endif // FUSEC_COMPILER_NAMES_H
