// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of fusion: which op is in which group, and what flows between
// groups. Views and generated values belong to no group: each group that needs
// one gets its own copy.

#ifndef FUSEC_COMPILER_TRANSFORMS_FUSION_FUSIONGROUPS_H
#define FUSEC_COMPILER_TRANSFORMS_FUSION_FUSIONGROUPS_H

#include "compiler/transforms/fusion/GroupOrder.h"
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

/// A value that the op of one group computes and the op of another reads.
struct FusionEdge {
  mlir::Value value;
  mlir::Operation *reader;
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

  /// What ops that compute read from one another, through free ops, in program
  /// order of the readers. It stays the same while groups merge.
  llvm::ArrayRef<FusionEdge> getEdges() const { return edges; }
  /// The edges that end in the op: a range of them.
  std::pair<size_t, size_t> getEdgesTo(mlir::Operation *reader) const {
    return edgesTo.lookup(reader);
  }
  unsigned getProducer(const FusionEdge &edge) const {
    return groupOf.lookup(edge.value.getDefiningOp());
  }
  unsigned getConsumer(const FusionEdge &edge) const {
    return groupOf.lookup(edge.reader);
  }
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
  /// Makes new ops groups, whose results `reader` now reads; once all are
  /// there, finishAdding() finds the edges anew.
  void addBefore(llvm::ArrayRef<mlir::Value> results, mlir::Operation *reader);
  void finishAdding();

  /// Where the value lies: densely, or as a slice of an assembled concat.
  llvm::SmallVector<Expr> getStrides(mlir::Value value) const;
  /// Takes the values for slices with these strides if every matmul that
  /// computes or reads one still can.
  bool
  slice(const llvm::MapVector<mlir::Value, llvm::SmallVector<Expr>> &strides);

  /// Groups in an order in which each follows those it reads from.
  llvm::SmallVector<unsigned> getOrder() const;

private:
  /// What lies on the way from one group to another: whether a third one does,
  /// and else either all that lead to the consumer from behind the producer, or
  /// all before the consumer that the producer leads to.
  struct Between {
    bool hasPath, leadsAhead;
    llvm::SmallVector<unsigned> groups;
  };

  void addGroup(mlir::Operation *op);
  void readEdges();
  void markCopies();
  llvm::SmallVector<mlir::Value> getSources(mlir::Operation *op) const;
  void visitNeighbours(unsigned id, bool ahead,
                       llvm::function_ref<void(unsigned)> visit) const;
  Between findBetween(unsigned producer, unsigned consumer) const;

  ModelOp model;
  std::vector<FusionGroup> groups; // merged ones stay behind empty
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
  llvm::DenseSet<mlir::Operation *> copies;
  std::vector<FusionEdge> edges;
  llvm::DenseMap<mlir::Operation *, std::pair<size_t, size_t>> edgesTo;
  /// How many edges lead to a group, and away from it, or did before it merged.
  std::vector<size_t> edgeCounts[2];
  GroupOrder order;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> readers;
  llvm::DenseSet<mlir::Value> modelOutputs;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Expr>> slices;
};

/// Pieces of concats that one kernel has text for: NVRTC takes a second or two
/// for these.
constexpr size_t mostPieces = 32;
/// Concats of more pieces become assembled ones of such. Whether there are any.
bool splitWideConcats(FusionGroups &groups);

/// Why two groups cannot be one kernel, or the family of the kernel.
struct FusionVerdict {
  std::optional<Family> family;
  std::string reason;
};
FusionVerdict checkFusion(const FusionGroups &groups, unsigned producer,
                          unsigned consumer);

/// Whether the kernels of the group's family find its operands where its values
/// lie: of a matmul with its epilogue, a product of pairs, a bag.
bool readsOperands(const FusionGroups &groups, const FusionGroup &group);
/// Whether what says a bag's rows is found, once views are read through.
bool isPlainOfBag(mlir::Value value);

/// Whether the contraction's operand is a plain matrix once views are read
/// through; `alongRows`: one whose rows lie one element after another.
bool isPlainMatrix(mlir::Value value, bool alongRows = false);
/// Whether two such operands have the same strides, and offsets that differ by
/// a constant, as accumulators of one kernel must.
bool lieAlike(mlir::Value a, mlir::Value b);

} // namespace fusec

#endif // FUSEC_COMPILER_TRANSFORMS_FUSION_FUSIONGROUPS_H
