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
  // Of tiles of whole rows, else one; a guarded variant's.
  int64_t wholeRowLoad = 1;
  SmallVector<BufferOp> others = {}; // that are read as results are stored

  SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                       bool isGuarded, int64_t bits) const;
  Candidate getCandidate(StepOp step, const Target &target,
                         TransposeScheduleAttr schedule) const;
};
} // namespace

/// The smallest last. Of 32 KB at most.
static constexpr TileShape shapes[] = {{64, 64},  {16, 256}, {256, 16},
                                       {32, 128}, {128, 32}, {32, 32}};

/// Those, and behind a row that is no multiple of theirs tiles of whole rows:
/// 48 x 64 rows of 80 fill five eighths of tiles of 128.
static SmallVector<TileShape> getShapes(const TransposeIteration &iteration) {
  constexpr int64_t least = 32, most = 4096, whole = 8;
  SmallVector<TileShape> all(std::begin(shapes), std::end(shapes));
  auto size = iteration.getSize(iteration.along).getConstant();
  if (size && *size > least && *size * least <= most && *size % whole == 0 &&
      llvm::none_of(shapes, [&](TileShape shape) {
        return shape.along == *size && shape.across == least;
      }))
    all.insert(all.begin(), {*size, least});
  return all;
}

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

/// Shorter rows, those of 39 elements of a tile of 64, are loaded slower by
/// their vectors than one by one.
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

bool fusec::readsBesideTiles(const TransposeIteration &iteration) {
  const ScalarProgram &program = iteration.points.program;
  for (unsigned node = 0; node < program.size(); ++node)
    if (program[node].kind == ScalarNode::Kind::Load &&
        !llvm::is_contained(iteration.loads, node) &&
        program.varies(node, iteration.across()) &&
        program.varies(node, iteration.along))
      return true;
  return false;
}

bool fusec::areOfWholeRows(StepOp step, const TransposeIteration &iteration,
                           TransposeScheduleAttr schedule) {
  return llvm::all_of(iteration.loads, [&](unsigned node) {
    return isOfWholeRows(step, iteration, node, schedule);
  });
}

bool fusec::isOfWholeRows(StepOp step, const TransposeIteration &iteration,
                          unsigned node, TransposeScheduleAttr schedule) {
  const ScalarProgram &program = iteration.points.program;
  auto size = iteration.getSize(iteration.along).getConstant();
  Expr offset = getLoadOffset(step, program, node);
  auto along = getDimCoefficient(offset, iteration.along),
       across = getDimCoefficient(offset, iteration.across());
  int64_t width = schedule.getLoad();
  // Rows of whole vectors are loaded by these anyway.
  if (width == 1 || !size || *size % width == 0 ||
      *size > schedule.getAlong() || !along || !along->isConstant(1) ||
      !across || !across->isConstant(*size))
    return false;
  // Where every tile begins, and how many elements the last one has.
  SmallVector<Expr> first =
      IndexMap::identity(step.getContext(), program.getSizes().size()).results;
  first[iteration.along] = Expr::constant(step.getContext(), 0);
  first[iteration.across()] =
      first[iteration.across()] *
      Expr::constant(step.getContext(), schedule.getAcross());
  auto isWholeVectors = [&](Expr elements) {
    return program.getRanges()
        .simplify(elements.mod(Expr::constant(step.getContext(), width)))
        .isConstant(0);
  };
  return isWholeVectors(offset.replaceDims(first)) &&
         isWholeVectors(iteration.getSize(iteration.across()) * *across);
}

/// Of loads of tiles of whole rows, if there are such tiles.
static int64_t getWidthOfWholeRows(StepOp step,
                                   const TransposeIteration &iteration,
                                   const Accesses &loads, int64_t store) {
  int64_t bytes = 1;
  auto size = iteration.getSize(iteration.along).getConstant();
  if (!size || *size >= leastLoadedRow)
    return 1;
  for (Access access : loads.all) {
    bytes = std::max<int64_t>(bytes,
                              getElementBytes(access.buffer.getElementType()));
    if (getAlignmentIfGuarded(access.buffer) < guardedAlignment)
      return 1;
  }
  return llvm::any_of(shapes,
                      [&](TileShape shape) {
                        return areOfWholeRows(step, iteration,
                                              TransposeScheduleAttr::get(
                                                  step.getContext(),
                                                  shape.along, shape.across,
                                                  16 / bytes, store, 32));
                      })
             ? 16 / bytes
             : 1;
}

static FailureOr<TransposeProblem> analyzeTransposeProblem(StepOp step) {
  FailureOr<TransposeIteration> iteration = analyzeTranspose(step);
  if (failed(iteration))
    return failure();
  TransposeProblem problem{std::move(*iteration), {}, {}};
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
  // Beside rows that are stored so, tiles have those before them, too.
  if (problem.loads.width == 1 && !problem.storesByRows)
    problem.wholeRowLoad = getWidthOfWholeRows(
        step, problem.iteration, problem.loads, problem.stores.width);
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

/// Elements of all tiles but the smallest, at least.
static constexpr int64_t fullTile = 1536;
/// What stored rows that begin anywhere lose: vectors by what finds their place
/// in each row of the tile, single elements by being many.
static double getStoredRowsLoss(const TransposeCosts &costs, int64_t store) {
  return store > 1
             ? costs.storedVectorsLoss + costs.storedElementLoss * double(store)
             : costs.storedSinglesLoss;
}

/// Points of whole tiles for each that there is.
static double getWaste(Expr size, int64_t extent) {
  double points = getSampledValue(size, typicalDim);
  return points ? std::ceil(points / extent) * extent / points : 1;
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

Candidate TransposeProblem::getCandidate(StepOp step, const Target &target,
                                         TransposeScheduleAttr schedule) const {
  const TransposeCosts &costs = target.transpose;
  StepBytes bytes = getStepBytesAt(step, typicalDim);
  auto widest = [](const Accesses &accesses, int64_t width) {
    int64_t most = 1;
    for (Access access : accesses.all)
      most = std::max<int64_t>(
          most, width * getElementBytes(access.buffer.getElementType()));
    return double(most);
  };
  int64_t load = schedule.getLoad(), store = schedule.getStore();
  Expr along = iteration.getSize(iteration.along),
       across = iteration.getSize(iteration.across());
  // Single elements are stored where vectors of rows can be.
  double narrowest = storesByRows
                         ? widest(loads, load)
                         : std::min(widest(loads, load), widest(stores, store));
  Overlap time(target);
  // A tile is loaded, then stored: of rows that begin anywhere one vector of a
  // thread after another, and so many together that wait for what is in no
  // tile.
  int64_t vectors = llvm::divideCeil(schedule.getAlong() * schedule.getAcross(),
                                     store * transposeThreads),
          rounds = storesByRows && store > 1 ? vectors
                   : readsBesideTiles(iteration)
                       ? llvm::divideCeil(vectors, mostAtOnce)
                       : 1;
  time.exposeClocks((1 + rounds) * target.rates.memoryLatency);
  double tiles = getSampledValue(iteration.getBatch(), typicalDim);
  for (auto [size, extent] : {std::pair(along, schedule.getAlong()),
                              std::pair(across, schedule.getAcross())})
    tiles *= std::ceil(double(getSampledValue(size, typicalDim)) / extent);
  time.add(TimeBound::Launch, tiles * target.rates.place);
  // Of rows that begin anywhere neighbours of a tile are loaded with it; a
  // cache has them.
  double split = getSplitSectors(loads, load, schedule.getAlong()) +
                 getSplitSectors(stores, store, schedule.getAcross());
  if (loadsByRows && load > 1)
    split += double(load - 1) / schedule.getAlong() *
             (storesByRows && store == 1 ? costs.neighbourSinglesPart
                                         : costs.neighbourPart);
  if (storesByRows && store > 1)
    split += double(store - 1) / schedule.getAcross() * costs.neighbourPart;
  // Threads without an element leave fewer loads on their way, most where a
  // warp has them.
  double waste =
      std::pow(getWaste(across, schedule.getAcross()), costs.acrossWaste) *
      (load != wholeRowLoad || load == 1
           ? std::pow(getWaste(along, schedule.getAlong()), costs.alongWaste)
           : 1);
  if (load > 1 && schedule.getAlong() * schedule.getAcross() < fullTile)
    waste *= costs.smallTileLoss;
  if (storesByRows)
    waste *= getStoredRowsLoss(costs, store);
  if (loadsByRows && load > 1) {
    double before = storesByRows && store > 1 ? double(store) - 1 : 0,
           turns = double(schedule.getAlong() / load + 1) *
                   (double(schedule.getAcross()) + before) / transposeThreads;
    waste *= std::pow(std::ceil(turns) / turns, costs.alongWaste);
    // In one wave all tiles are loaded, then all are stored.
    double waves = tiles * transposeThreads /
                   (double(target.threads) * target.multiprocessors);
    waste *= 1 + costs.lastPart / std::max(1.0, waves);
  }
  time.add(TimeBound::Memory, (bytes.read + bytes.written) /
                                  getStreamingRate(target, narrowest) * waste *
                                  (1 + split / 2));
  return {schedule, time.get()};
}

SmallVector<Candidate> TransposeProblem::getCandidates(StepOp step,
                                                       const Target &target,
                                                       bool isGuarded,
                                                       int64_t bits) const {
  SmallVector<Candidate> candidates;
  SmallVector<TileShape> all = getShapes(iteration);
  // With what its rows have more, each thread loads as much as any other, and
  // blocks are small enough for some to load while others store.
  if (loadsByRows && isGuarded)
    all.insert(all.begin(), {64 - loads.width, 32});
  for (TileShape shape : all) {
    int64_t load = isGuarded ? loads.width : 1,
            store = isGuarded ? stores.width : 1;
    auto whole =
        TransposeScheduleAttr::get(step.getContext(), shape.along, shape.across,
                                   wholeRowLoad, store, bits);
    if (isGuarded && areOfWholeRows(step, iteration, whole))
      load = wholeRowLoad;
    auto add = [&](int64_t elements) {
      candidates.push_back(getCandidate(
          step, target,
          TransposeScheduleAttr::get(step.getContext(), shape.along,
                                     shape.across, load, elements, bits)));
    };
    if (isGuarded && loadsByRows && storesByRows &&
        !readsBesideTiles(iteration))
      add(1);
    add(store);
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
  auto variant = [&](ArrayRef<GuardAttr> guards, bool isGuarded, int64_t bits) {
    return makeVariant(context, guards,
                       problem->getCandidates(step, target, isGuarded, bits));
  };
  IndexWidth width = getIndexWidth(step);
  int64_t fastBits = width.neverNarrow ? 64 : 32,
          safeBits = width.alwaysNarrow ? 32 : 64;
  SmallVector<BufferOp> aligned;
  for (const Accesses *accesses : {&problem->loads, &problem->stores})
    if (accesses->width > 1 ||
        (accesses == &problem->loads && problem->wholeRowLoad > 1))
      for (Access access : accesses->all)
        aligned.push_back(access.buffer);
  if (problem->stores.width > 1)
    llvm::append_range(aligned, problem->others);
  SmallVector<GuardAttr> guards = getAlignmentGuards(aligned);
  llvm::append_range(guards, width.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, /*isGuarded=*/true, fastBits)};
  if (!guards.empty())
    variants.push_back(variant({}, /*isGuarded=*/false, safeBits));
  return variants;
}
