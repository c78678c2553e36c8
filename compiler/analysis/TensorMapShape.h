// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the copy engine of sm_90 is told of a tensor.

#ifndef FUSEC_COMPILER_ANALYSIS_TENSORMAPSHAPE_H
#define FUSEC_COMPILER_ANALYSIS_TENSORMAPSHAPE_H

#include "ir/Expr.h"

namespace fusec {

/// What a tensor map shows of a buffer. Sizes and box run from the innermost
/// dimension outwards; strides are bytes and leave the innermost out.
struct TensorMapShape {
  mlir::Type element;
  bool rounds = false; // f32 is copied as tf32
  Expr offset = {};    // bytes from the buffer's start
  llvm::SmallVector<Expr, 3> sizes, strides;
  llvm::SmallVector<unsigned, 3> box;
  unsigned swizzle = 0;     // bytes
  unsigned promotion = 256; // bytes that a miss of the L2 cache fetches
};

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_TENSORMAPSHAPE_H
