// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of some 4096 elements, whichever shape wastes least at the edges, and
// the widest accesses on either side.

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/VectorAccesses.h"
#include "compiler/kernels/transpose/TransposeProblem.h"

using namespace mlir;
using namespace fusec;

namespace {
struct TileShape {
  int64_t along, across;
  bool takesMany = false; // of threads, and not fewer
};
} // namespace

/// The smallest last. Of 32 KB at most.
static constexpr TileShape shapes[] = {{64, 64},  {16, 256}, {256, 16},
                                       {32, 128}, {128, 32}, {32, 32}};

/// Of one operand of two bytes alone.
static constexpr int64_t largeTile = 128;
/// Of single elements of two bytes: twice as many of a thread are on their way,
/// and half as many tiles may all run together.
static constexpr TileShape wideTile = {16, 512, /*takesMany=*/true};

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
static void chooseWidth(TransposeAccesses &accesses, Expr size, unsigned dim) {
  auto fits = [&](int64_t width) {
    return isWhole(size, width) &&
           llvm::all_of(accesses.all, [&](TransposeAccess access) {
             int64_t bytes = getElementBytes(access.buffer.getElementType());
             return width * bytes <= 16 &&
                    isVectorAccess(access.offset, dim, width, bytes,
                                   getAlignmentIfGuarded(access.buffer));
           });
  };
  for (accesses.width = 16; accesses.width > 1 && !fits(accesses.width);)
    accesses.width /= 2;
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

/// Longer rows are as fast by tiles that have them in part.
static constexpr int64_t leastPartedRow = 128;

/// Of loads of tiles of whole rows, if there are such tiles.
static int64_t getWidthOfWholeRows(StepOp step,
                                   const TransposeIteration &iteration,
                                   const TransposeAccesses &loads,
                                   int64_t store) {
  int64_t bytes = 1;
  auto size = iteration.getSize(iteration.along).getConstant();
  if (!size || *size >= leastPartedRow)
    return 1;
  for (TransposeAccess access : loads.all) {
    bytes = std::max<int64_t>(bytes,
                              getElementBytes(access.buffer.getElementType()));
    if (getAlignmentIfGuarded(access.buffer) < guardedAlignment)
      return 1;
  }
  return llvm::any_of(shapes,
                      [&](TileShape shape) {
                        return areOfWholeRows(
                            step, iteration,
                            TransposeScheduleAttr::get(
                                step.getContext(), shape.along, shape.across,
                                16 / bytes, store, 32, transposeThreads));
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
  if (problem.loads.width == 1)
    problem.wholeRowLoad = getWidthOfWholeRows(
        step, problem.iteration, problem.loads, problem.stores.width);
  for (unsigned node = 0; node < points.program.size(); ++node) {
    if (points.program[node].kind != ScalarNode::Kind::Load ||
        llvm::is_contained(problem.iteration.loads, node))
      continue;
    BufferOp buffer = step.getInputBuffer(points.program[node].value);
    bool isVector = isVectorAccess(getLoadOffset(step, points.program, node),
                                   across, problem.stores.width,
                                   getElementBytes(buffer.getElementType()),
                                   getAlignmentIfGuarded(buffer));
    if (isVector)
      problem.others.push_back(buffer);
  }
  return problem;
}

/// Whether rows on both sides are so far apart that pieces of 256 bytes pay:
/// 8192 x 8192 halves took 71.6 us by tiles of 128 x 128, 73.8 by 64 x 64;
/// 64 times 512 x 1024, which are 2 KB apart, 38.4 and 37.8.
bool TransposeProblem::gainsByLargeTiles() const {
  constexpr int64_t farBytes = 8192;
  if (loads.all.size() != 1 || stores.all.size() != 1 ||
      readsBesideTiles(iteration))
    return false;
  auto isFar = [](TransposeAccess access, int64_t width, unsigned dim) {
    int64_t bytes = getElementBytes(access.buffer.getElementType());
    auto apart = getDimCoefficient(access.offset, dim);
    auto elements = apart ? apart->getConstant() : std::nullopt;
    return bytes == 2 && width * bytes == 16 && elements &&
           *elements * bytes >= farBytes;
  };
  return isWhole(iteration.getSize(iteration.along), largeTile) &&
         isWhole(iteration.getSize(iteration.across()), largeTile) &&
         isFar(loads.all[0], loads.width, iteration.across()) &&
         isFar(stores.all[0], stores.width, iteration.along);
}

/// Whether what is moved, and no more than that, is single elements of two
/// bytes.
bool TransposeProblem::areSingleHalves(bool isGuarded) const {
  auto areHalves = [&](ArrayRef<TransposeAccess> accesses, int64_t width) {
    if (accesses.size() != 1 || (width > 1 && isGuarded))
      return false;
    BufferOp buffer = accesses[0].buffer;
    return getElementBytes(buffer.getElementType()) == 2;
  };
  return areHalves(loads.all, std::max(loads.width, wholeRowLoad)) &&
         areHalves(stores.all, stores.width) && !readsBesideTiles(iteration);
}

SmallVector<Candidate> TransposeProblem::getCandidates(StepOp step,
                                                       const Target &target,
                                                       bool isGuarded,
                                                       int64_t bits) const {
  SmallVector<Candidate> candidates;
  SmallVector<TileShape> all = getShapes(iteration);
  if (isGuarded && gainsByLargeTiles())
    all.insert(all.begin(), {largeTile, largeTile});
  if (areSingleHalves(isGuarded))
    all.push_back(wideTile);
  for (TileShape shape : all) {
    int64_t load = isGuarded ? loads.width : 1,
            store = isGuarded ? stores.width : 1;
    auto whole =
        TransposeScheduleAttr::get(step.getContext(), shape.along, shape.across,
                                   wholeRowLoad, store, bits, transposeThreads);
    if (isGuarded && areOfWholeRows(step, iteration, whole))
      load = wholeRowLoad;
    auto add = [&](int64_t threads) {
      candidates.push_back(
          getCandidate(step, target,
                       TransposeScheduleAttr::get(step.getContext(),
                                                  shape.along, shape.across,
                                                  load, store, bits, threads)));
    };
    // Single elements are many: more threads have them on their way. Beside
    // tiles that are not square, what is held of them spills.
    if ((load == 1 || store == 1) &&
        shape.along * shape.across >= manyThreads * leastOfMany &&
        (shape.along == shape.across || !readsBesideTiles(iteration)))
      add(manyThreads);
    if (!shape.takesMany)
      add(transposeThreads);
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
  for (const TransposeAccesses *accesses : {&problem->loads, &problem->stores})
    if (accesses->width > 1 ||
        (accesses == &problem->loads && problem->wholeRowLoad > 1))
      for (TransposeAccess access : accesses->all)
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
