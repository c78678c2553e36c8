// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To how many bytes the addresses of a buffer are known to be aligned: ours by
// how the arena and the weights are laid out, a user's by a variant's guards.

#ifndef FUSEC_COMPILER_ANALYSIS_ALIGNMENT_H
#define FUSEC_COMPILER_ANALYSIS_ALIGNMENT_H

#include "ir/FusecOps.h"

namespace fusec {

/// Bytes of the widest access, and of the unit that the copy engine moves:
/// what guards promise of a user's address.
constexpr int64_t guardedAlignment = 16;

/// Whether the buffer's address is one that a user gives.
bool isUsers(BufferOp buffer);

/// Under the variant's guards.
unsigned getAlignment(BufferOp buffer, VariantAttr variant);
/// Under the guards of getAlignmentGuards().
unsigned getAlignmentIfGuarded(BufferOp buffer);

/// Of every sum of multiples of the offsets, counted in elements of `bytes`
/// bytes, from an address that is aligned to `known`; no more than accesses
/// ask for, no less than an element.
int64_t getOffsetAlignment(int64_t known, int64_t bytes,
                           llvm::ArrayRef<Expr> offsets);

/// Guards that the buffers are aligned, for those that a user binds.
llvm::SmallVector<GuardAttr>
getAlignmentGuards(llvm::ArrayRef<BufferOp> buffers);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_ALIGNMENT_H
