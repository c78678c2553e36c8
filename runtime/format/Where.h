// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The place of a value in a manifest, spelled out only when a check fails.

#ifndef FUSEC_RUNTIME_FORMAT_WHERE_H
#define FUSEC_RUNTIME_FORMAT_WHERE_H

#include "runtime/format/Printable.h"

#include <cstddef>
#include <string>

namespace fusec::format {

// Thrown inside this library only; its entry points turn it into their result.
struct ReadError {
  // Messages quote what a file has, which may be anything.
  explicit ReadError(std::string_view text) : message(printable(text)) {}
  std::string message;
};

// A link of a chain that lives on the stack: a Where must not outlive the one
// that it was made from.
class Where {
public:
  explicit Where(const char *key) : key(key) {}
  Where member(const char *name) const { return Where(this, name, 0); }
  Where at(size_t index) const { return Where(this, nullptr, index); }

  // "plans[0].steps[3].name"
  std::string path() const {
    std::string before = parent ? parent->path() : std::string();
    if (!key)
      return before + "[" + std::to_string(index) + "]";
    return before.empty() ? key : before + "." + key;
  }

  [[noreturn]] void fail(const std::string &what) const {
    throw ReadError{path() + ": " + what};
  }

private:
  Where(const Where *parent, const char *key, size_t index)
      : parent(parent), key(key), index(index) {}

  const Where *parent = nullptr;
  const char *key = nullptr;
  size_t index = 0;
};

} // namespace fusec::format

#endif
