// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weights of all plans in one section: equal contents are stored once, at
// the address alignment that kernels may count on.

#ifndef FUSEC_COMPILER_BUNDLE_WEIGHTPOOL_H
#define FUSEC_COMPILER_BUNDLE_WEIGHTPOOL_H

#include "ir/Constants.h"
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
  /// Fails with `error` set where the constant has no bytes. One with an owner
  /// shares its bytes with the same owner's only, in other plans.
  mlir::FailureOr<Place> add(mlir::ElementsAttr value, std::string &error,
                             mlir::Attribute owner = {});

  /// In ascending order; they live as long as the pool.
  std::vector<format::BundleWriter::Piece> getPieces() const;
  uint64_t getSize() const { return size; }

private:
  struct Entry {
    ConstantData data;
    uint64_t offset;
  };
  std::vector<Entry> entries;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, Place>
      byAttribute; // with its owner
  /// By size and hash of the contents.
  std::multimap<std::pair<uint64_t, uint64_t>, size_t> byContent;
  uint64_t size = 0;
};

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_WEIGHTPOOL_H
