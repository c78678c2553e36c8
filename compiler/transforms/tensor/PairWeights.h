// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights of all pairs of features, folded to those of half of them and packed
// as the kernels of products of pairs read them.

#ifndef FUSEC_COMPILER_TRANSFORMS_TENSOR_PAIRWEIGHTS_H
#define FUSEC_COMPILER_TRANSFORMS_TENSOR_PAIRWEIGHTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"
#include <string>

namespace fusec {

struct PairWeights {
  mlir::ElementsAttr packed;
  /// A power of two a column, that what the packed weights sum is multiplied
  /// by; empty where they are not scaled.
  llvm::SmallVector<float> scales;
};

/// `value`: [features^2, columns] of f16, bf16 or f32, or its transpose where
/// they lie `alongK`. Those of f32 become f16, scaled. Fails, with the reason,
/// where the elements are not to be had, or a sum is none that 16 bits hold.
mlir::FailureOr<PairWeights> foldPairWeights(mlir::ElementsAttr value,
                                             int64_t features, bool alongK,
                                             llvm::StringRef name,
                                             std::string &reason);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_PAIRWEIGHTS_H
