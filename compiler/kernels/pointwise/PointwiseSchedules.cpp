// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/StepBytes.h"
#include "compiler/kernels/pointwise/Pointwise.h"

using namespace mlir;
using namespace fusec;

/// What more accesses of a thread must gain: they are more to read.
static constexpr double leastGain = 1.01;

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
  int64_t most = width * getMostAccesses(width);
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

/// Of `vector` elements a thread at most.
static SmallVector<Candidate> getCandidates(StepOp step, const Target &target,
                                            const PointwisePieces &pieces,
                                            ArrayRef<int64_t> vectors,
                                            int64_t bits, int64_t dim) {
  MLIRContext *context = step.getContext();
  StepBytes bytes = getStepBytesAt(step, dim);
  SmallVector<Candidate> candidates;
  for (int64_t vector : vectors) {
    auto get = [&](int64_t limit) {
      return PointwiseScheduleAttr::get(context, pointwiseThreads, vector, bits,
                                        limit);
    };
    Expr blocks = Expr::constant(context, 0);
    PointwiseWork work{double(bytes.read + bytes.written)};
    for (Expr some : getBlocks(pieces, get(0)))
      blocks = blocks + some;
    for (const PointwisePiece &piece : pieces) {
      double points = getSampledValue(piece.count, dim);
      int64_t width = piece.getWidth(vector);
      work.elements += points;
      work.readsRows |= piece.countRows() > 0;
      // A single element takes half the instructions.
      work.vectors += points / std::max<int64_t>(2, width);
    }
    candidates.push_back(chooseGridLimit(
        target, pointwiseThreads, blocks, [&](int64_t limit) -> Candidate {
          return {get(limit), estimatePointwise(target, work, get(limit))};
        }));
  }
  return candidates;
}

SmallVector<VariantAttr>
fusec::choosePointwiseVariants(StepOp step, const Target &target, Products) {
  MLIRContext *context = step.getContext();
  FailureOr<PointwisePieces> pieces =
      analyzePointwisePieces(step, getAlignmentIfGuarded);
  if (failed(pieces))
    return {VariantAttr::get(context, {},
                             getPlainSchedule(Family::Pointwise, context))};
  SmallVector<BufferOp> aligned;
  for (const PointwisePiece &piece : *pieces)
    llvm::append_range(aligned, piece.accesses.aligned);
  auto variant = [&](ArrayRef<GuardAttr> guards, ArrayRef<int64_t> vectors,
                     int64_t bits) {
    SmallVector<Candidate> candidates =
        getCandidates(step, target, *pieces, vectors, bits, typicalDim);
    // The first one that no other beats by much.
    double enough = getFastest(candidates).estimate.microseconds * leastGain;
    Attribute first =
        llvm::find_if(candidates, [&](const Candidate &candidate) {
          return candidate.estimate.microseconds <= enough;
        })->schedule;
    auto smallest =
        candidates.begin() + (vectors[0] == 1 ? 0 : vectors.size() - 1);
    std::rotate(smallest, smallest + 1, candidates.end());
    return makeVariant(context, guards, candidates, typicalDim, first);
  };
  IndexWidth index = getIndexWidth(step);
  int64_t fastBits = index.neverNarrow ? 64 : 32,
          safeBits = index.alwaysNarrow ? 32 : 64;
  SmallVector<GuardAttr> guards = getAlignmentGuards(aligned);
  llvm::append_range(guards, index.guards);
  SmallVector<VariantAttr> variants = {
      variant(guards, listVectors(target, *pieces, typicalDim), fastBits)};
  if (!guards.empty())
    variants.push_back(variant({}, 1, safeBits));
  return variants;
}

Estimates fusec::estimatePointwiseStep(StepOp step, const Target &target,
                                       Products, ArrayRef<int64_t> dims) {
  Estimates estimates(dims.size());
  FailureOr<PointwisePieces> pieces =
      analyzePointwisePieces(step, getAlignmentIfGuarded);
  if (failed(pieces))
    return estimates;
  for (auto [dim, estimate] : llvm::zip_equal(dims, estimates))
    estimate =
        getFastest(getCandidates(step, target, *pieces,
                                 listVectors(target, *pieces, dim), 32, dim))
            .estimate;
  return estimates;
}
