// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The buffers of a plan by name. A step that asks for one of its own searches
// the plan, which is as long as the model; where many ask, a table is kept.

#ifndef FUSEC_IR_PLANBUFFERS_H
#define FUSEC_IR_PLANBUFFERS_H

#include "ir/FusecOps.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/DenseMap.h"
#include <shared_mutex>

namespace fusec {

/// While it lives, steps of the plan find their buffers in it. In the meantime
/// buffers may be added, not renamed, and erased where no step refers to them.
class PlanBuffers {
public:
  explicit PlanBuffers(PlanOp plan);
  ~PlanBuffers();
  PlanBuffers(const PlanBuffers &) = delete;
  PlanBuffers &operator=(const PlanBuffers &) = delete;

  /// Null where the plan had none of that name.
  BufferOp lookup(mlir::FlatSymbolRefAttr ref) const {
    return buffers.lookup(ref.getAttr());
  }

private:
  PlanOp plan;
  llvm::DenseMap<mlir::StringAttr, BufferOp> buffers;
};

/// The tables that live, kept by the dialect. Plans may be worked on in several
/// threads.
class PlanBufferTables : public mlir::DialectInterface::Base<PlanBufferTables> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanBufferTables)
  explicit PlanBufferTables(mlir::Dialect *dialect) : Base(dialect) {}

  /// Does nothing where the plan has a table.
  void add(mlir::Operation *plan, const PlanBuffers *table);
  void remove(mlir::Operation *plan, const PlanBuffers *table);
  /// Null where the plan has no table, or its table no such buffer.
  BufferOp lookup(mlir::Operation *plan, mlir::FlatSymbolRefAttr ref) const;

private:
  mutable std::shared_mutex mutex;
  llvm::DenseMap<mlir::Operation *, const PlanBuffers *> tables;
};

} // namespace fusec

#endif // FUSEC_IR_PLANBUFFERS_H
