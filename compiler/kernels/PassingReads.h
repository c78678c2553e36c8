// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes through L2 on its way to a kernel: data that nobody reads again
// is to leave it before what others have there, and before what is still to be
// written back.

#ifndef FUSEC_COMPILER_KERNELS_PASSINGREADS_H
#define FUSEC_COMPILER_KERNELS_PASSINGREADS_H

#include "compiler/analysis/ScalarProgram.h"

namespace fusec {

/// Reads, by their place among the program's, of inputs that are read once and
/// that L2 does not hold.
llvm::SmallVector<int64_t> findPassingReads(StepOp step,
                                            const ScalarProgram &program);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_PASSINGREADS_H
