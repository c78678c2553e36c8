// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What schedules of a step that reduces along one axis depend on, and how they
// are chosen by that.

#ifndef FUSEC_COMPILER_KERNELS_REDUCE_REDUCEPROBLEM_H
#define FUSEC_COMPILER_KERNELS_REDUCE_REDUCEPROBLEM_H

#include "compiler/kernels/reduce/Reduce.h"

namespace fusec {

struct ReduceProblem : RowWalk {
  bool ofColumns;
  int64_t element; // bytes of the widest that is read

  /// Whether the load is one for all of an access of `vector` elements.
  bool isAccess(StepOp step, unsigned load, int64_t vector) const;
  /// What accesses of `vector` elements can keep.
  llvm::SmallVector<unsigned> getKeptLoads(StepOp step, int64_t vector,
                                           bool ahead = false) const;
  /// Bytes of that, of an item.
  int64_t getKeptBytes(StepOp step, int64_t vector) const;
  /// Those of `schedules` that can; more of an item if a block is alone on its
  /// multiprocessor.
  llvm::SmallVector<ReduceScheduleAttr>
  keep(StepOp step, llvm::ArrayRef<ReduceScheduleAttr> schedules,
       bool isAlone = false) const;
  RowSizes getSizesAt(StepOp step, const Target &target, int64_t dim) const;
  /// With what accesses of `vector` elements keep, then also with what only
  /// stores need.
  std::pair<RowSizes, RowSizes> getKeptSizes(StepOp step, const Target &target,
                                             int64_t vector, int64_t dim) const;
  /// The same by single items.
  ReduceProblem asSingles(StepOp step) const;
  Expr getRows() const;
  Expr getLength() const {
    return pitch ? longest : iteration.program.getSizes()[1];
  }
  /// Elements of a vector of phases; 0 where columns have none.
  int64_t getPhasedVector() const;
  std::optional<ReduceScheduleAttr>
  getEvenTile(const Target &target, int64_t vector, int64_t bits) const;
  llvm::SmallVector<ReduceScheduleAttr>
  getWholeRows(const Target &target, int64_t vector, int64_t bits) const;
  /// Of wide rows.
  llvm::SmallVector<Candidate> getWideCandidates(StepOp step,
                                                 const Target &target,
                                                 int64_t vector, int64_t bits,
                                                 int64_t dim) const;
  llvm::SmallVector<ReduceScheduleAttr> getColumnSchedules(StepOp step,
                                                           const Target &target,
                                                           int64_t vector,
                                                           int64_t bits) const;
  llvm::SmallVector<ReduceScheduleAttr> getSchedules(StepOp step,
                                                     const Target &target,
                                                     int64_t vector,
                                                     int64_t bits) const;
  llvm::SmallVector<ReduceScheduleAttr> getTeams(StepOp step,
                                                 const Target &target,
                                                 int64_t vector,
                                                 int64_t bits) const;
  int64_t getResident(const Target &target, const RowSizes &sizes,
                      ReduceScheduleAttr schedule) const;
  bool gainsByTwin(const Target &target, ReduceScheduleAttr schedule) const;
  /// Makes what twins take follow from what the schedules they stand for do.
  void adjustTwins(const Target &target,
                   llvm::MutableArrayRef<Candidate> candidates) const;
  mlir::Attribute getFirst(llvm::ArrayRef<Candidate> candidates) const;
  llvm::SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                             int64_t vector, int64_t bits,
                                             int64_t dim) const;
};

/// Neighbouring threads should read neighbouring elements: along the row where
/// most lie so, else across columns.
mlir::FailureOr<ReduceProblem> analyzeReduce(StepOp step);

/// Of an item that is kept for one pass: text of 52 GELUs took 44 us, a
/// loop 29.
inline constexpr double mostInstructionsOfPass = 16;

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_REDUCE_REDUCEPROBLEM_H
