// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a named dimension is taken to be where a decision needs a number.

#ifndef FUSEC_COMPILER_ANALYSIS_TYPICALSIZES_H
#define FUSEC_COMPILER_ANALYSIS_TYPICALSIZES_H

#include "ir/Expr.h"

namespace fusec {

constexpr int64_t typicalDim = 1024;

/// The expression's value where every named dimension is `typicalDim`; the
/// largest number where it overflows.
int64_t getTypicalValue(Expr expr);

/// Where a batch is only named, decisions look at these sizes of it.
constexpr int64_t sampledDims[] = {1, 8, 32, 128, 512, 2048, 8192, 65536};

/// Schedules look at more of them: between these, how many tiles the last wave
/// has makes the most difference.
constexpr int64_t scheduledDims[] = {
    1,   8,   16,  32,  64,   96,   128,  160,  192,  256,  320,  384,  448,
    512, 640, 768, 896, 1024, 1280, 1536, 2048, 3072, 4096, 8192, 65536};

/// The expression's value at a sampled size `dim`: of named dimensions that are
/// multiplied the one of the highest power is `dim`, the others are 1. The rows
/// of [batch, sequence, 512] are `dim`, as those of [batch, 512], and not its
/// square, which no model has at small and at large sizes.
int64_t getSampledValue(Expr expr, int64_t dim);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_TYPICALSIZES_H
