// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/NodeWork.h"
#include "compiler/kernels/pointwise/Pointwise.h"

using namespace mlir;
using namespace fusec;

/// Rows that indices name, of so many bytes, are pieces that several blocks
/// copy: of 8 KB, blocks of 4 KB took 69.3 us, of 8 KB 71.8, of 2 KB 82.6.
static constexpr int64_t longRowBytes = 8192, mostAccessesOfLongRows = 2;

static bool readsLongRows(const PointwisePiece &piece) {
  const ScalarProgram &program = piece.iteration.program;
  if (program.getSizes().empty() || piece.countRows() == 0)
    return false;
  auto columns = program.getSizes().back().getConstant();
  if (!columns)
    return false;
  return llvm::any_of(piece.iteration.stores, [&](const RegionStore &store) {
    return *columns * getElementBytes(program[store.node].type) >= longRowBytes;
  });
}

/// How many elements a thread takes: as many as the widest accesses, then more
/// of them as long as the device is full, and fewer. Of rows that indices name,
/// more as long as threads would take several turns: what those wait for one
/// after another is read together.
static SmallVector<int64_t>
listVectors(const Target &target, const PointwisePieces &pieces, int64_t dim) {
  int64_t width = 1;
  double elements = 0;
  for (const PointwisePiece &piece : pieces) {
    width = std::max(width, piece.accesses.width);
    elements += getSampledValue(piece.count, dim);
  }
  auto isTogether = [&](int64_t vector) {
    return llvm::all_of(pieces,
                        [&](const PointwisePiece &piece) {
                          return piece.getAtOnce(vector) > 1;
                        }) &&
           llvm::any_of(pieces, [&](const PointwisePiece &piece) {
             return piece.getAtOnce(vector) > piece.getAtOnce(vector / 2);
           });
  };
  SmallVector<int64_t> vectors = {width};
  int64_t most = width * (llvm::any_of(pieces, readsLongRows) && width > 1
                              ? mostAccessesOfLongRows
                              : getMostAccesses(width));
  double places = double(target.threads) * target.multiprocessors;
  bool readsRows = llvm::any_of(pieces, [](const PointwisePiece &piece) {
    return piece.countRows() > 0;
  });
  for (int64_t more = 2 * width;
       more <= most && elements / (readsRows ? more / 2 : more) >= places &&
       isTogether(more);
       more *= 2)
    vectors.push_back(more);
  for (int64_t fewer = width / 2; fewer; fewer /= 2)
    vectors.push_back(fewer);
  return vectors;
}

static PickedWork getPickedWork(StepOp step, const PointwisePiece &piece,
                                const PickedRow &row, int64_t dim) {
  const ScalarProgram &program = piece.iteration.program;
  bool hasOwnIndices = llvm::any_of(getReads(program), [&](unsigned read) {
    return read != row.load && program.variesEverywhere(read);
  });
  double bytes = getElementBytes(program[row.load].type);
  return {
      double(getSampledValue(piece.countOuter(), dim)),
      row.size * bytes,
      bytes,
      double(getSampledValue(program.getSizes().back(), dim)),
      double(getFillWidth(step, piece.iteration, row, getAlignmentIfGuarded)),
      hasOwnIndices};
}

/// Without what is picked.
static PointwiseWork withoutPicks(PointwiseWork work,
                                  const PickedWork &picked) {
  // The elements that are used count as read, or the tensor if it has fewer.
  work.bytes -= std::min(picked.rows * picked.rowBytes,
                         picked.rows * picked.picks * picked.elementBytes);
  return work;
}

/// Blocks that hold rows have so many threads at least.
static constexpr int64_t leastHoldingThreads = 64;

/// Threads that hold a row: each loads as much of it as is on its way together.
static int64_t getHoldingThreads(StepOp step, const PointwisePiece &piece,
                                 const PickedRow &row) {
  int64_t width =
              getFillWidth(step, piece.iteration, row, getAlignmentIfGuarded),
          loads = llvm::divideCeil(row.size, width),
          threads = llvm::divideCeil(loads, getFillsTogether(width));
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(threads), 32,
                             2 * pointwiseThreads);
}

/// By which part memory takes longer where an element waits for a function of a
/// function in float, or for a long one of halves, and other elements of a
/// thread do not hide it. Halves of several operands hide one another's. Rows
/// wait for the indices that name them.
static double getWaits(StepOp step, const Target &target,
                       const PointwisePiece &piece, int64_t vector) {
  const ScalarProgram &program = piece.iteration.program;
  std::vector<unsigned> depths(program.size());
  unsigned most = 0, loads = 0;
  bool isLong = false;
  for (size_t n = 0; n < program.size(); ++n) {
    for (unsigned operand : program[n].operands)
      depths[n] = std::max(depths[n], depths[operand]);
    const ScalarNode &node = program[n];
    loads += node.kind == ScalarNode::Kind::Load && program.variesEverywhere(n);
    if (node.kind != ScalarNode::Kind::Compute)
      continue;
    isLong |= isa<ErfOp, GeluOp, GeluTanhOp, SinOp, CosOp>(node.op);
    if (!node.type.isF32())
      continue;
    if (isa<SoftplusOp>(node.op))
      depths[n] += 2;
    else if (isa<ExpOp, LogOp, TanhOp, ErfOp, PowOp>(node.op))
      ++depths[n];
    most = std::max(most, depths[n]);
  }
  bool isWide =
      llvm::any_of(piece.iteration.stores, [&](const RegionStore &store) {
        return getElementBytes(
                   step.getOutputBuffer(store.output).getElementType()) >= 4;
      });
  double atOnce = double(piece.getAtOnce(vector));
  if (piece.countRows())
    return target.pointwise.rowWaitsPart / atOnce;
  // Two accesses of floats hide as much as four: the logarithm of exponentials
  // of 8192 x 8192 took 130.8 us and 135.4, by single ones 161.
  if (isWide)
    return most > 1 ? target.pointwise.waitsPart / std::min(2.0, atOnce) : 0;
  return isLong && loads == 1 ? target.pointwise.narrowWaitsPart / atOnce : 0;
}

/// Of a point, for functions: what else is computed of few points takes less
/// than choosing by it would.
static double countFunctionInstructions(const Target &target,
                                        const ScalarProgram &program) {
  double all = 0;
  for (size_t n = 0; n < program.size(); ++n)
    if (double some = getInstructions(target.ops, program[n]);
        some > 1 && program[n].kind == ScalarNode::Kind::Compute)
      all += some;
  return all;
}

/// Of the pieces' points, `vector` elements a thread at most.
static PointwiseWork getWork(StepOp step, const Target &target,
                             const PointwisePieces &pieces, int64_t vector,
                             int64_t dim) {
  StepBytes bytes = getStepBytesAt(step, dim);
  PointwiseWork work{double(bytes.read + bytes.written)};
  work.besideRows = getBytesBesideRows(step, target, dim);
  for (const PointwisePiece &piece : pieces) {
    double points = getSampledValue(piece.count, dim);
    work.elements += points;
    work.readsRows |= piece.countRows() > 0;
    work.waits = std::max(work.waits, getWaits(step, target, piece, vector));
    work.functions =
        std::max(work.functions,
                 countFunctionInstructions(target, piece.iteration.program));
    // A single element takes half the instructions; those that shift a vector
    // load it twice.
    int64_t width = piece.getWidth(vector);
    double loads = width == piece.accesses.width
                       ? double(piece.accesses.shifted.size())
                       : 0;
    work.vectors += (1 + loads) * points / std::max<int64_t>(2, width);
  }
  return work;
}

/// Bytes that parts of rows cost beside their own where each is stored where it
/// belongs: what of their first and last sectors is not theirs is read and
/// written again, and single elements take as long as vectors.
static double getPartlyBytes(StepOp step, const PartsCosts &costs,
                             const AssembledRows &rows, int64_t dim) {
  constexpr int64_t sector = 32, half = 16;
  int64_t bytes = rows.getElementBytes(step);
  double partly = 0;
  size_t reading = 0;
  for (const AssembledLoop &loop : rows.loops) {
    if (!getReads(loop.iteration.program).empty())
      reading += loop.places.size();
    for (int64_t place : loop.places) {
      int64_t all = (rows.pitch | place | loop.columns) * bytes;
      partly += all % sector == 0 ? costs.sectorBytes
                : all % half == 0 ? costs.halfBytes
                                  : costs.anywhereBytes;
    }
  }
  // What a pad adds asks for nothing: whole rows are stored as they come.
  if (reading < 2)
    return 0;
  return partly * getSampledValue(rows.rows, dim);
}

/// Of blocks that put rows together.
static void addAssembled(StepOp step, const Target &target,
                         const AssembledRows &rows, PointwiseWork work,
                         int64_t bits, int64_t dim,
                         SmallVectorImpl<Candidate> &candidates) {
  MLIRContext *context = step.getContext();
  int64_t bytes = rows.getElementBytes(step);
  for (int64_t threads : {64, 128})
    for (int64_t together : {8, 16, 32, 64}) {
      auto get = [&](int64_t limit) {
        return PointwiseScheduleAttr::get(context, threads, 16 / bytes, bits,
                                          limit, /*holds=*/0, together);
      };
      if (!rows.fits(step, get(0)))
        continue;
      AssembledWork assembled = {double(together * rows.pitch * bytes),
                                 double(rows.countSteps(together, threads))};
      Expr blocks = rows.rows.ceilDiv(Expr::constant(context, together));
      work.blocks = getSampledValue(blocks, dim);
      candidates.push_back(chooseGridLimit(
          target, threads, blocks, [&](int64_t limit) -> Candidate {
            auto schedule = get(limit);
            return {schedule,
                    estimateAssembled(target, work, assembled, schedule)};
          }));
    }
}

/// By the elements of a thread, and with rows held or put together where that
/// is allowed.
static SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                            const PointwisePieces &pieces,
                                            ArrayRef<int64_t> vectors,
                                            int64_t bits, int64_t dim,
                                            bool mayHold) {
  MLIRContext *context = step.getContext();
  std::optional<AssembledRows> rows;
  if (mayHold)
    rows = findAssembledRows(step, getAlignmentIfGuarded);
  std::optional<PickedRow> row;
  if (pieces.size() == 1)
    row = findPickedRow(step, pieces[0].iteration);
  PickedWork picked;
  if (row)
    picked = getPickedWork(step, pieces[0], *row, dim);
  SmallVector<Candidate> candidates;
  auto add = [&](int64_t threads, int64_t vector, int64_t holds = 0) {
    PointwiseWork work = getWork(step, target, pieces, vector, dim);
    if (row)
      work = withoutPicks(work, picked);
    if (rows)
      work.partly = getPartlyBytes(step, target.parts, *rows, dim);
    auto get = [&](int64_t limit) {
      return PointwiseScheduleAttr::get(context, threads, vector, bits, limit,
                                        holds, /*rows=*/0);
    };
    Expr blocks = Expr::constant(context, 0);
    for (Expr some : getBlocks(pieces, get(0)))
      blocks = blocks + some;
    work.blocks = getSampledValue(blocks, dim);
    candidates.push_back(chooseGridLimit(
        target, threads, blocks, [&](int64_t limit) -> Candidate {
          auto schedule = get(limit);
          return {schedule, row ? estimatePicks(target, work, picked, schedule)
                                : estimatePointwise(target, work, schedule)};
        }));
  };
  for (int64_t vector : vectors)
    add(pointwiseThreads, vector);
  // Rows that begin anywhere have blocks of their own, of which a device may
  // place fewer than memory serves.
  double enough = target.pointwise.widerBlocksPart *
                  getFastest(candidates).estimate.microseconds;
  if (pieces.size() == 1)
    for (int64_t vector : vectors) {
      add(2 * pointwiseThreads, vector);
      if (candidates.back().estimate.microseconds > enough)
        candidates.pop_back();
    }
  if (row && mayHold)
    for (int64_t own = getHoldingThreads(step, pieces[0], *row), together = 1;
         own * together <= 2 * pointwiseThreads &&
         picked.rowBytes * double(together) <= double(mostHeldRowBytes);
         together *= 2)
      if (own * together >= leastHoldingThreads)
        add(own * together, vectors[0], together);
  if (rows)
    addAssembled(step, target, *rows,
                 getWork(step, target, pieces, vectors[0], dim), bits, dim,
                 candidates);
  return candidates;
}

/// Vectors of rows that begin anywhere are shifted into place, and a thread has
/// the more to do: where the device has a thread for each element at once, it
/// takes single ones (105,000 of gates 3.9 us, by vectors of 8 5.1).
static bool takesSingles(const Target &target, const PointwisePieces &pieces) {
  if (pieces.size() > 1 || !pieces[0].isByRows())
    return false;
  std::optional<int64_t> points =
      getElementCount(pieces[0].iteration.program.getSizes(),
                      pieces[0].count.getContext())
          .getConstant();
  return points &&
         double(*points) <= double(target.threads) * target.multiprocessors;
}

static FailureOr<PointwisePieces> choosePieces(StepOp step,
                                               const Target &target) {
  FailureOr<PointwisePieces> pieces =
      analyzePointwisePieces(step, getAlignmentIfGuarded);
  if (failed(pieces) || !takesSingles(target, *pieces))
    return pieces;
  return analyzePointwisePieces(step, [](BufferOp) { return 1u; });
}

SmallVector<VariantAttr>
fusec::choosePointwiseVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  FailureOr<PointwisePieces> pieces = choosePieces(step, target);
  if (failed(pieces))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Pointwise, context))};
  SmallVector<BufferOp> aligned;
  for (const PointwisePiece &piece : *pieces) {
    llvm::append_range(aligned, piece.accesses.aligned);
    auto row = findPickedRow(step, piece.iteration);
    if (row &&
        getFillWidth(step, piece.iteration, *row, getAlignmentIfGuarded) > 1)
      aligned.push_back(
          step.getInputBuffer(piece.iteration.program[row->load].value));
  }
  if (auto rows = findAssembledRows(step, getAlignmentIfGuarded))
    for (BufferOp buffer : rows->aligned)
      if (!llvm::is_contained(aligned, buffer))
        aligned.push_back(buffer);
  auto variant = [&](ArrayRef<GuardAttr> guards, ArrayRef<int64_t> vectors,
                     int64_t bits, bool mayHold) {
    SmallVector<Candidate> candidates = getCandidates(
        step, target, *pieces, vectors, bits, typicalDim, mayHold);
    // More accesses of a thread are more to read.
    Attribute first = getFirstFast(candidates);
    // Of a single element a thread.
    auto smallest = llvm::find_if(candidates, [&](const Candidate &candidate) {
      auto schedule = cast<PointwiseScheduleAttr>(candidate.schedule);
      return schedule.getVector() == 1 && !schedule.getHolds() &&
             !schedule.getRows();
    });
    std::rotate(smallest, smallest + 1, candidates.end());
    return makeVariant(context, guards, candidates, typicalDim, first);
  };
  IndexWidth index = getIndexWidth(step);
  int64_t fastBits = index.neverNarrow ? 64 : 32,
          safeBits = index.alwaysNarrow ? 32 : 64;
  SmallVector<GuardAttr> guards = getAlignmentGuards(aligned);
  llvm::append_range(guards, index.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, listVectors(target, *pieces, typicalDim), fastBits,
              /*mayHold=*/true)};
  if (!guards.empty())
    variants.push_back(variant({}, 1, safeBits, /*mayHold=*/false));
  return variants;
}

Estimates fusec::estimatePointwiseStep(StepOp step, const Target &target,
                                       Products, ArrayRef<int64_t> dims) {
  Estimates estimates(dims.size());
  FailureOr<PointwisePieces> pieces = choosePieces(step, target);
  if (failed(pieces))
    return estimates;
  for (auto [dim, estimate] : llvm::zip_equal(dims, estimates))
    estimate =
        getFastest(getCandidates(step, target, *pieces,
                                 listVectors(target, *pieces, dim), 32, dim,
                                 /*mayHold=*/true))
            .estimate;
  return estimates;
}
