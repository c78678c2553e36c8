// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights of which kernels read rows that indices name, and nothing else: few
// of many, so that some may lie where they are read less fast.

#ifndef FUSEC_COMPILER_ANALYSIS_TABLES_H
#define FUSEC_COMPILER_ANALYSIS_TABLES_H

#include "ir/FusecOps.h"
#include "llvm/ADT/DenseSet.h"

namespace fusec {

/// The buffers of a plan's weights that all of its steps read so.
llvm::DenseSet<mlir::Operation *> findTables(PlanOp plan);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_TABLES_H
