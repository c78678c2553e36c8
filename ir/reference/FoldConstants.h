// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the reference makes of ops on constants. A model decides what is folded,
// so that time and memory are bounded, and nothing in it can make this fail
// other than by declining.

#ifndef FUSEC_IR_REFERENCE_FOLDCONSTANTS_H
#define FUSEC_IR_REFERENCE_FOLDCONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace fusec::reference {

struct FoldLimits {
  /// Results may take this much, and beyond it `growth` times the constants
  /// that they replace: a folded broadcast would only be more to load.
  int64_t smallBytes = 64 << 10;
  int64_t growth = 2;
  /// Points of the iteration space; about a second on one core.
  int64_t maxWork = int64_t(1) << 30;
};

/// The values of the op's results where its operands are constants: that is
/// `fusec.constant`, or a splat, an iota or a broadcast of such. Ops without
/// operands and broadcasts are not folded themselves, since they are smaller
/// than their values. On failure `reason` says why.
mlir::FailureOr<llvm::SmallVector<mlir::ElementsAttr>>
foldConstants(mlir::Operation *op, std::string &reason,
              const FoldLimits &limits = {});

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCE_FOLDCONSTANTS_H
