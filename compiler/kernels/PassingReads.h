// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes through L2 on its way to a kernel: data that nobody reads again
// is to leave it before what others have there, and before what is still to be
// written back. Where a kernel stores much of what L2 holds, it is the other
// way round: what it reads stays, and what it stores is written back soon,
// while what lies beside it in memory is, too.

#ifndef FUSEC_COMPILER_KERNELS_PASSINGREADS_H
#define FUSEC_COMPILER_KERNELS_PASSINGREADS_H

#include "compiler/analysis/ScalarProgram.h"

namespace fusec {

/// Reads, by their place among the program's, of inputs that are read once and
/// that L2 does not hold: they pass, or stay. Of rows that indices name some
/// are read again: they may stay.
llvm::SmallVector<int64_t> findPassingReads(StepOp step,
                                            const ScalarProgram &program);

/// Whether the kernel reads an input that one before has read. L2 holds the
/// last of what that one has read.
bool readsAgain(StepOp step);
/// Whether L2 holds all that the kernel reads and stores.
bool isHeldByL2(StepOp step);
/// Whether what the kernel reads is to stay.
bool readsStay(StepOp step);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_PASSINGREADS_H
