// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/VectorAccesses.h"
#include "compiler/analysis/Alignment.h"
#include "compiler/analysis/ShiftedLoads.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

static std::optional<Expr> getLaneCoefficient(Expr offset, unsigned dim,
                                              int64_t width);

/// Whether the term is the same for `width` neighbours along the dim, of which
/// the first is at a multiple of that: so are quotients by multiples of it.
static bool isSameForLanes(Expr term, unsigned dim, int64_t width) {
  if (!usesDim(term, dim))
    return true;
  if (term.getKind() == ExprKind::Mul)
    return llvm::all_of(term.getOperands(), [&](Expr factor) {
      return isSameForLanes(factor, dim, width);
    });
  if (width == 1 || term.getKind() != ExprKind::FloorDiv)
    return false;
  Expr divided = term.getOperands()[0];
  std::optional<int64_t> by = term.getOperands()[1].getConstant();
  auto coefficient = getLaneCoefficient(divided, dim, width);
  if (!by || *by <= 0 || *by % width || !coefficient ||
      !coefficient->isConstant(1))
    return false;
  return llvm::all_of(getTerms(divided), [&](Expr part) {
    return !isSameForLanes(part, dim, width) ||
           splitCoefficient(part).first % width == 0;
  });
}

/// Of the dim, in what differs between the lanes.
static std::optional<Expr> getLaneCoefficient(Expr offset, unsigned dim,
                                              int64_t width) {
  Expr differing = Expr::constant(offset.getContext(), 0);
  for (Expr term : getTerms(offset))
    if (!isSameForLanes(term, dim, width))
      differing = differing + term;
  return getDimCoefficient(differing, dim);
}

bool fusec::isSameForVector(Expr offset, unsigned dim, int64_t width) {
  return llvm::all_of(getTerms(offset), [&](Expr term) {
    return isSameForLanes(term, dim, width);
  });
}

std::optional<int64_t> fusec::joinPlacesOfChange(std::optional<int64_t> a,
                                                 std::optional<int64_t> b) {
  if (!a || !b || *a == 0)
    return a ? b : a;
  if (*b == 0 || *b % *a == 0)
    return a;
  return *a % *b == 0 ? b : std::nullopt;
}

std::optional<int64_t> fusec::getPlacesOfChange(Expr expr, unsigned dim) {
  if (!usesDim(expr, dim))
    return 0;
  ArrayRef<Expr> operands = expr.getOperands();
  if (expr.getKind() == ExprKind::FloorDiv &&
      operands[0] == Expr::dim(expr.getContext(), dim)) {
    auto by = operands[1].getConstant();
    return by && *by > 0 ? by : std::nullopt;
  }
  if (operands.empty() || usesIndirect(expr))
    return std::nullopt;
  std::optional<int64_t> all = 0;
  for (Expr operand : operands)
    all = joinPlacesOfChange(all, getPlacesOfChange(operand, dim));
  return all;
}

bool fusec::isVectorAccess(Expr offset, unsigned dim, int64_t width,
                           int64_t bytes, unsigned alignment) {
  int64_t needed = std::min<int64_t>(16, width * bytes);
  if (alignment % needed != 0)
    return false;
  auto coefficient = getLaneCoefficient(offset, dim, width);
  if (!coefficient || !coefficient->isConstant(1))
    return false;
  // The vectorised dim's base is a multiple of the width.
  for (Expr term : getTerms(offset))
    if (isSameForLanes(term, dim, width) &&
        splitCoefficient(term).first % needed * bytes % needed != 0)
      return false;
  return true;
}

bool fusec::isOfVectors(const IndexCondition &condition, unsigned dim,
                        int64_t width) {
  Expr value = condition.value;
  if (usesIndirect(value)) // rows are rare here, and may vary
    return false;
  auto isBetween = [&](Expr bound) {
    return isVectorAccess(value - bound, dim, width, /*bytes=*/1, width);
  };
  return !usesDim(value, dim) ||
         (width && isBetween(condition.lower) && isBetween(condition.upper));
}

Expr fusec::getExtent(ArrayRef<Expr> sizes, ArrayRef<Expr> strides) {
  Expr extent = Expr::constant(sizes[0].getContext(), 1);
  for (auto [size, stride] : llvm::zip_equal(sizes, strides))
    extent = extent + (size - 1) * stride;
  return extent;
}

static std::optional<int64_t> getStride(Expr offset, unsigned dim) {
  auto coefficient = getDimCoefficient(offset, dim);
  return coefficient ? coefficient->getConstant() : std::nullopt;
}

/// Of elements that are taken in turns: the first one's place among them.
static int64_t getTurn(Expr offset, int64_t stride) {
  return (getConstantTerm(offset) % stride + stride) % stride;
}

/// Lanes that are `stride` elements apart.
static LaneAccess takeLanes(Expr offset, int64_t stride, int64_t width) {
  int64_t first = stride == -1 ? width - 1 : getTurn(offset, stride);
  return {stride, first, offset - first};
}

std::optional<LaneAccess> fusec::findLaneAccess(Expr offset, unsigned dim,
                                                int64_t width, int64_t bytes,
                                                unsigned alignment, Expr extent,
                                                const ExprRanges &ranges,
                                                bool fillsGaps) {
  auto stride = getStride(offset, dim);
  if (!stride || *stride == 0 || *stride == 1)
    return std::nullopt;
  if (*stride != -1) {
    bool isOfOneWord = *stride > 1 && llvm::isPowerOf2_64(*stride) &&
                       *stride * width * bytes <= 16,
         isOfWholeWords = fillsGaps && *stride > 1 &&
                          *stride <= mostInterleaved && width * bytes == 16;
    if (!isOfOneWord && !isOfWholeWords)
      return std::nullopt;
  }
  LaneAccess access = takeLanes(offset, *stride, width);
  if (*stride > 1 && (!ranges.isNonNegative(access.base) ||
                      !ranges.isLess(access.base + (*stride - 1), extent)))
    return std::nullopt;
  // As wide as the lanes are adjacent, the dim's base being a multiple.
  int64_t elements = std::abs(*stride) * width;
  Expr flat = access.base + Expr::dim(offset.getContext(), dim) * (1 - *stride);
  if (!isVectorAccess(flat, dim, elements, bytes, alignment))
    return std::nullopt;
  return access;
}

std::optional<LaneAccess> fusec::getLaneAccess(Expr offset, unsigned dim,
                                               int64_t width,
                                               int64_t elements) {
  if (auto coefficient = getLaneCoefficient(offset, dim, width);
      width > 1 && elements == width && coefficient &&
      coefficient->isConstant(1))
    return LaneAccess{1, 0, offset};
  auto stride = getStride(offset, dim);
  if (!stride || *stride == 0 || *stride < -1 ||
      std::abs(*stride) * width != elements || (width == 1 && *stride != 1))
    return std::nullopt;
  if (*stride == 1)
    return LaneAccess{1, 0, offset};
  return takeLanes(offset, *stride, width);
}

Expr fusec::getLoadOffset(StepOp step, const ScalarProgram &program,
                          unsigned node) {
  SmallVector<Expr> strides =
      step.getInputBuffer(program[node].value).getStrideExprs();
  return program.getRanges().simplify(
      getOffset(program[node].indices, strides, step.getContext()));
}

bool fusec::isBesideStores(StepOp step, const PointwiseIteration &iteration,
                           unsigned load, int64_t width,
                           Alignments alignments) {
  const ScalarProgram &program = iteration.program;
  unsigned dim = program.getSizes().size() - 1;
  if (program[load].kind != Kind::Load || !program.varies(load, dim))
    return false;
  Expr apart = program.getRanges().simplify(getLoadOffset(step, program, load) -
                                            iteration.stores[0].offset);
  return isVectorAccess(apart + Expr::dim(program.getContext(), dim), dim,
                        width, getElementBytes(program[load].type),
                        alignments(step.getInputBuffer(program[load].value)));
}

bool fusec::isAmongOthers(StepOp step, const ScalarProgram &program,
                          unsigned load, unsigned dim) {
  Expr offset = getLoadOffset(step, program, load);
  auto stride = getStride(offset, dim);
  if (!stride || *stride < 2 || *stride > mostInterleaved)
    return false;
  Expr base = offset - getTurn(offset, *stride);
  llvm::SmallBitVector taken(*stride);
  for (size_t n = 0; n < program.size(); ++n) {
    if (program[n].kind != Kind::Load ||
        program[n].value != program[load].value)
      continue;
    Expr turn = getLoadOffset(step, program, n) - base;
    if (auto place = turn.getConstant();
        place && *place >= 0 && *place < *stride)
      taken.set(*place);
  }
  return taken.all();
}

SmallVector<TakenTurns> fusec::findTurns(ArrayRef<RegionStore> stores,
                                         unsigned dim) {
  SmallVector<TakenTurns> found;
  for (size_t i = 0; i < stores.size(); ++i) {
    auto stride = getStride(stores[i].offset, dim);
    if (!stride || *stride < 2 || !llvm::isPowerOf2_64(*stride) ||
        getTurn(stores[i].offset, *stride))
      continue;
    TakenTurns turns{stores[i].offset, {}};
    for (int64_t turn = 0; turn < *stride; ++turn)
      for (size_t j = 0; j < stores.size(); ++j)
        if (stores[j].output == stores[i].output &&
            stores[j].offset == turns.base + turn) {
          turns.stores.push_back(j);
          break;
        }
    if (int64_t(turns.stores.size()) == *stride)
      found.push_back(std::move(turns));
  }
  return found;
}

namespace {
struct Access {
  BufferOp buffer;
  Expr offset;
  int64_t bytes; // of an element
  bool isStore, takesTurns = false;
  std::optional<unsigned> load = std::nullopt; // its node
  bool fillsGaps = false; // what lies between its elements is loaded, too
};
} // namespace

/// Whether something is stored at every point, and not once for many.
static bool isOfEveryPoint(Expr offset, ArrayRef<Expr> sizes) {
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!size.isConstant(1) && !usesDim(offset, dim))
      return false;
  return true;
}

/// Loads and stores that vary along the dim; stores that take turns are one.
static SmallVector<Access> collectAccesses(StepOp step,
                                           const ScalarProgram &program,
                                           ArrayRef<RegionStore> stores,
                                           unsigned dim) {
  SmallVector<Access> accesses;
  llvm::SmallDenseSet<unsigned> inTurns;
  for (const TakenTurns &turns : findTurns(stores, dim)) {
    BufferOp buffer = step.getOutputBuffer(stores[turns.stores[0]].output);
    inTurns.insert(turns.stores.begin(), turns.stores.end());
    accesses.push_back({buffer, turns.base,
                        getElementBytes(buffer.getElementType()), true, true});
  }
  for (auto [i, store] : llvm::enumerate(stores)) {
    if (inTurns.contains(i))
      continue;
    BufferOp buffer = step.getOutputBuffer(store.output);
    accesses.push_back(
        {buffer, store.offset, getElementBytes(buffer.getElementType()), true});
  }
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != Kind::Load || !program.varies(n, dim))
      continue; // one element for all lanes
    accesses.push_back(
        {step.getInputBuffer(node.value), getLoadOffset(step, program, n),
         getElementBytes(node.type), false, false, static_cast<unsigned>(n),
         isAmongOthers(step, program, n, dim)});
  }
  return accesses;
}

/// Whether each element is loaded for many points.
static bool isShared(const Access &access, ArrayRef<Expr> sizes) {
  constexpr int64_t least = 16; // points
  BufferOp buffer = access.buffer;
  auto points = getElementCount(sizes, buffer.getContext()).getConstant();
  auto elements = getExtent(getSizes(buffer.getType()), buffer.getStrideExprs())
                      .getConstant();
  return points && elements && *elements <= *points / least;
}

VectorAccesses
fusec::analyzeVectorAccesses(StepOp step, const ScalarProgram &program,
                             ArrayRef<RegionStore> stores, unsigned dim,
                             bool hasTail, Alignments alignments,
                             bool loadsSmallByLanes, bool shifts) {
  SmallVector<Access> accesses = collectAccesses(step, program, stores, dim);
  if (loadsSmallByLanes)
    llvm::erase_if(accesses, [&](const Access &a) {
      return !a.isStore && isShared(a, program.getSizes());
    });
  VectorAccesses result;
  if (accesses.empty())
    return result;
  // 16 bytes of the narrowest type, in two accesses of a wider one: loads, of
  // which the second finds its lines in L1, and stores of few. Of many, two
  // would leave gaps between those of a warp, and write sectors in halves.
  constexpr int64_t access = 16; // bytes
  int64_t narrowest = access;
  result.width = access;
  for (const Access &a : accesses) {
    bool isAlone = a.isStore && isOfEveryPoint(a.offset, program.getSizes());
    narrowest = std::min(narrowest, a.bytes);
    result.width = std::min(result.width, (isAlone ? 1 : 2) * access / a.bytes);
  }
  result.width = std::min(result.width, access / narrowest);
  auto isVector = [&](const Access &a) {
    unsigned alignment = alignments(a.buffer);
    if (isVectorAccess(a.offset, dim, result.width, a.bytes, alignment))
      return true;
    if (a.isStore && !a.takesTurns)
      return false;
    BufferOp buffer = a.buffer;
    Expr extent =
        getExtent(getSizes(buffer.getType()), buffer.getStrideExprs());
    return findLaneAccess(a.offset, dim, result.width, a.bytes, alignment,
                          extent, program.getRanges(), a.fillsGaps)
        .has_value();
  };
  SmallVector<unsigned> shiftable;
  auto isShifted = [&](const Access &a) {
    return a.load && llvm::is_contained(shiftable, *a.load) && !isVector(a);
  };
  auto isWide = [&](const Access &a) { return isVector(a) || isShifted(a); };
  for (; result.width > 1; result.width /= 2) {
    if (shifts)
      shiftable = findShiftableLoads(step, program, stores, dim, result.width,
                                     /*beginAnywhere=*/false, alignments);
    Expr width = Expr::constant(step.getContext(), result.width);
    bool fits = hasTail || program.getSizes()[dim].mod(width).isConstant(0);
    unsigned scalar = 0, shared = 0;
    for (const Access &a : accesses) {
      fits = fits && (isWide(a) || !a.isStore);
      bool isShared =
          !a.isStore && isSameForVector(a.offset, dim, result.width);
      shared += isShared;
      scalar += !isShared && !isWide(a);
    }
    if (fits && shared < accesses.size() &&
        2 * scalar < accesses.size() - shared)
      break;
  }
  if (result.width <= 1)
    return {};
  for (const Access &a : accesses) {
    if (isWide(a))
      result.aligned.push_back(a.buffer);
    if (isShifted(a))
      result.shifted.push_back(*a.load);
  }
  // Rows of tables are read by vectors where the columns are.
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Lookup && program.varies(n, dim))
      for (Value table : cast<LookupOp>(program[n].op).getTables())
        result.aligned.push_back(step.getInputBuffer(table));
  return result;
}
