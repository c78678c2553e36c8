// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An order of groups in which each stands behind those that it reads from. It
// stays one while groups merge, at the price of moving those that stood between
// the two and lead to one of them.

#ifndef FUSEC_COMPILER_TRANSFORMS_FUSION_GROUPORDER_H
#define FUSEC_COMPILER_TRANSFORMS_FUSION_GROUPORDER_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace fusec {

/// A list whose elements carry labels that grow along it, so that two are
/// compared at once.
class GroupOrder {
public:
  GroupOrder() = default;
  /// Of the ids, each below count, in the order in which they are given.
  GroupOrder(unsigned count, llvm::ArrayRef<unsigned> ids);

  bool isBefore(unsigned a, unsigned b) const { return labels[a] < labels[b]; }
  /// What stands before the group; the end, which is no group, before the
  /// first.
  unsigned getPrevious(unsigned id) const { return previous[id]; }
  void remove(unsigned id);
  /// Moves groups to stand right behind another or, where that is the end,
  /// before all, in the order in which they stand now.
  void moveBehind(unsigned place, llvm::MutableArrayRef<unsigned> ids);

private:
  unsigned getEnd() const { return labels.size() - 1; }
  void insertBehind(unsigned place, unsigned id);
  void relabel();

  // The end closes the ring.
  std::vector<uint64_t> labels;
  std::vector<unsigned> previous, next;
};

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_FUSION_GROUPORDER_H
