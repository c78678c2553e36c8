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

/// What the weights are of: each row of them is that of the pair of features
/// at `places`, i * features + j, all different; of all pairs in this order
/// where that is empty.
struct PairsOfWeights {
  int64_t features;
  llvm::ArrayRef<int64_t> places;
};

/// `value`: [pairs, columns] of f16, bf16 or f32, or its transpose where they
/// lie `alongK`. Those of f32 become f16, scaled, unless they are to stay
/// `exact`. Fails, with the reason, where the elements are not to be had, or a
/// sum is none that the type holds.
mlir::FailureOr<PairWeights> foldPairWeights(mlir::ElementsAttr value,
                                             PairsOfWeights pairs, bool alongK,
                                             bool exact, llvm::StringRef name,
                                             std::string &reason);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_TENSOR_PAIRWEIGHTS_H
