// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a size expression can be, whatever its dimensions are.

#ifndef FUSEC_RUNTIME_FORMAT_BOUNDS_H
#define FUSEC_RUNTIME_FORMAT_BOUNDS_H

#include "runtime/format/Expr.h"

namespace fusec::format {

struct Bounds {
  int64_t least, most;

  // Of what should be a size: negative for some dimensions, positive for none.
  bool isNegative() const { return least < 0 && most <= 0; }
};

// Every value that the expression has lies between them, with dimensions of at
// least 0. Nothing where it has none: it overflows or divides by zero.
std::optional<Bounds> findBounds(const Expr &expr);

} // namespace fusec::format

#endif
