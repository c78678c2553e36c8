// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights of all plans in one section: equal contents are stored once, at
// the address alignment that kernels may count on.

#ifndef FUSEC_COMPILER_BUNDLE_WEIGHTPOOL_H
#define FUSEC_COMPILER_BUNDLE_WEIGHTPOOL_H

#include "ir/Constants.h"
#include "ir/FusecOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/format/Bundle.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <string>
#include <vector>

namespace fusec {

class WeightPool {
public:
  static constexpr uint64_t alignment = 256;

  struct Place {
    uint64_t offset, size;
  };
  /// Adds the weights of all plans that a step reads; others were folded into
  /// kernels. Fails with a diagnostic where one has no bytes.
  mlir::LogicalResult addAll(mlir::ModuleOp module);
  /// Of a weight that was added.
  Place getPlace(BufferOp buffer) const;

  /// In ascending order; they live as long as the pool.
  std::vector<format::Piece> getPieces() const;
  uint64_t getSize() const { return size; }
  bool isEmpty() const { return entries.empty(); }

private:
  /// The value and, of weights that sessions replace, what they are called:
  /// those share their bytes with the same one's only, in other plans.
  using Key = std::pair<mlir::Attribute, mlir::Attribute>;
  static Key getKey(BufferOp buffer);
  mlir::FailureOr<Place> add(mlir::ElementsAttr value, bool shares,
                             std::string &error);

  struct Entry {
    ConstantData data;
    uint64_t offset;
  };
  std::vector<Entry> entries;
  llvm::DenseMap<Key, Place> places;
  /// By size and the hash of the first bytes, which tells most apart.
  std::multimap<std::pair<uint64_t, uint64_t>, size_t> byContent;
  uint64_t size = 0;
};

/// The weights of a plan that its steps read.
llvm::SmallVector<BufferOp> getStoredWeights(PlanOp plan);

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_WEIGHTPOOL_H
