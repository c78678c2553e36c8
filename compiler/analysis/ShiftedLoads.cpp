// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/ShiftedLoads.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

/// Of narrower vectors, two loads gain nothing over single elements.
static constexpr int64_t leastShiftedBytes = 8;
/// What is before and behind a row, and the row: of more pieces, vectors would
/// shift more for what few lanes take than single elements cost.
static constexpr size_t mostShiftedPieces = 3;
/// Of a loop: of more, registers would hold what is around them for few
/// threads.
static constexpr size_t mostShiftedLoads = 8;

/// Whether lanes along the dim that a condition about it holds for lie beside
/// each other, so that the first and the last one of a vector say which.
static bool isOfNeighbours(const IndexCondition &condition, unsigned dim) {
  auto along = getDimCoefficient(condition.value, dim);
  return !usesIndirect(condition.value) && along && along->isConstant(1);
}

namespace {
/// Which lanes need a value.
struct Need {
  enum { None, All, Some, Unknown } lanes = None;
  IndexCondition condition = {}; // of some

  bool operator==(const Need &other) const {
    return lanes == other.lanes && condition.value == other.condition.value &&
           condition.lower == other.condition.lower &&
           condition.upper == other.condition.upper;
  }
  /// What two users need: two conditions are not asked for together.
  void join(const Need &other) {
    if (lanes == None)
      *this = other;
    else if (!(*this == other))
      *this = {Unknown};
  }
};
} // namespace

/// What lanes need of the piece, where the whole is needed so: a branch guards
/// pieces that all lanes of a vector have together.
static Need getNeedOfPiece(const Need &whole, const ScalarNode &node,
                           unsigned piece, unsigned dim, int64_t width) {
  if (llvm::all_of(node.conditions, [&](const IndexCondition &condition) {
        return isOfVectors(condition, dim, width);
      }))
    return whole.lanes == Need::All ? whole : Need{Need::Unknown};
  const IndexCondition &condition = node.conditions[piece];
  return whole.lanes == Need::All &&
                 node.operands.size() <= mostShiftedPieces &&
                 isOfNeighbours(condition, dim)
             ? Need{Need::Some, condition}
             : Need{Need::Unknown};
}

/// Of all nodes; operands come before what is computed of them.
static SmallVector<Need> getNeeds(const ScalarProgram &program,
                                  ArrayRef<RegionStore> stores, unsigned dim,
                                  int64_t width) {
  SmallVector<Need> needs(program.size());
  for (const RegionStore &store : stores)
    needs[store.node] = {Need::All};
  for (size_t n = program.size(); n-- > 0;) {
    const ScalarNode &node = program[n];
    for (auto [i, operand] : llvm::enumerate(node.operands)) {
      Need need = {Need::Unknown};
      if (node.kind == Kind::Compute)
        need = needs[n];
      else if (node.kind == Kind::Piecewise)
        need = getNeedOfPiece(needs[n], node, i, dim, width);
      needs[operand].join(need);
    }
  }
  return needs;
}

/// How far lanes are apart that are neighbours, 1 or -1: of vectors that begin
/// at multiples of the width.
static std::optional<int64_t> getStride(Expr offset, unsigned dim,
                                        int64_t width) {
  if (width == 1) {
    auto along = getDimCoefficient(offset, dim);
    bool isOne = along && (along->isConstant(1) || along->isConstant(-1));
    return isOne ? along->getConstant() : std::nullopt;
  }
  auto access = getLaneAccess(offset, dim, width, width);
  return access ? std::optional(access->stride) : std::nullopt;
}

/// Whether points load nothing of their own.
static bool shareLoads(const ScalarProgram &program) {
  for (unsigned n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Load && program.variesEverywhere(n))
      return false;
  return true;
}

SmallVector<unsigned> fusec::findShiftableLoads(
    StepOp step, const ScalarProgram &program, ArrayRef<RegionStore> stores,
    unsigned dim, int64_t width, bool beginAnywhere, Alignments alignments) {
  SmallVector<unsigned> loads;
  if (width == 1)
    return loads;
  SmallVector<Need> needs =
      getNeeds(program, stores, dim, beginAnywhere ? 0 : width);
  // What many points share is in a cache, from where lanes have it before what
  // others load has come; where they load nothing else, stores wait for it: an
  // outer sum of 3001 x 1999 halves took 9.6 us, shifted 8.9.
  bool shared = beginAnywhere && shareLoads(program);
  for (unsigned n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != Kind::Load || !program.varies(n, dim) ||
        !(shared || program.variesEverywhere(n)) ||
        (needs[n].lanes != Need::All && needs[n].lanes != Need::Some) ||
        width * getElementBytes(node.type) < leastShiftedBytes ||
        alignments(step.getInputBuffer(node.value)) < guardedAlignment)
      continue;
    Expr offset = getLoadOffset(step, program, n);
    auto stride = getStride(offset, dim, beginAnywhere ? 1 : width);
    // Lanes of a piece are counted forwards.
    if (stride && !usesIndirect(offset) &&
        (*stride == 1 || needs[n].lanes == Need::All))
      loads.push_back(n);
  }
  return loads.size() <= mostShiftedLoads ? loads : SmallVector<unsigned>();
}

static bool isLoadShifted(const ScalarProgram &program, unsigned node,
                          unsigned dim, ArrayRef<unsigned> shifted,
                          llvm::SmallDenseSet<unsigned> &visited) {
  if (!program.varies(node, dim) || !visited.insert(node).second)
    return true;
  switch (program[node].kind) {
  case Kind::Load:
    return llvm::is_contained(shifted, node);
  case Kind::Splat:
  case Kind::Index:
    return true;
  case Kind::Compute:
    return llvm::all_of(program[node].operands, [&](unsigned operand) {
      return isLoadShifted(program, operand, dim, shifted, visited);
    });
  default:
    return false;
  }
}

bool fusec::areLoadsShifted(const ScalarProgram &program, unsigned piecewise,
                            unsigned dim, ArrayRef<unsigned> shifted) {
  llvm::SmallDenseSet<unsigned> visited;
  return llvm::all_of(program[piecewise].operands, [&](unsigned operand) {
    return isLoadShifted(program, operand, dim, shifted, visited);
  });
}
