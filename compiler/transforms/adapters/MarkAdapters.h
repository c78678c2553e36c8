// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Low-rank updates `s (x A) B` of a model: found by their form, and marked so
// that sessions can replace A and B.

#ifndef FUSEC_COMPILER_TRANSFORMS_ADAPTERS_MARKADAPTERS_H
#define FUSEC_COMPILER_TRANSFORMS_ADAPTERS_MARKADAPTERS_H

#include "ir/FusecOps.h"
#include <string>
#include <vector>

namespace fusec {

/// A constant as the right operand of a product, behind at most one transpose.
struct LowRankFactor {
  ConstantOp constant;
  TransposeOp transpose; // null where there is none
  MatmulOp product;

  std::string getName() const;
  /// Of the matrix that multiplies: [k, r] or [r, n].
  int64_t getRows() const;
  int64_t getColumns() const;
};

struct LowRankUpdate {
  LowRankFactor a, b;
  /// From the first product to the second, and from there on: views of the
  /// rows, casts, and products with a constant scale.
  llvm::SmallVector<mlir::Operation *> between, behind;
  /// The scales among them, and their product.
  llvm::SmallVector<MulOp> scales;
  double scale = 1;

  int64_t getRank() const { return a.getColumns(); }
  /// The name of the only scale, where it is a constant of the model's.
  std::string getScaleName() const;
};

/// Every update that is added to a product of the same operand, or to anything
/// where its rank is at most half of its sizes; in the order of the model.
std::vector<LowRankUpdate> findLowRankUpdates(ModelOp model);

/// A name for the update that is unique among those given.
std::string suggestAdapterName(const LowRankUpdate &update,
                               llvm::ArrayRef<std::string> taken);

struct AdapterRequest {
  std::string name, a, b;
  /// A constant's name or a number; empty: what the model has.
  std::string scale;
};

struct AdapterProblem {
  std::string message, note;
};

/// What a rank is rounded up to: 32 bytes, which every load of a tile divides.
int64_t getRankMultiple(mlir::Type elementType);

/// Makes A and B of each update replaceable constants of rank `maxRank` (0:
/// each its own), padded with zeros; scales of the model move into B, rounded
/// to fp32 and then to its type. Runs on a model as imported, where constants
/// have their own names and none was merged with its equal. Marks nothing where
/// it returns problems.
std::vector<AdapterProblem>
markAdapters(ModelOp model, llvm::ArrayRef<AdapterRequest> requests,
             int64_t maxRank);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_ADAPTERS_MARKADAPTERS_H
