// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region that reads concats, cut at their pieces' bounds: the points of each
// piece are a space of their own, in which only one piece is met. So are
// results of other sizes. Channels that lie side by side in memory are stores
// of one point.

#include "compiler/analysis/VectorAccesses.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

/// Iterations of one region, and stores of one of them: more would be long to
/// read, and no registers would hold what they load. Cuts within cuts.
static constexpr size_t mostPieces = 32, mostStores = 32, mostCuts = 16;
/// What memory writes at once, and pieces that each element may be asked for:
/// those before and behind a value.
static constexpr int64_t sectorBytes = 32;
static constexpr size_t mostAskedFor = 3;

namespace {
/// Ranges of a dim.
struct Cut {
  unsigned dim;
  SmallVector<Expr> starts, widths;
};
} // namespace

/// Where the conditions cut a dim; nothing where they are not about one dim, or
/// may leave some of it out.
static std::optional<Cut> getCut(ArrayRef<IndexCondition> conditions,
                                 const ScalarProgram &program) {
  MLIRContext *context = program.getContext();
  Expr value = conditions[0].value;
  ExprRanges ranges = program.getRanges();
  for (auto [dim, size] : llvm::enumerate(program.getSizes())) {
    Expr start = value - Expr::dim(context, dim);
    bool isPlain = !usesIndirect(start);
    for (unsigned other = 0; other < program.getSizes().size(); ++other)
      isPlain &= !usesDim(start, other);
    if (!isPlain)
      continue;
    Cut cut{static_cast<unsigned>(dim), {}, {}};
    for (const IndexCondition &condition : conditions) {
      bool isFirst = cut.starts.empty();
      cut.starts.push_back(isFirst ? Expr::constant(context, 0)
                                   : condition.lower - start);
    }
    for (size_t i = 0; i < cut.starts.size(); ++i) {
      Expr end = i + 1 < cut.starts.size() ? cut.starts[i + 1] : size;
      cut.widths.push_back(end - cut.starts[i]);
    }
    bool isWhole = ranges.isNonNegative(start - conditions.front().lower) &&
                   ranges.isLess(value, conditions.back().upper) &&
                   llvm::all_of(cut.widths, [&](Expr width) {
                     return ranges.isNonNegative(width);
                   });
    return isWhole ? std::optional(cut) : std::nullopt;
  }
  return std::nullopt;
}

/// Whether the pieces are worth an iteration each: of a few elements, threads
/// beside each other would store to places that are far apart, and a sector of
/// memory that two iterations write is read before it is written.
static bool paysApart(const Cut &cut, const PointSpace &space) {
  for (const StoredValue &stored : space.stored) {
    auto coefficient = getDimCoefficient(stored.offset, cut.dim);
    auto size = space.sizes[cut.dim].getConstant();
    if (!coefficient || !coefficient->isConstant(1) || !size)
      continue;
    int64_t bytes = getElementBytes(getElementType(stored.value));
    bool hasNarrow = llvm::any_of(cut.widths, [&](Expr width) {
      auto count = width.getConstant();
      return count && *count * bytes < sectorBytes;
    });
    if (*size * bytes < int64_t(sectorBytes * cut.widths.size()) ||
        (hasNarrow && cut.widths.size() <= mostAskedFor))
      return false;
  }
  return true;
}

/// The ranges of the cut; neighbours of one width are one space.
static std::vector<PointSpace> apply(const Cut &cut, const PointSpace &space) {
  std::vector<PointSpace> spaces;
  SmallVector<Expr> values =
      IndexMap::identity(space.sizes[0].getContext(), space.sizes.size())
          .results;
  for (size_t i = 0; i < cut.starts.size(); ++i) {
    if (!i || cut.widths[i] != cut.widths[i - 1] ||
        spaces.back().stored.size() + space.stored.size() > mostStores) {
      spaces.push_back({space.sizes, {}});
      spaces.back().sizes[cut.dim] = cut.widths[i];
    }
    ExprRanges ranges(spaces.back().sizes);
    values[cut.dim] =
        Expr::dim(space.sizes[0].getContext(), cut.dim) + cut.starts[i];
    auto move = [&](Expr expr) {
      return ranges.simplify(expr.replaceDims(values));
    };
    for (StoredValue stored : space.stored) {
      stored.offset = move(stored.offset);
      llvm::transform(stored.indices, stored.indices.begin(), move);
      spaces.back().stored.push_back(std::move(stored));
    }
  }
  return spaces;
}

/// Cuts the space until no piece is left to ask for, or none that pays.
static void cutSpace(PointSpace space, ScalarProgram::Inside isInside,
                     std::vector<PointwiseIteration> &pieces, bool cutsShort,
                     unsigned depth = 0) {
  PointwiseIteration iteration = refinePoints(space, isInside);
  const ScalarProgram &program = iteration.program;
  for (size_t node = 0; node < program.size() && depth < mostCuts; ++node) {
    if (program[node].kind != Kind::Piecewise)
      continue;
    std::optional<Cut> cut = getCut(program[node].conditions, program);
    if (!cut)
      continue;
    std::vector<PointSpace> spaces = apply(*cut, space);
    if (pieces.size() + spaces.size() > mostPieces ||
        (spaces.size() > 1 && !cutsShort && !paysApart(*cut, space)))
      continue;
    for (PointSpace &part : spaces)
      cutSpace(std::move(part), isInside, pieces, cutsShort, depth + 1);
    return;
  }
  pieces.push_back(std::move(iteration));
}

/// Of a region that only moves and computes: a dim of few places, which a load
/// finds side by side between those of the innermost dim.
static std::optional<Cut> getInterleaved(StepOp step,
                                         const ScalarProgram &program) {
  for (size_t n = 0; n < program.size(); ++n)
    if (!program[n].isPlain())
      return std::nullopt;
  MLIRContext *context = program.getContext();
  unsigned rank = program.getSizes().size();
  for (unsigned dim = 0; dim + 1 < rank; ++dim) {
    auto size = program.getSizes()[dim].getConstant();
    if (!size || *size < 2 || *size > mostInterleaved)
      continue;
    for (size_t n = 0; n < program.size(); ++n) {
      if (program[n].kind != Kind::Load)
        continue;
      Expr offset = getLoadOffset(step, program, n);
      auto beside = getDimCoefficient(offset, dim),
           along = getDimCoefficient(offset, rank - 1);
      if (!beside || !along || !beside->isConstant(1) ||
          !along->isConstant(*size))
        continue;
      Cut cut{dim, {}, {}};
      for (int64_t place = 0; place < *size; ++place) {
        cut.starts.push_back(Expr::constant(context, place));
        cut.widths.push_back(Expr::constant(context, 1));
      }
      return cut;
    }
  }
  return std::nullopt;
}

/// The same points, those of such a dim together, where lanes along the
/// innermost one then load and store vectors.
static std::optional<PointwiseIteration>
storeTogether(StepOp step, PointSpace space, ScalarProgram::Inside isInside,
              InputStrides inputStrides) {
  // The only piece may be one that a cut has left.
  PointwiseIteration iteration = refinePoints(space, isInside);
  std::optional<Cut> cut = getInterleaved(step, iteration.program);
  if (!cut || space.stored.size() * cut->starts.size() > mostStores)
    return std::nullopt;
  std::vector<PointSpace> spaces = apply(*cut, space);
  PointwiseIteration together = refinePoints(spaces[0], isInside);
  joinDims(together, inputStrides);
  unsigned rank = together.program.getSizes().size();
  bool isVector = analyzeVectorAccesses(step, together.program, together.stores,
                                        rank - 1, /*hasTail=*/rank == 1)
                      .width > 1;
  return isVector ? std::optional(std::move(together)) : std::nullopt;
}

/// Whether two pieces would count the faults of one op.
static bool countTwice(ArrayRef<PointwiseIteration> pieces) {
  llvm::DenseMap<Operation *, size_t> counts;
  for (auto [i, piece] : llvm::enumerate(pieces))
    for (size_t node = 0; node < piece.program.size(); ++node) {
      Kind kind = piece.program[node].kind;
      if ((kind == Kind::GatherRow || kind == Kind::Lookup) &&
          piece.program[node].policy == IndexPolicy::Flag &&
          counts.try_emplace(piece.program[node].op, i).first->second != i)
        return true;
    }
  return false;
}

/// The results of the step's region that have as many elements as one another,
/// in order.
static SmallVector<SmallVector<unsigned>> groupResults(ArrayRef<Value> outputs,
                                                       MLIRContext *context) {
  llvm::MapVector<const void *, SmallVector<unsigned>> groups;
  for (auto [i, output] : llvm::enumerate(outputs))
    groups[getElementCount(getSizes(output), context)
               .getAttr()
               .getAsOpaquePointer()]
        .push_back(i);
  return llvm::map_to_vector(groups, [](auto &group) { return group.second; });
}

FailureOr<std::vector<PointwiseIteration>>
fusec::analyzePieces(StepOp step, bool cutsShort) {
  Block &block = step.getBody().front();
  auto isInside = [&](Operation *op) { return op->getBlock() == &block; };
  SmallVector<Value> outputs =
      llvm::to_vector(block.getTerminator()->getOperands());
  auto getSpace = [&](ArrayRef<unsigned> group) {
    FailureOr<PointSpace> space = getPointSpace(
        llvm::map_to_vector(group, [&](unsigned i) { return outputs[i]; }),
        isInside, [&](unsigned i) {
          return step.getOutputBuffer(group[i]).getStrideExprs();
        });
    if (succeeded(space))
      for (StoredValue &stored : space->stored)
        stored.output = group[stored.output];
    return space;
  };
  // One space where there is one: also of a concat and its pieces.
  SmallVector<SmallVector<unsigned>> groups = {
      llvm::to_vector(llvm::seq<unsigned>(0, outputs.size()))};
  if (failed(getSpace(groups[0])))
    groups = groupResults(outputs, step.getContext());
  auto inputStrides = [&](Value v) {
    return step.getInputBuffer(v).getStrideExprs();
  };
  std::vector<PointwiseIteration> pieces;
  for (ArrayRef<unsigned> group : groups) {
    FailureOr<PointSpace> space = getSpace(group);
    if (failed(space))
      return failure();
    size_t before = pieces.size();
    cutSpace(*space, isInside, pieces, cutsShort);
    if (countTwice(ArrayRef(pieces).drop_front(before))) {
      pieces.erase(pieces.begin() + before, pieces.end());
      pieces.push_back(refinePoints(*space, isInside));
    }
    if (!cutsShort && pieces.size() == before + 1)
      if (auto together = storeTogether(step, *space, isInside, inputStrides))
        pieces.back() = std::move(*together);
  }
  if (groups.empty() || (groups.size() > 1 && countTwice(pieces)))
    return failure();
  for (PointwiseIteration &piece : pieces)
    joinDims(piece, inputStrides);
  return pieces;
}
