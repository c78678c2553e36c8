// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration space of a region: which points are computed, and what each
// point stores. A pointwise region iterates over the coarsest space in which
// all of its accesses are still affine: dims that some access divides are
// split, neighbours that every access walks through together are joined.

#ifndef FUSEC_COMPILER_ANALYSIS_ITERATION_H
#define FUSEC_COMPILER_ANALYSIS_ITERATION_H

#include "compiler/analysis/ScalarProgram.h"

namespace fusec {

struct RegionStore {
  unsigned node;   // of the program
  unsigned output; // which result of the region
  Expr offset;     // in elements
};

struct PointwiseIteration {
  ScalarProgram program;
  llvm::SmallVector<RegionStore> stores;
};

/// Strides of an input value and of the i-th output.
using InputStrides = llvm::function_ref<llvm::SmallVector<Expr>(mlir::Value)>;
using OutputStrides = llvm::function_ref<llvm::SmallVector<Expr>(unsigned)>;

/// What is computed at each point, at these indices of the value, and where in
/// an output it goes.
struct StoredValue {
  mlir::Value value;
  unsigned output;
  llvm::SmallVector<Expr> indices;
  Expr offset; // in elements
};
struct PointSpace {
  llvm::SmallVector<Expr> sizes;
  llvm::SmallVector<StoredValue> stored;
};
/// Fails where the outputs do not share one iteration space.
mlir::FailureOr<PointSpace> getPointSpace(llvm::ArrayRef<mlir::Value> outputs,
                                          ScalarProgram::Inside isInside,
                                          OutputStrides outputStrides);
/// The program of the space, whose dims become those of the program: none that
/// some access divides.
PointwiseIteration refinePoints(PointSpace &space,
                                ScalarProgram::Inside isInside);
/// Joins neighbouring dims that every access walks through together.
void joinDims(PointwiseIteration &iteration, InputStrides inputStrides);

/// The iteration over such a space. Fails where there is none.
mlir::FailureOr<PointwiseIteration>
analyzePointwise(llvm::ArrayRef<mlir::Value> outputs,
                 ScalarProgram::Inside isInside, InputStrides inputStrides,
                 OutputStrides outputStrides);
/// The same for a step of the pointwise family.
mlir::FailureOr<PointwiseIteration> analyzePointwise(StepOp step);
/// The same with the pieces of concats apart, and results of other numbers of
/// elements: an iteration each, none of which asks at a point which piece it is
/// in. Those of one shape are stores of one iteration. `cutsShort`: also pieces
/// that are too short to be stored apart.
mlir::FailureOr<std::vector<PointwiseIteration>>
analyzePieces(StepOp step, bool cutsShort = false);

/// One reduction over rows: its operand at (row, k).
struct RowReduction {
  mlir::Operation *op; // ReduceOp or ArgReduceOp
  unsigned operand;
};
struct RowStore : RegionStore {
  bool isFull; // at every (row, k), else once a row
};
/// Whether one finds where the other's result is, of an operand or its cast.
bool findSameExtreme(const ScalarProgram &program, const RowReduction &a,
                     const RowReduction &b);
/// A reduction over rows: dim 0 is the row, dim 1 runs along it. All reductions
/// of the region share both.
struct RowIteration {
  ScalarProgram program;
  /// Of a row, in terms of dim 0: dim 1's size, or less of the last parts.
  Expr length;
  /// In order of dependence, an extreme and its place side by side.
  llvm::SmallVector<RowReduction> reductions;
  llvm::SmallVector<RowStore> stores;
  /// Whether rows of more points are stored than are reduced: dim 1 then is a
  /// point of what is stored, and `length` of them are reduced.
  bool isWide = false;
};
mlir::FailureOr<RowIteration> analyzeRows(llvm::ArrayRef<mlir::Value> outputs,
                                          ScalarProgram::Inside isInside,
                                          OutputStrides outputStrides);
/// The same for a step of the reduce family, whose rows may be wide.
mlir::FailureOr<RowIteration> analyzeRows(StepOp step);
/// The same with rows apart by what most loads find one after another: dim 0 is
/// the outer index, dim 1 runs along the row, dim 2 is the column. Fails where
/// most loads lie along rows.
mlir::FailureOr<RowIteration> analyzeColumns(StepOp step);

/// Where a matmul root's operand lies: offset = batch + outer * outerStride +
/// k * kStride, in elements; `batch` is an expression in the batch dims.
struct MatrixAccess {
  mlir::Value value;
  Expr outerStride, kStride, batch;
  /// K of all batches, where they are its ranges.
  std::optional<Expr> wholeK = {};

  bool isAlongK() const { return kStride.isConstant(1); }
  /// The same for a matrix of `k` columns, or across them of `outers` rows,
  /// where a single one lies along any; of several, a stride of 0 is a
  /// broadcast.
  bool liesAlongK(Expr k) const {
    return isAlongK() || (k.isConstant(1) && kStride.isConstant(0));
  }
  bool liesAcrossK(Expr outers) const {
    return outerStride.isConstant(1) ||
           (outers.isConstant(1) && outerStride.isConstant(0));
  }
};
/// The offset of an epilogue's operand or result; strides of 0 do not vary.
struct TileAccess {
  Expr rowStride, columnStride, batch;

  /// A single column lies contiguously whatever its stride.
  bool hasContiguousColumns() const {
    return columnStride.isConstant(1) || columnStride.isConstant(0);
  }
  /// Whether the elements of a column lie one after another, and those of a row
  /// do not.
  bool liesAlongRows() const {
    return rowStride.isConstant(1) && !columnStride.isConstant(1) &&
           !columnStride.isConstant(0);
  }
  /// The same, with N for K.
  MatrixAccess asMatrix() const { return {{}, rowStride, columnStride, batch}; }
  /// How rows, or columns where it lies along rows, begin behind one another.
  llvm::SmallVector<Expr, 2> getRunOffsets() const {
    return {batch, liesAlongRows() ? columnStride : rowStride};
  }
};
struct TileOperand {
  unsigned node;
  mlir::Value value;
  TileAccess access;
};
struct TileStore {
  unsigned node;
  unsigned output;
  TileAccess access;
  bool isFull = true; // at every (m, n), else once a row
};
/// Elements that a product makes of a matrix in memory as it multiplies them,
/// and of scalars, rows and columns.
struct MadeMatrix {
  ScalarProgram program; // over [batch.., outer, k]
  unsigned node, source; // what is multiplied, and the matrix in memory
  llvm::SmallVector<TileOperand> operands; // their rows are outers, columns ks

  /// Whether elements only change their type.
  bool isConversion() const;
};
/// What a kernel computes of a root's values in registers, over dims [batch..,
/// row, column]. Its reductions are along rows, which the kernel then holds.
struct TileEpilogue {
  llvm::SmallVector<Expr> batchSizes;
  ScalarProgram epilogue;
  llvm::SmallVector<TileOperand> operands;
  llvm::SmallVector<TileStore> stores;
  llvm::SmallVector<RowReduction> reductions = {}; // in order of dependence
};
/// A matmul root and its epilogue, over dims [batch.., m, n].
struct MatmulIteration : TileEpilogue {
  ContractionOp root;
  Expr m, n;
  llvm::SmallVector<Expr> k;           // a segment
  llvm::SmallVector<MatrixAccess> lhs; // a segment
  llvm::SmallVector<llvm::SmallVector<MatrixAccess>>
      rhs; // [segment][accumulator]
  /// Of the only segment: A, or B. Its access is that of the matrix in memory.
  std::optional<MadeMatrix> made = {};
  bool isRhsMade = false;
};
/// Whether there is one accumulator, and rows are not reduced.
bool canSwapOperands(const MatmulIteration &iteration);
/// The transposed product, B^T A^T, where there is one.
MatmulIteration swapOperands(MatmulIteration iteration);

/// Fails where an operand is not a plain matrix or the epilogue reads anything
/// but scalars, rows, columns and tiles. `mayMake`: one operand may be made.
mlir::FailureOr<MatmulIteration>
analyzeMatmul(llvm::ArrayRef<mlir::Value> outputs,
              ScalarProgram::Inside isInside, InputStrides inputStrides,
              OutputStrides outputStrides, bool mayMake = false);
/// The same for a step of the gemm family, which may make an operand.
mlir::FailureOr<MatmulIteration> analyzeMatmul(StepOp step);

/// Whether a value at [batch.., outer, k] is a plain matrix in memory.
mlir::FailureOr<MatrixAccess> analyzeMatrix(mlir::Value value,
                                            ScalarProgram::Inside isInside,
                                            InputStrides inputStrides);

/// A block of shared memory of a chain: rows of the block's tile, or all of
/// something that every row needs.
struct ChainTile {
  mlir::Value value; // that it holds
  bool isHeld;       // computed by a phase, else copied from memory
  bool perRow;
  int64_t rows, columns; // `rows` where it is not `perRow`
  /// Of copies: in memory, in elements.
  Expr rowStride = {}, columnStride = {}, offset = {};

  bool isContiguous() const {
    return columnStride.isConstant(1) || columns == 1;
  }
};
/// A matrix or an operand of a phase: a tile from one of its columns on.
struct ChainOperand {
  unsigned tile;
  int64_t column = 0;
  bool alongK = true; // of a matrix: whether the tile's rows lie along K
};
/// Where a result of a phase goes.
struct ChainStore {
  std::optional<unsigned> tile;   // of a held value
  std::optional<unsigned> output; // of the region
};
struct ChainPhase {
  MatmulIteration matmul;
  llvm::SmallVector<ChainOperand> lhs;                    // a segment
  llvm::SmallVector<llvm::SmallVector<ChainOperand>> rhs; // [segment][acc.]
  llvm::SmallVector<ChainOperand> operands;
  llvm::SmallVector<ChainStore> stores;
};
/// Matmul roots of the same rows, each contracting over values of earlier ones
/// and over what is in memory.
struct ChainIteration {
  Expr rows;
  llvm::SmallVector<ChainTile> tiles;
  std::vector<ChainPhase> phases;
  /// Of shared memory, for tiles of so many rows.
  int64_t getSharedBytes(int64_t rows) const;
};
/// Fails, with the reason, where the step's region is no chain: widths must be
/// constant, and no value of one row may be read by another.
mlir::FailureOr<ChainIteration> analyzeChain(StepOp step, std::string &reason);

/// The axes of a ReduceOp or ArgReduceOp, ascending.
llvm::SmallVector<int64_t> getReducedAxes(mlir::Operation *op);
/// What finds the extreme whose place the op finds.
ReduceKind getExtremeKind(ArgReduceOp op);

/// Whether those are the last ones, all of them.
bool reducesLastAxes(mlir::Operation *op);
/// Of a ReduceOp that has them; they are the first dimension of its result.
std::optional<int64_t> getReducedParts(mlir::Operation *op);
/// What one result reduces: all, or a part's, of which the last may have fewer.
Expr getPartLength(mlir::Operation *op);
/// Behind how many of the dimensions that are kept parts are walked, so that
/// those of a row follow one another as they do in memory: 0 where the first
/// axis is reduced, and where there are none.
size_t getPlaceOfParts(mlir::Operation *op);

/// The ops inside that the outputs depend on, in order.
llvm::SmallVector<mlir::Operation *>
collectInside(llvm::ArrayRef<mlir::Value> outputs,
              ScalarProgram::Inside isInside);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_ITERATION_H
