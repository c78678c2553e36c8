// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many elements along one dim of an iteration its accesses can take
// together.

#ifndef FUSEC_COMPILER_ANALYSIS_VECTORACCESSES_H
#define FUSEC_COMPILER_ANALYSIS_VECTORACCESSES_H

#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/Iteration.h"

namespace fusec {

/// Whether offsets with this expression can be accessed by vectors of
/// `width` elements of `bytes` bytes: consecutive lanes adjacent, each vector
/// aligned.
bool isVectorAccess(Expr offset, unsigned dim, int64_t width, int64_t bytes,
                    unsigned alignment);

/// Whether all lanes of a vector of `width`, the first at a multiple of it, are
/// at the same offset: one element is loaded for them.
bool isSameForVector(Expr offset, unsigned dim, int64_t width);

/// Of quotients of the dim alone: after so many places of the dim, at multiples
/// of that, the value may change, and nowhere else; 0 where it never does.
/// Nothing of other expressions.
std::optional<int64_t> getPlacesOfChange(Expr expr, unsigned dim);
/// So many as both, where those of one are multiples of the other's.
std::optional<int64_t> joinPlacesOfChange(std::optional<int64_t> a,
                                          std::optional<int64_t> b);

/// Whether a condition holds for all lanes of a vector where it does for the
/// first: it is not about the dim, or its bounds lie between such vectors. They
/// begin anywhere where the width is 0.
bool isOfVectors(const IndexCondition &condition, unsigned dim, int64_t width);

/// Lanes that are some elements apart, or backwards: lane l takes element
/// `first + l * stride` of those from `base` on, which lie in one vector.
struct LaneAccess {
  int64_t stride, first;
  Expr base;
};
/// Of an access to a buffer of `extent` elements, none of which it leaves;
/// nothing where lanes are adjacent or far apart. `fillsGaps`: others take what
/// is between the lanes, so that several words of memory are worth it.
std::optional<LaneAccess> findLaneAccess(Expr offset, unsigned dim,
                                         int64_t width, int64_t bytes,
                                         unsigned alignment, Expr extent,
                                         const ExprRanges &ranges,
                                         bool fillsGaps = false);
/// Of an access that the plan has found: `width` lanes of it, also adjacent
/// ones, are `elements` together. Nothing where lanes are on their own.
std::optional<LaneAccess> getLaneAccess(Expr offset, unsigned dim,
                                        int64_t width, int64_t elements);

/// Where the node loads from, in elements of its buffer.
Expr getLoadOffset(StepOp step, const ScalarProgram &program, unsigned node);

/// Whether lanes along the dim are some elements apart, and other loads of the
/// program take all of those between them.
bool isAmongOthers(StepOp step, const ScalarProgram &program, unsigned load,
                   unsigned dim);

/// Elements from the first to the last one, and one more.
Expr getExtent(llvm::ArrayRef<Expr> sizes, llvm::ArrayRef<Expr> strides);

/// Stores of one buffer that take turns, `stride` of them: together they are
/// vectors from `base` on.
struct TakenTurns {
  Expr base;
  llvm::SmallVector<unsigned> stores; // by the lane's first element
};
llvm::SmallVector<TakenTurns> findTurns(llvm::ArrayRef<RegionStore> stores,
                                        unsigned dim);

/// So many elements apart are lanes at most that are loaded by several words.
constexpr int64_t mostInterleaved = 4;

using Alignments = llvm::function_ref<unsigned(BufferOp)>; // bytes

/// Of rows that begin anywhere, along memory: whether `width` elements that a
/// node loads are aligned where those that are stored are.
bool isBesideStores(StepOp step, const PointwiseIteration &iteration,
                    unsigned load, int64_t width, Alignments alignments);

struct VectorAccesses {
  int64_t width = 1;                        // elements
  llvm::SmallVector<BufferOp> aligned = {}; // these must be, to 16 bytes
  llvm::SmallVector<unsigned> shifted = {}; // loads that begin anywhere
};

/// The widest vectors of at most 16 bytes that every store and most loads along
/// `dim` can take. `hasTail`: the kernel computes what is left of the dim by
/// single elements; else the dim must be a multiple of the width.
/// `loadsSmallByLanes`: loads of buffers that many points share do not count,
/// since a cache has them. `shifts`: loads of neighbours may begin anywhere.
VectorAccesses
analyzeVectorAccesses(StepOp step, const ScalarProgram &program,
                      llvm::ArrayRef<RegionStore> stores, unsigned dim,
                      bool hasTail,
                      Alignments alignments = getAlignmentIfGuarded,
                      bool loadsSmallByLanes = false, bool shifts = false);

} // namespace fusec

#endif // FUSEC_COMPILER_ANALYSIS_VECTORACCESSES_H
