// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iterations of a region and how wide the accesses of each can be: by the
// innermost dim, or by the linear index where most accesses are dense and the
// dim is no multiple of a vector.

#include "compiler/analysis/ShiftedLoads.h"
#include "compiler/kernels/pointwise/Pointwise.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

PointwiseIteration fusec::flatten(const PointwiseIteration &iteration) {
  PointwiseIteration flat = iteration;
  MLIRContext *context = flat.program.getContext();
  SmallVector<Expr> sizes = llvm::to_vector(flat.program.getSizes());
  SmallVector<Expr> values = delinearize(Expr::dim(context, 0), sizes);
  flat.program.substitute(getElementCount(sizes, context), values);
  for (RegionStore &store : flat.stores)
    store.offset =
        flat.program.getRanges().simplify(store.offset.replaceDims(values));
  return flat;
}

/// Whether every lane may divide for itself, and ask for its piece: what guards
/// reads stays as it is.
static bool canFlatten(const ScalarProgram &program) {
  for (size_t n = 0; n < program.size(); ++n)
    if (!program[n].isPlain() && program[n].kind != Kind::Piecewise &&
        program[n].kind != Kind::Index)
      return false;
  return program.getSizes().size() > 1;
}

static bool hasIndices(const ScalarProgram &program) {
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Index)
      return true;
  return false;
}

/// Whether lanes that divide for their indices have nothing else on their own:
/// a mask by lengths took 3% longer so.
static bool areLoadsDense(StepOp step, const ScalarProgram &flat) {
  for (size_t n = 0; n < flat.size(); ++n)
    if (flat[n].kind == Kind::Load && flat.varies(n, 0)) {
      auto along = getDimCoefficient(getLoadOffset(step, flat, n), 0);
      if (!along || !along->isConstant(1))
        return false;
    }
  return true;
}

/// Whether what lanes do not load together changes between two of a vector at
/// most: it is found for the first and the last one, and nothing is divided by
/// the others.
static bool changeOnce(StepOp step, const ScalarProgram &flat, int64_t width) {
  for (size_t n = 0; n < flat.size(); ++n) {
    if (!flat.varies(n, 0) || flat[n].kind == Kind::Compute)
      continue;
    bool isLoad = flat[n].kind == Kind::Load;
    if (!isLoad && flat[n].kind != Kind::Index)
      return false;
    Expr place = isLoad ? getLoadOffset(step, flat, n) : flat[n].expr;
    auto along = getDimCoefficient(place, 0);
    auto places = getPlacesOfChange(place, 0);
    if (!(isLoad && along && along->isConstant(1)) &&
        !(places && *places >= width))
      return false;
  }
  return true;
}

/// Whether something is loaded for a row, something for a column, and something
/// for each point.
static bool loadsOfEachKind(StepOp step, const ScalarProgram &flat,
                            int64_t width) {
  bool ofRows = false, ofColumns = false, ofPoints = false;
  for (size_t n = 0; n < flat.size(); ++n) {
    if (flat[n].kind != Kind::Load)
      continue;
    Expr offset = getLoadOffset(step, flat, n);
    auto along = getDimCoefficient(offset, 0);
    auto places = getPlacesOfChange(offset, 0);
    bool isOfRows = places && *places >= width,
         isOfPoints = along && along->isConstant(1);
    ofRows |= isOfRows;
    ofPoints |= isOfPoints;
    ofColumns |= !isOfRows && !isOfPoints;
  }
  return ofRows && ofColumns && ofPoints;
}

/// The widest vectors that are worth it, where all stores of a row are aligned
/// at the same columns and loads are of neighbours.
static int64_t getRowWidth(StepOp step, const PointwiseIteration &iteration,
                           Alignments alignments) {
  const ScalarProgram &program = iteration.program;
  ArrayRef<Expr> sizes = program.getSizes();
  for (size_t n = 0; n < program.size(); ++n)
    if (!program[n].isPlain())
      return 1;
  if (sizes.size() < 2)
    return 1;
  unsigned dim = sizes.size() - 1;
  auto size = sizes[dim].getConstant();
  auto lies = [&](Expr offset, bool mayTurn) {
    auto coefficient = getDimCoefficient(offset, dim);
    return coefficient && (coefficient->isConstant(1) ||
                           (mayTurn && coefficient->isConstant(-1)));
  };
  int64_t bytes = 1;
  for (const RegionStore &store : iteration.stores) {
    BufferOp buffer = step.getOutputBuffer(store.output);
    bytes = std::max<int64_t>(bytes, getElementBytes(buffer.getElementType()));
    if (store.offset != iteration.stores[0].offset ||
        alignments(buffer) < guardedAlignment || !lies(store.offset, false))
      return 1;
  }
  for (size_t n = 0; n < program.size(); ++n) {
    if (program[n].kind == Kind::Load && program.varies(n, dim) &&
        !lies(getLoadOffset(step, program, n), true))
      return 1;
  }
  int64_t width = 16 / bytes;
  while (width > 1 && (!size || *size < 8 * width))
    width /= 2;
  return width > 2 ? width : 1;
}

/// Whether the elements before and behind a row's vectors are many.
static bool isOfShortRows(const PointwiseIteration &iteration, int64_t width,
                          int64_t leastVectors = 32) {
  // Images of 7 x 7 took 11 to 16% longer by parts, rows of 333 2% less.
  auto columns = iteration.program.getSizes().back().getConstant();
  return columns && *columns < leastVectors * width;
}

bool PointwisePiece::dividesEnds() const {
  return !isOfShortRows(iteration, accesses.width);
}

Expr PointwisePiece::getParts() const {
  Expr width = Expr::constant(count.getContext(), accesses.width);
  return iteration.program.getSizes().back().floorDiv(width) +
         (dividesEnds() ? 2 * (accesses.width - 1) : 2);
}

SmallVector<ArrayRef<RegionStore>> PointwisePiece::getStoreGroups() const {
  ArrayRef<RegionStore> stores = iteration.stores;
  if (stores.size() <= mostStoresTogether)
    return {stores};
  SmallVector<ArrayRef<RegionStore>> groups;
  while (!stores.empty()) {
    groups.push_back(stores.take_front(mostStoresTogether / 2));
    stores = stores.drop_front(groups.back().size());
  }
  return groups;
}

/// The points, walked so.
static PointwisePiece walkPoints(StepOp step, PointwiseIteration iteration,
                                 Walk walk, VectorAccesses accesses) {
  if (walk == Walk::Dimension && accesses.width > 1)
    iteration = followLoad(step, std::move(iteration));
  MLIRContext *context = iteration.program.getContext();
  Expr count = getElementCount(iteration.program.getSizes(), context);
  PointwisePiece piece{std::move(iteration), count, std::move(accesses), walk};
  if (walk == Walk::Linear)
    piece.iteration = flatten(piece.iteration);
  if (walk == Walk::Memory)
    piece.count = piece.countOuter() * piece.getParts() * piece.accesses.width;
  return piece;
}

static PointwisePiece getPiece(StepOp step, PointwiseIteration iteration,
                               Alignments alignments) {
  auto analyze = [&](const PointwiseIteration &points,
                     bool loadsSmallByLanes = false) -> VectorAccesses {
    size_t rank = points.program.getSizes().size();
    if (!rank)
      return {};
    // A tail of the linear index is none of the innermost dim.
    return analyzeVectorAccesses(step, points.program, points.stores, rank - 1,
                                 /*hasTail=*/rank == 1, alignments,
                                 loadsSmallByLanes, /*shifts=*/true);
  };
  VectorAccesses accesses = analyze(iteration);
  if (accesses.width > 1)
    return walkPoints(step, std::move(iteration), Walk::Dimension,
                      std::move(accesses));
  bool divides = hasIndices(iteration.program);
  if (canFlatten(iteration.program)) {
    PointwiseIteration flat = flatten(iteration);
    accesses = analyze(flat);
    if (accesses.width > 1 && (!divides || areLoadsDense(step, flat.program)))
      return walkPoints(step, std::move(iteration), Walk::Linear,
                        std::move(accesses));
    if (divides)
      accesses = analyze(flat, /*loadsSmallByLanes=*/true);
    if (divides && accesses.width > 1 &&
        changeOnce(step, flat.program, accesses.width))
      return walkPoints(step, std::move(iteration), Walk::Linear,
                        std::move(accesses));
  }
  int64_t width = getRowWidth(step, iteration, alignments);
  if (!divides && canFlatten(iteration.program) &&
      isOfShortRows(iteration, width)) {
    accesses = analyze(flatten(iteration), /*loadsSmallByLanes=*/true);
    if (accesses.width > width)
      return walkPoints(step, std::move(iteration), Walk::Linear,
                        std::move(accesses));
  }
  // Of rows of 333 with a factor each a third of the threads would have single
  // elements: 9.9 us, as one row 9.3.
  constexpr int64_t fewVectors = 64;
  if (width > 1 && !divides && canFlatten(iteration.program) &&
      isOfShortRows(iteration, width, fewVectors)) {
    PointwiseIteration flat = flatten(iteration);
    accesses = analyze(flat, /*loadsSmallByLanes=*/true);
    if (accesses.width == width && loadsOfEachKind(step, flat.program, width))
      return walkPoints(step, std::move(iteration), Walk::Linear,
                        std::move(accesses));
  }
  if (width == 1)
    return walkPoints(step, std::move(iteration), Walk::Dimension, {});
  accesses = {width, {}};
  for (const RegionStore &store : iteration.stores)
    accesses.aligned.push_back(step.getOutputBuffer(store.output));
  SmallVector<unsigned> shiftable =
      findShiftableLoads(step, iteration.program, iteration.stores,
                         iteration.program.getSizes().size() - 1, width,
                         /*beginAnywhere=*/true, alignments);
  for (unsigned read : getReads(iteration.program)) {
    bool isBeside = isBesideStores(step, iteration, read, width, alignments),
         isShifted = !isBeside && llvm::is_contained(shiftable, read);
    if (isBeside || isShifted)
      accesses.aligned.push_back(
          step.getInputBuffer(iteration.program[read].value));
    if (isShifted)
      accesses.shifted.push_back(read);
  }
  return walkPoints(step, std::move(iteration), Walk::Memory,
                    std::move(accesses));
}

static void markOnly(PointwisePieces &pieces) {
  for (PointwisePiece &piece : pieces)
    piece.isOnly = pieces.size() == 1;
}

FailureOr<PointwisePieces>
fusec::analyzePointwisePieces(StepOp step, Alignments alignments) {
  FailureOr<std::vector<PointwiseIteration>> iterations = analyzePieces(step);
  if (failed(iterations))
    return failure();
  PointwisePieces pieces;
  for (PointwiseIteration &iteration : *iterations)
    pieces.push_back(getPiece(step, std::move(iteration), alignments));
  markOnly(pieces);
  return pieces;
}

/// Whether points can be walked so: along memory only rows that are stored at
/// the same places.
static bool canWalk(const PointwiseIteration &iteration, Walk walk) {
  if (walk == Walk::Dimension)
    return true;
  if (!canFlatten(iteration.program))
    return false;
  return walk == Walk::Linear ||
         llvm::all_of(iteration.stores, [&](const RegionStore &store) {
           return store.offset == iteration.stores[0].offset;
         });
}

FailureOr<PointwisePieces> fusec::takePointwisePieces(StepOp step,
                                                      VariantAttr variant) {
  FailureOr<std::vector<PointwiseIteration>> iterations = analyzePieces(step);
  if (failed(iterations))
    return step.emitOpError("is not a pointwise region");
  if (failed(checkLoops(step, variant, iterations->size())))
    return failure();
  auto schedule = cast<PointwiseScheduleAttr>(variant.getSchedule());
  PointwisePieces pieces;
  for (auto [i, iteration] : llvm::enumerate(*iterations)) {
    AccessesAttr accesses = variant.getLaunch().getLoopAccesses(i);
    if (!canWalk(iteration, accesses.getWalk()))
      return step.emitOpError("has a launch that walks loop ")
             << i << " along its "
             << (accesses.getWalk() == Walk::Linear ? "linear index" : "memory")
             << ", which its points do not allow";
    SmallVector<unsigned> shifted, reads = getReads(iteration.program);
    for (int64_t read : accesses.getShiftedReads())
      if (read < int64_t(reads.size()))
        shifted.push_back(reads[read]);
    pieces.push_back(walkPoints(step, std::move(iteration), accesses.getWalk(),
                                {accesses.getWidth(), {}, shifted}));
    PointwisePiece &piece = pieces.back();
    SmallVector<unsigned> held;
    if (schedule.getHolds()) {
      piece.row = findPickedRow(step, piece.iteration);
      if (!piece.row || iterations->size() > 1 || piece.isByRows())
        return step.emitOpError("has a schedule that holds rows, but no points "
                                "that pick elements of one");
      held.push_back(piece.row->load);
    }
    if (!takeAccesses(step, variant, i,
                      {piece.iteration.program, piece.getDim(),
                       piece.getWidth(schedule.getVector()),
                       piece.getStoreGroups(), held, /*shifts=*/true}))
      return failure();
  }
  markOnly(pieces);
  return pieces;
}

SmallVector<Expr> fusec::getBlocks(const PointwisePieces &pieces,
                                   PointwiseScheduleAttr schedule) {
  MLIRContext *context = pieces[0].count.getContext();
  if (int64_t held = schedule.getHolds())
    return {limitBlocks(
        pieces[0].countOuter().ceilDiv(Expr::constant(context, held)),
        schedule.getBlocks())};
  Expr all = Expr::constant(context, 0);
  for (const PointwisePiece &piece : pieces)
    all = all + piece.count;
  SmallVector<Expr> blocks;
  for (const PointwisePiece &piece : pieces) {
    int64_t most = schedule.getBlocks();
    // Of a limited grid, pieces have the shares that are theirs.
    if (auto count = piece.count.getConstant(), total = all.getConstant();
        most && count && total && *total)
      most = std::max<int64_t>(1, double(most) * *count / *total);
    int64_t vector = schedule.getVector(),
            own = piece.getWidth(vector) * piece.getAtOnce(vector);
    Expr perBlock = Expr::constant(context, schedule.getThreads() * own);
    blocks.push_back(limitBlocks(piece.count.ceilDiv(perBlock), most));
  }
  return blocks;
}
