// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of some 4096 elements, whichever shape wastes least at the edges, and
// the widest accesses on either side.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/StepBytes.h"
#include "compiler/analysis/TransposeIteration.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/kernels/transpose/Transpose.h"
#include <cmath>

using namespace mlir;
using namespace fusec;

namespace {
struct TileShape {
  int64_t along, across;
};

/// An access to a buffer of the step, of elements that lie along a dim.
struct Access {
  BufferOp buffer;
  Expr offset;
};

/// How many elements the accesses along a dim take at a time.
struct Accesses {
  SmallVector<Access> all;
  int64_t width = 1;
};

struct TransposeProblem {
  TransposeIteration iteration;
  Accesses loads, stores;
  // Of rows that begin anywhere.
  bool loadsByRows = false, storesByRows = false;
  SmallVector<BufferOp> others; // that are read as results are stored

  SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                       int64_t load, int64_t store,
                                       int64_t bits) const;
};
} // namespace

/// The smallest last. Of 32 KB at most.
static constexpr TileShape shapes[] = {{64, 64},  {16, 256}, {256, 16},
                                       {32, 128}, {128, 32}, {32, 32}};

/// The widest accesses of at most 16 bytes that all of them can be.
static void chooseWidth(Accesses &accesses, Expr size, unsigned dim) {
  auto fits = [&](int64_t width) {
    return isWhole(size, width) &&
           llvm::all_of(accesses.all, [&](Access access) {
             int64_t bytes = getElementBytes(access.buffer.getElementType());
             return width * bytes <= 16 &&
                    isVectorAccess(access.offset, dim, width, bytes,
                                   getAlignmentIfGuarded(access.buffer));
           });
  };
  for (accesses.width = 16; accesses.width > 1 && !fits(accesses.width);)
    accesses.width /= 2;
}

/// Of stores whose rows begin anywhere, at the same elements: of vectors from
/// where they are aligned, few enough for the elements before and behind them
/// to be few.
static int64_t getWidthOfStoredRows(const TransposeIteration &iteration,
                                    const Accesses &stores) {
  int64_t bytes = 1;
  for (Access access : stores.all) {
    bytes = std::max<int64_t>(bytes,
                              getElementBytes(access.buffer.getElementType()));
    if (access.offset != stores.all[0].offset ||
        getAlignmentIfGuarded(access.buffer) < guardedAlignment)
      return 1;
  }
  auto size = iteration.getSize(iteration.across()).getConstant();
  return size && *size >= 32 && bytes > 1 ? 16 / bytes : 1;
}

/// Of shorter rows, those of 39 elements of a tile of 64 are loaded slower than
/// one by one.
static constexpr int64_t leastLoadedRow = 128;

/// Of loads whose rows begin anywhere: of whole vectors of memory, long enough
/// for those that two rows share to be few.
static int64_t getWidthOfLoadedRows(const TransposeIteration &iteration,
                                    const Accesses &loads, unsigned dim) {
  int64_t bytes = 1;
  for (Access access : loads.all) {
    auto along = getDimCoefficient(access.offset, dim);
    bytes = std::max<int64_t>(bytes,
                              getElementBytes(access.buffer.getElementType()));
    if (!along || !along->isConstant(1) ||
        getAlignmentIfGuarded(access.buffer) < guardedAlignment)
      return 1;
  }
  auto size = iteration.getSize(dim).getConstant();
  return size && *size >= leastLoadedRow && bytes > 1 ? 16 / bytes : 1;
}

static FailureOr<TransposeProblem> analyzeTransposeProblem(StepOp step) {
  FailureOr<TransposeIteration> iteration = analyzeTranspose(step);
  if (failed(iteration))
    return failure();
  TransposeProblem problem{std::move(*iteration), {}, {}, false, false, {}};
  const PointwiseIteration &points = problem.iteration.points;
  for (unsigned node : problem.iteration.loads)
    problem.loads.all.push_back(
        {step.getInputBuffer(points.program[node].value),
         getLoadOffset(step, points.program, node)});
  for (const RegionStore &store : points.stores)
    problem.stores.all.push_back(
        {step.getOutputBuffer(store.output), store.offset});
  unsigned along = problem.iteration.along, across = problem.iteration.across();
  chooseWidth(problem.loads, problem.iteration.getSize(along), along);
  chooseWidth(problem.stores, problem.iteration.getSize(across), across);
  if (problem.loads.width == 1) {
    problem.loads.width =
        getWidthOfLoadedRows(problem.iteration, problem.loads, along);
    problem.loadsByRows = problem.loads.width > 1;
  }
  if (problem.stores.width == 1) {
    problem.stores.width =
        getWidthOfStoredRows(problem.iteration, problem.stores);
    problem.storesByRows = problem.stores.width > 1;
  }
  for (unsigned node = 0; node < points.program.size(); ++node) {
    if (points.program[node].kind != ScalarNode::Kind::Load ||
        llvm::is_contained(problem.iteration.loads, node))
      continue;
    BufferOp buffer = step.getInputBuffer(points.program[node].value);
    if (isVectorAccess(getLoadOffset(step, points.program, node), across,
                       problem.stores.width,
                       getElementBytes(buffer.getElementType()),
                       getAlignmentIfGuarded(buffer)))
      problem.others.push_back(buffer);
  }
  return problem;
}

/// Points of whole tiles for each that there is.
static double getWaste(const TransposeIteration &iteration, TileShape shape) {
  auto part = [&](unsigned dim, int64_t extent) {
    double size = getSampledValue(iteration.getSize(dim), typicalDim);
    return size ? std::ceil(size / extent) * extent / size : 1;
  };
  return part(iteration.along, shape.along) *
         part(iteration.across(), shape.across);
}

/// How much more is moved where rows of a tile begin anywhere: the cache has
/// sectors of 32 bytes.
static double getSplitSectors(const Accesses &accesses, int64_t width,
                              int64_t extent) {
  double most = 0;
  for (Access access : accesses.all) {
    double bytes = getElementBytes(access.buffer.getElementType());
    if (width * bytes < 16)
      most = std::max(most, (32 - width * bytes) / (extent * bytes));
  }
  return most;
}

SmallVector<Candidate>
TransposeProblem::getCandidates(StepOp step, const Target &target, int64_t load,
                                int64_t store, int64_t bits) const {
  MLIRContext *context = step.getContext();
  StepBytes bytes = getStepBytesAt(step, typicalDim);
  auto widest = [](const Accesses &accesses, int64_t width) {
    int64_t most = 1;
    for (Access access : accesses.all)
      most = std::max<int64_t>(
          most, width * getElementBytes(access.buffer.getElementType()));
    return double(most);
  };
  double narrowest = std::min(widest(loads, load), widest(stores, store));
  SmallVector<Candidate> candidates;
  for (TileShape shape : shapes) {
    Overlap time(target);
    // A tile is loaded, then stored.
    time.exposeClocks(2 * target.rates.memoryLatency);
    double tiles = getSampledValue(iteration.getBatch(), typicalDim);
    for (auto [dim, extent] : {std::pair(iteration.along, shape.along),
                               std::pair(iteration.across(), shape.across)})
      tiles *= std::ceil(
          double(getSampledValue(iteration.getSize(dim), typicalDim)) / extent);
    time.add(TimeBound::Launch, tiles * target.rates.place);
    // Threads without an element leave fewer loads on their way. Of rows that
    // begin anywhere neighbours of a tile are loaded with it; a cache has them.
    double split = getSplitSectors(loads, load, shape.along) +
                   getSplitSectors(stores, store, shape.across);
    if (loadsByRows)
      split += double(load - 1) / shape.along / 2;
    if (storesByRows)
      split += double(store - 1) / shape.across / 2;
    time.add(TimeBound::Memory, (bytes.read + bytes.written) /
                                    getStreamingRate(target, narrowest) *
                                    std::sqrt(getWaste(iteration, shape)) *
                                    (1 + split / 2));
    candidates.push_back(
        {TransposeScheduleAttr::get(context, shape.along, shape.across, load,
                                    store, bits),
         time.get()});
  }
  return candidates;
}

SmallVector<VariantAttr>
fusec::chooseTransposeVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  FailureOr<TransposeProblem> problem = analyzeTransposeProblem(step);
  if (failed(problem))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Transpose, context))};
  auto variant = [&](ArrayRef<GuardAttr> guards, int64_t load, int64_t store,
                     int64_t bits) {
    return makeVariant(context, guards,
                       problem->getCandidates(step, target, load, store, bits));
  };
  IndexWidth width = getIndexWidth(step);
  int64_t fastBits = width.neverNarrow ? 64 : 32,
          safeBits = width.alwaysNarrow ? 32 : 64;
  SmallVector<BufferOp> aligned;
  for (const Accesses *accesses : {&problem->loads, &problem->stores})
    if (accesses->width > 1)
      for (Access access : accesses->all)
        aligned.push_back(access.buffer);
  if (problem->stores.width > 1)
    llvm::append_range(aligned, problem->others);
  SmallVector<GuardAttr> guards = getAlignmentGuards(aligned);
  llvm::append_range(guards, width.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, problem->loads.width, problem->stores.width, fastBits)};
  if (!guards.empty())
    variants.push_back(variant({}, 1, 1, safeBits));
  return variants;
}
