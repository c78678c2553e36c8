// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many elements each access of a loop moves at once under the guards of a
// variant: what its launch lists, and whether a list fits the loop.

#ifndef FUSEC_COMPILER_ANALYSIS_ACCESSWIDTHS_H
#define FUSEC_COMPILER_ANALYSIS_ACCESSWIDTHS_H

#include "compiler/analysis/VectorAccesses.h"

namespace fusec {

/// The nodes that AccessesAttr lists widths of: loads and lookups.
llvm::SmallVector<unsigned> getReads(const ScalarProgram &program);

/// Whether a lookup's rows are such that lanes along the dim, of which each
/// takes a column of one row, may take them together: where in the row.
std::optional<Expr> getColumnsOffset(const ScalarProgram &program,
                                     unsigned lookup, unsigned dim);

/// Of the reads of a loop whose `width` lanes lie along the dim.
llvm::SmallVector<int64_t> getLoadWidths(StepOp step, VariantAttr variant,
                                         const ScalarProgram &program,
                                         unsigned dim, int64_t width);
/// Of values that are stored together.
llvm::SmallVector<int64_t> getStoreWidths(StepOp step, VariantAttr variant,
                                          llvm::ArrayRef<RegionStore> stores,
                                          unsigned dim, int64_t width);

/// Accesses of a loop of single elements too.
AccessesAttr getAccesses(mlir::MLIRContext *context, Walk walk, int64_t width,
                         llvm::ArrayRef<int64_t> loads,
                         llvm::ArrayRef<int64_t> stores,
                         llvm::ArrayRef<int64_t> passing = {},
                         llvm::ArrayRef<int64_t> shifted = {});

/// A loop as its accesses are listed: what it reads, and the values that it
/// stores, in groups that are stored together.
struct LoopAccesses {
  const ScalarProgram &program;
  unsigned dim;  // of the lanes
  int64_t width; // how many lanes
  llvm::SmallVector<llvm::ArrayRef<RegionStore>> stores;
  /// Reads along another dim.
  llvm::ArrayRef<unsigned> others = {};
  bool shifts = false; // loads that begin anywhere
  /// What else than stores needs all lanes, as they do.
  llvm::ArrayRef<RegionStore> needs = {};
};
/// What the variant's launch lists of its loop `index`; null, with an error,
/// where that is not of as many accesses, or of such as lanes cannot have.
AccessesAttr takeAccesses(StepOp step, VariantAttr variant, size_t index,
                          const LoopAccesses &loop);
/// The same of any loop of so many loads and stores.
AccessesAttr takeAccesses(StepOp step, VariantAttr variant, size_t index,
                          size_t loads, size_t stores);
/// With an error where the launch lists another number of loops.
mlir::LogicalResult checkLoops(StepOp step, VariantAttr variant, size_t count);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_ACCESSWIDTHS_H
