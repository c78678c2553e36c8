// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region seen from one point of its iteration space: what has to be loaded
// and computed for the value at an index. It is built by pulling: a value at an
// index asks for its operands at mapped indices, so that any mix of views is
// right by construction. Fusion asks it what is legal, schedules how accesses
// lie, and emission prints it.

#ifndef FUSEC_COMPILER_ANALYSIS_SCALARPROGRAM_H
#define FUSEC_COMPILER_ANALYSIS_SCALARPROGRAM_H

#include "ir/FusecOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace fusec {

struct ScalarNode {
  enum class Kind {
    Load,      // `value` (from outside the region) at `indices`
    Root,      // result of a matmul or a reduction: `value`
    Splat,     // the attribute `constant`
    Index,     // `expr` as a number
    Compute,   // the pointwise op `op` of `operands`
    Piecewise, // operands[i] where conditions[i] holds; exactly one does
    GatherRow, // operands[0], checked against `expr`; is Indirect(this node)
    Gather,    // operands[0] (a read through rows), 0 where a row is outside
    Lookup     // table `expr` of `tables` at row operands[0] and column indices
  };
  Kind kind;
  mlir::Type type; // element type
  mlir::Operation *op = nullptr;
  llvm::SmallVector<unsigned> operands = {};
  mlir::Value value = {};
  llvm::SmallVector<Expr> indices = {};
  Expr expr = {};
  mlir::TypedAttr constant = {};
  llvm::SmallVector<IndexCondition> conditions = {};
  llvm::SmallVector<unsigned> rows = {}; // of a Gather: GatherRow nodes
  IndexPolicy policy = IndexPolicy::Flag;

  /// A value, or what is computed of values alone.
  bool isPlain() const {
    return kind == Kind::Load || kind == Kind::Splat || kind == Kind::Compute;
  }
};

class ScalarProgram {
public:
  using Inside = llvm::function_ref<bool(mlir::Operation *)>;

  /// `sizes` is the iteration space. A value is pulled apart where `isInside`
  /// holds for the op that defines it, and loaded otherwise.
  ScalarProgram(llvm::ArrayRef<Expr> sizes, mlir::MLIRContext *context)
      : sizes(sizes), context(context) {}

  /// The node of `value` at `indices`, expressions in the iteration's dims.
  unsigned build(mlir::Value value, llvm::ArrayRef<Expr> indices,
                 Inside isInside);

  const ScalarNode &operator[](unsigned node) const { return nodes[node]; }
  size_t size() const { return nodes.size(); }
  llvm::ArrayRef<Expr> getSizes() const { return sizes; }
  ExprRanges getRanges() const { return ExprRanges(sizes); }
  mlir::MLIRContext *getContext() const { return context; }

  /// Changes the iteration space: every dim is replaced by `values[dim]`, an
  /// expression in the dims of the new space.
  void substitute(llvm::ArrayRef<Expr> newSizes, llvm::ArrayRef<Expr> values);

  /// Every expression of the program that depends on the iteration.
  void walkExprs(llvm::function_ref<void(Expr)> callback) const;

  /// The operands of all Piecewise nodes.
  size_t countPieces() const;
  /// In how many places ops are printed, one for each index that an op is
  /// needed at and each branch of a Piecewise that needs it: of the op with
  /// the most, and of all. Once `most` passes `limit`, no more are counted.
  struct Places {
    unsigned most = 0, all = 0;
  };
  Places countPlaces(unsigned limit) const;

  /// Whether the node's value depends on the dim.
  bool varies(unsigned node, unsigned dim) const;
  /// Whether the node has an element of its own at every point.
  bool variesEverywhere(unsigned node) const;

private:
  unsigned add(ScalarNode node);
  unsigned buildInside(mlir::Operation *op, mlir::Value value,
                       llvm::ArrayRef<Expr> indices, Inside isInside);
  unsigned buildConcat(ConcatOp op, llvm::ArrayRef<Expr> indices,
                       Inside isInside);
  unsigned buildGather(GatherOp op, llvm::ArrayRef<Expr> indices,
                       Inside isInside);
  unsigned buildLookup(LookupOp op, llvm::ArrayRef<Expr> indices,
                       Inside isInside);
  bool exprVaries(Expr expr, unsigned dim) const;

  llvm::SmallVector<Expr> sizes;
  mlir::MLIRContext *context;
  std::vector<ScalarNode> nodes;
  std::map<std::pair<const void *, std::vector<const void *>>, unsigned> known;
  // What varies() has found: many paths may lead to an operand.
  mutable llvm::DenseMap<std::pair<unsigned, unsigned>, bool> variance;
};

/// Whether a cast keeps every number.
bool isExactCast(mlir::Type from, mlir::Type to);
/// The node, or the narrower number that it is exactly a cast of.
unsigned skipExactCast(const ScalarProgram &program, unsigned node);

/// Offset in elements of `indices` in a tensor with `strides`.
Expr getOffset(llvm::ArrayRef<Expr> indices, llvm::ArrayRef<Expr> strides,
               mlir::MLIRContext *context);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_SCALARPROGRAM_H
