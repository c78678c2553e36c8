// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether two groups can be one kernel: the predicate, and of whether it pays
// only that the kernel does not grow without bounds. The answer is that of the
// analysis by which the kernel would be emitted, so that what is legal here can
// be printed.

#include "compiler/analysis/BagIteration.h"
#include "compiler/analysis/Iteration.h"
#include "compiler/analysis/ScanIteration.h"
#include "compiler/analysis/Views.h"
#include "compiler/transforms/fusion/FusionGroups.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static SmallVector<Expr> denseStrides(Value value) {
  return getDenseStrides(getSizes(value), value.getContext());
}

static FailureOr<MatrixAccess> analyzePlainMatrix(Value value) {
  // What is behind a splat is nowhere in memory.
  auto isReadThrough = [](Operation *op) {
    return isa<SplatOp>(op) || isViewOfOne(op);
  };
  return analyzeMatrix(value, isReadThrough, denseStrides);
}

bool fusec::isPlainMatrix(Value value, bool alongRows) {
  auto matrix = analyzePlainMatrix(value);
  return succeeded(matrix) && (!alongRows || matrix->isAlongK());
}

bool fusec::lieAlike(Value a, Value b) {
  auto first = analyzePlainMatrix(a), second = analyzePlainMatrix(b);
  // Others are copied into plain ones.
  if (failed(first) || failed(second))
    return failed(first) && failed(second);
  return first->outerStride == second->outerStride &&
         first->kStride == second->kStride &&
         (first->batch - second->batch).isConstant();
}

static FusionVerdict refuse(const Twine &reason) {
  return {std::nullopt, reason.str()};
}

/// Where each of n ops reads its operand in several places (x + roll(x), the
/// steps of a Hadamard transform), one kernel of them all has text, and reads,
/// that grow exponentially. Three such steps are as much as pays: with more,
/// what the first cache delivers takes longer than a trip to memory.
constexpr unsigned mostPlaces = 32;

/// What an epilogue reads is in registers beside the accumulators.
constexpr unsigned mostEpilogueOperands = 16;

/// A kernel's text is compiled in a time that grows with the square of its ops,
/// and with the cube of its reductions: a second or two for these. Beside so
/// much arithmetic one more trip to memory does not show.
constexpr size_t mostOps = 256, mostReductions = 8;

static FailureOr<MatmulIteration> analyzeGroup(const FusionGroups &groups,
                                               ArrayRef<Operation *> ops) {
  SmallVector<Value> outputs = groups.getOutputs(ops);
  llvm::DenseSet<Operation *> members(ops.begin(), ops.end());
  return analyzeMatmul(
      outputs,
      [&](Operation *op) { return members.contains(op) || groups.isFree(op); },
      [&](Value value) { return groups.getStrides(value); },
      [&](unsigned i) { return groups.getStrides(outputs[i]); });
}

static FailureOr<MatrixAccess> analyzeOperand(const FusionGroups &groups,
                                              Value value) {
  return analyzeMatrix(
      value, [&](Operation *op) { return groups.isFree(op); },
      [&](Value inMemory) { return groups.getStrides(inMemory); });
}

bool fusec::readsOperands(const FusionGroups &groups,
                          const FusionGroup &group) {
  if (group.family == Family::Gemm)
    return succeeded(analyzeGroup(groups, group.ops));
  if (group.family == Family::Pairs) {
    auto x = analyzeOperand(groups, cast<PairProductOp>(group.ops[0]).getX());
    return succeeded(x) && x->isAlongK();
  }
  if (group.family == Family::Bag)
    return llvm::all_of(cast<BagOp>(group.ops[0]).getPlaced(),
                        [&](Value values) {
                          auto matrix = analyzeOperand(groups, values);
                          return succeeded(matrix) &&
                                 haveKnownPlaces(*matrix, getSizes(values)[1]);
                        });
  return true;
}

bool fusec::isPlainOfBag(Value value) {
  auto matrix = analyzePlainMatrix(value);
  return succeeded(matrix) && haveKnownPlaces(*matrix, getSizes(value)[1]);
}

/// Where many ops are computed in several places each.
constexpr unsigned mostPrintedOps = 1024;

/// Of all concats in a kernel, at each index that they are needed at.
constexpr size_t mostPiecesInAll = 2 * mostPieces;

static FusionVerdict accept(Family family, const ScalarProgram &program) {
  ScalarProgram::Places places = program.countPlaces(mostPlaces);
  if (places.most > mostPlaces)
    return refuse(fmt::format(
        "an op would be computed in more than {} places of one kernel",
        mostPlaces));
  if (places.all > mostPrintedOps)
    return refuse(fmt::format("the ops of a kernel are computed in at most {} "
                              "places, they would be in {}",
                              mostPrintedOps, places.all));
  if (program.countPieces() > mostPiecesInAll)
    return refuse(fmt::format("a kernel has at most {} pieces of concats",
                              mostPiecesInAll));
  return {family, ""};
}

FusionVerdict fusec::checkFusion(const FusionGroups &groups, unsigned producer,
                                 unsigned consumer) {
  const FusionGroup &from = groups.getGroups()[producer],
                    &to = groups.getGroups()[consumer];
  if (from.isAssembled || to.isAssembled)
    return refuse("the concat is assembled in place: its operands are stored "
                  "into slices");
  if (from.family == Family::Pairs || to.family == Family::Pairs)
    return refuse("a product of pairs reads rows from memory, and another "
                  "kernel adds its parts");
  if (to.family == Family::Bag)
    return refuse("bags read tables and indices from memory");
  // It joins as a whole, a norm with all of its reductions.
  if (from.family == Family::Bag)
    return refuse("what follows bags joins their kernel where a plan's target "
                  "has registers for it");
  if (from.family == Family::Gemm && to.family == Family::Gemm)
    return refuse("each kernel has one matmul root");
  // Of a plan's target it is known whether a tile holds the rows.
  if (from.family == Family::Gemm && to.family == Family::Reduce)
    return refuse("rows of a matmul are reduced in its epilogue where a plan's "
                  "target has tiles that hold them");
  if (from.family == Family::Reduce && to.family == Family::Gemm)
    return refuse("the matmul reads its operands from memory, and its epilogue "
                  "reduces none but its own rows");
  if (groups.hasOtherPath(producer, consumer))
    return refuse(
        "the consumer also depends on the producer through another kernel");

  SmallVector<Operation *> ops = groups.getUnion(producer, consumer);
  if (ops.size() > mostOps)
    return refuse(fmt::format("a kernel has at most {} ops", mostOps));
  if (llvm::count_if(ops, llvm::IsaPred<ReduceOp>) > int(mostReductions))
    return refuse(
        fmt::format("a kernel has at most {} reductions", mostReductions));
  SmallVector<Value> outputs = groups.getOutputs(ops);
  llvm::DenseSet<Operation *> members(ops.begin(), ops.end());
  auto isInside = [&](Operation *op) {
    return members.contains(op) || groups.isFree(op);
  };
  auto inputStrides = [&](Value value) { return groups.getStrides(value); };
  auto outputStrides = [&](unsigned i) {
    return groups.getStrides(outputs[i]);
  };
  for (Operation *op : ops)
    if (auto lookup = dyn_cast<LookupOp>(op))
      for (Value table : lookup.getTables())
        if (Operation *source = table.getDefiningOp();
            source && members.contains(source))
          return refuse("the lookup reads its tables from memory");

  if (from.family == Family::Gemm || to.family == Family::Gemm) {
    auto matmul = analyzeGroup(groups, ops);
    if (failed(matmul))
      return refuse(to.family == Family::Gemm
                        ? "the matmul reads its operands from memory, and its "
                          "epilogue only scalars, rows, columns and tiles"
                        : "not an epilogue: it is computed at other points "
                          "than the matmul's result, or reads more than "
                          "scalars, rows, columns and tiles");
    if (matmul->operands.size() > mostEpilogueOperands)
      return refuse(
          fmt::format("an epilogue reads at most {} values, it would read {}",
                      mostEpilogueOperands, matmul->operands.size()));
    return accept(Family::Gemm, matmul->epilogue);
  }
  if (from.family == Family::Scan || to.family == Family::Scan) {
    auto scan = analyzeScan(outputs, isInside, outputStrides);
    if (failed(scan))
      return refuse("the results are not at the points of one cumulative sum");
    return accept(Family::Scan, scan->program);
  }
  if (from.family == Family::Reduce || to.family == Family::Reduce) {
    auto rows = analyzeRows(outputs, isInside, outputStrides);
    if (failed(rows))
      return refuse("the reductions and results do not share one set of rows");
    return accept(Family::Reduce, rows->program);
  }
  auto points =
      analyzePointwise(outputs, isInside, inputStrides, outputStrides);
  if (failed(points))
    return refuse("the results have different numbers of elements");
  return accept(Family::Pointwise, points->program);
}
