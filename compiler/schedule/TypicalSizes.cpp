// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/schedule/TypicalSizes.h"

int64_t fusec::getTypicalValue(Expr expr, int64_t dim) {
  return expr.evaluate([&](Expr) { return std::optional<int64_t>(dim); })
      .value_or(INT64_MAX);
}
