// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of fusion: which op is in which group, and what flows between
// groups. Views and generated values belong to no group: each group that needs
// one gets its own copy.

#ifndef FUSEC_COMPILER_TRANSFORMS_FUSIONGROUPS_H
#define FUSEC_COMPILER_TRANSFORMS_FUSIONGROUPS_H

#include "ir/FusecOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace fusec {

struct FusionGroup {
  Family family;
  llvm::SmallVector<mlir::Operation *> ops; // in program order
  bool isAssembled = false; // a concat whose operands are stored in place
  unsigned version = 0;     // changes with every merge
};

/// A value that one group computes and another reads.
struct FusionEdge {
  unsigned producer, consumer;
  mlir::Value value;
};

class FusionGroups {
public:
  /// Each op that computes becomes a group. Views that no kernel can read
  /// through (a matmul's operand that is not a plain matrix, a model's output
  /// that is only a view) count as computing: they become copies.
  explicit FusionGroups(ModelOp model);

  /// Whether ops of the kind are copied into each group that needs them.
  bool isFree(mlir::Operation *op) const;
  bool isInside(unsigned group, mlir::Operation *op) const;

  llvm::ArrayRef<FusionGroup> getGroups() const { return groups; }
  FusionGroup &getGroup(unsigned id) { return groups[id]; }
  std::optional<unsigned> getGroupOf(mlir::Operation *op) const;
  ModelOp getModel() const { return model; }

  /// Values that the ops read from other groups, through free ops.
  llvm::SmallVector<FusionEdge> getEdges() const;
  /// Values of the ops that are read outside of them.
  llvm::SmallVector<mlir::Value>
  getOutputs(llvm::ArrayRef<mlir::Operation *> ops) const;
  bool isModelOutput(mlir::Value value) const {
    return modelOutputs.contains(value);
  }
  /// The ops of both, in program order.
  llvm::SmallVector<mlir::Operation *> getUnion(unsigned a, unsigned b) const;
  /// Whether `consumer` also depends on `producer` through a third group.
  bool hasOtherPath(unsigned producer, unsigned consumer) const;

  void merge(unsigned producer, unsigned consumer, Family family);
  /// Takes in the results of new ops, each a group, which `reader` now reads.
  void addBefore(llvm::ArrayRef<mlir::Value> results, mlir::Operation *reader);

  /// Groups in an order in which each follows those it reads from.
  llvm::SmallVector<unsigned> getOrder() const;

private:
  void addGroup(mlir::Operation *op);
  void setSources(mlir::Operation *op);
  void markCopies();
  llvm::SmallVector<mlir::Value> getSources(mlir::Operation *op) const;

  ModelOp model;
  std::vector<FusionGroup> groups; // merged ones stay behind empty
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  llvm::DenseSet<mlir::Operation *> copies;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> sources;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> readers;
  llvm::DenseSet<mlir::Value> modelOutputs;
};

/// Pieces of concats that one kernel has text for: NVRTC takes a second or two
/// for these.
constexpr size_t mostPieces = 32;
/// Concats of more pieces become assembled ones of such.
void splitWideConcats(FusionGroups &groups);

/// Why two groups cannot be one kernel, or the family of the kernel.
struct FusionVerdict {
  std::optional<Family> family;
  std::string reason;
};
FusionVerdict checkFusion(const FusionGroups &groups, unsigned producer,
                          unsigned consumer);

/// Whether the contraction's operand is a plain matrix once views are read
/// through.
bool isPlainMatrix(mlir::Value value);
/// Whether two such operands have the same strides, and offsets that differ by
/// a constant, as accumulators of one kernel must.
bool lieAlike(mlir::Value a, mlir::Value b);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_FUSIONGROUPS_H
