// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of the family share.

#ifndef FUSEC_COMPILER_KERNELS_POINTWISE_POINTWISE_H
#define FUSEC_COMPILER_KERNELS_POINTWISE_POINTWISE_H

#include "compiler/analysis/AccessWidths.h"
#include "compiler/analysis/GridLimit.h"
#include "compiler/kernels/Family.h"

namespace fusec {

class KernelWriter;

extern const KernelFamily pointwiseFamily;

llvm::SmallVector<VariantAttr>
choosePointwiseVariants(StepOp step, const Target &target, Products products);
Estimates estimatePointwiseStep(StepOp step, const Target &target,
                                Products products,
                                llvm::ArrayRef<int64_t> dims);
mlir::FailureOr<KernelSource> emitPointwise(StepOp step, VariantAttr variant,
                                            llvm::StringRef symbol);

/// A row whose elements are picked by indices: where it lies, and how long it
/// is.
struct PickedRow {
  unsigned load; // of the program
  Expr begin;    // in elements of the buffer
  int64_t size;
};
/// Of a multiprocessor's shared memory, so that it has room for six blocks.
constexpr int64_t mostHeldRowBytes = 32 << 10;
/// Of an iteration whose last dim walks through what is picked; nothing where
/// nothing is, or more than that.
std::optional<PickedRow> findPickedRow(StepOp step,
                                       const PointwiseIteration &iteration);
/// How many elements of it lie together wherever it is, at most 16 bytes.
int64_t getFillWidth(StepOp step, const PointwiseIteration &iteration,
                     const PickedRow &row, Alignments alignments);

/// Whether so much is picked of rows that no kernel has stored that few of
/// their sectors are left.
bool picksMost(StepOp step, const PointwiseIteration &iteration,
               const PickedRow &row);

/// Of a thread's loads of the row, so many are on their way together, as in
/// held_rows.h.
constexpr int64_t getFillsTogether(int64_t width) { return width > 1 ? 4 : 8; }

/// Points that some blocks of the grid compute.
struct PointwisePiece {
  PointwiseIteration iteration;
  Expr count; // of elements, with those that rows leave over
  VectorAccesses accesses;
  /// Along memory, rows begin anywhere: vectors from where what is stored is
  /// aligned, and single elements before and behind.
  Walk walk = Walk::Dimension;
  /// Held by the block.
  std::optional<PickedRow> row = std::nullopt;
  bool isOnly = false; // of its kernel's

  bool isByRows() const { return walk == Walk::Memory; }
  /// How many rows that indices name it reads for a point: one load after
  /// another.
  int64_t countRows() const;
  /// Whether single elements at the ends of a row are parts of their own: of
  /// long rows, which have many more vectors.
  bool dividesEnds() const;
  /// Vectors and, of divided ends, single elements that a row may have.
  Expr getParts() const;
  /// All dims but the last.
  Expr countOuter() const {
    return getElementCount(iteration.program.getSizes().drop_back(),
                           count.getContext());
  }
  /// Elements of an access where a thread takes `vector`, and accesses that are
  /// on their way together.
  int64_t getWidth(int64_t vector) const {
    return isByRows() ? accesses.width : std::min(accesses.width, vector);
  }
  int64_t getAtOnce(int64_t vector) const;
  /// Lanes lie along the last one.
  unsigned getDim() const { return iteration.program.getSizes().size() - 1; }
  /// What is computed and stored together.
  llvm::SmallVector<llvm::ArrayRef<RegionStore>> getStoreGroups() const;
};
/// Results that are computed together: of the hundreds of pieces that a wide
/// concat may have, registers would not hold what is loaded, and what several
/// need is computed again sooner than kept.
constexpr size_t mostStoresTogether = 32;
/// Accesses of so many elements that a thread has on their way at most: more
/// would leave registers for fewer threads.
constexpr int64_t getMostAccesses(int64_t width) { return width > 1 ? 4 : 8; }
/// Of rows that indices name, so many: twelve would take a third of the threads
/// their registers.
constexpr int64_t mostRowsTogether = 8;

/// One dim instead of all, of which loads that are not dense divide.
PointwiseIteration flatten(const PointwiseIteration &iteration);

/// Of short runs that are loaded in another order than they are stored, the
/// dims in the order in which they are loaded.
PointwiseIteration followLoad(StepOp step, PointwiseIteration iteration);

using PointwisePieces = std::vector<PointwisePiece>;
/// Of buffers that are so aligned.
mlir::FailureOr<PointwisePieces> analyzePointwisePieces(StepOp step,
                                                        Alignments alignments);
/// As the variant's launch lists their accesses; with an error where it does
/// not.
mlir::FailureOr<PointwisePieces> takePointwisePieces(StepOp step,
                                                     VariantAttr variant);
/// Of each piece: a thread takes as many elements as the schedule says, or more
/// where the grid has no more blocks.
llvm::SmallVector<Expr> getBlocks(const PointwisePieces &pieces,
                                  PointwiseScheduleAttr schedule);

/// Points that parts of the same rows are computed at, by their linear index.
struct AssembledLoop {
  PointwiseIteration iteration;
  int64_t width;                     // elements of its accesses
  int64_t columns;                   // of each part
  llvm::SmallVector<int64_t> places; // in a row, of what each store stores
};
/// Rows of an output whose parts lie side by side without gaps.
struct AssembledRows {
  unsigned output;
  Expr rows;
  int64_t pitch; // elements of a row
  std::vector<AssembledLoop> loops;
  llvm::SmallVector<BufferOp> aligned = {}; // these must be, to 16 bytes

  int64_t getElementBytes(StepOp step) const;
  /// Accesses of a thread where so many rows are put together.
  int64_t countSteps(int64_t rowsTogether, int64_t threads) const;
  /// Whether a block has the memory for what the schedule puts together.
  bool fits(StepOp step, PointwiseScheduleAttr schedule) const;
};
/// Of buffers that are so aligned; nothing where the region stores no such
/// rows.
std::optional<AssembledRows> findAssembledRows(StepOp step,
                                               Alignments alignments);
AccessesAttr getAssembledAccesses(StepOp step, VariantAttr variant,
                                  const AssembledLoop &loop);
/// As the variant's launch lists their accesses; with an error where it does
/// not.
std::optional<AssembledRows> takeAssembledRows(StepOp step,
                                               VariantAttr variant);
void emitAssembledRows(KernelWriter &writer, const AssembledRows &rows,
                       VariantAttr variant);

/// What a kernel of the family moves.
struct PointwiseWork {
  double bytes = 0;    // read and written
  double partly = 0;   // of sectors that are written in pieces, beside these
  double elements = 0; // points
  double vectors = 0;  // of any width
  double blocks = 0;   // where the grid has no limit
  bool readsRows = false;
  double besideRows = 0; // what rows in random places take beside their own
  double waits = 0; // by which part memory takes longer for what is computed
  double functions = 0; // instructions of a point, for functions
};
/// What a block of rows that are put together takes.
struct AssembledWork {
  double heldBytes = 0;
  double steps = 0; // accesses of a thread
};
/// What is read of rows whose elements are picked by indices.
struct PickedWork {
  double rows = 0, rowBytes = 0, elementBytes = 0;
  double picks = 0;           // of each row
  double fillWidth = 1;       // elements of an access that fills a held row
  bool hasOwnIndices = false; // each row of indices of its own, from memory
};
/// Bytes that rows in random places take beside their own: those of all tables
/// at most, of which memory gives nothing twice.
double getBytesBesideRows(StepOp step, const Target &target, int64_t dim);
/// Every element on its own; a thread has as many on their way as the schedule
/// says. What indices name waits for them, and lies anywhere.
Estimate estimatePointwise(const Target &target, const PointwiseWork &work,
                           PointwiseScheduleAttr schedule);
/// The same where rows are put together first.
Estimate estimateAssembled(const Target &target, const PointwiseWork &work,
                           const AssembledWork &assembled,
                           PointwiseScheduleAttr schedule);
/// The same where elements are picked from rows, whose bytes `work` has not.
Estimate estimatePicks(const Target &target, const PointwiseWork &work,
                       const PickedWork &picked,
                       PointwiseScheduleAttr schedule);

} // namespace fusec

#endif // FUSEC_COMPILER_KERNELS_POINTWISE_POINTWISE_H
