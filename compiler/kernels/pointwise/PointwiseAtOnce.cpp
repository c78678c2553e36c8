// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many accesses a thread has on their way together.

#include "compiler/analysis/ShiftedLoads.h"
#include "compiler/kernels/pointwise/Pointwise.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

int64_t PointwisePiece::countRows() const {
  const ScalarProgram &program = iteration.program;
  int64_t rows = 0;
  for (size_t n = 0; n < program.size(); ++n)
    rows += program[n].kind == Kind::Gather || program[n].kind == Kind::Lookup;
  return rows;
}

/// Whether a single element of a row that an index names is read as soon as the
/// index is there, by blocks that do nothing else.
static bool isReadAlone(const ScalarProgram &program, unsigned row,
                        unsigned dim) {
  const ScalarNode &node = program[row];
  unsigned index = node.operands[0];
  if (!node.expr.isConstant() || node.expr.getValue() == 0 ||
      (program.varies(index, dim) && program[index].kind != Kind::Load))
    return false;
  for (size_t n = 0; n < program.size(); ++n)
    if (llvm::is_contained(program[n].rows, row) &&
        program[program[n].operands[0]].kind != Kind::Load)
      return false;
  return true;
}

/// Whether what several points need is loaded before any of them goes on: not
/// what is found, or asked for, lane by lane.
static bool loadsAllFirst(const PointwisePiece &piece) {
  const ScalarProgram &program = piece.iteration.program;
  if (piece.isByRows() || program.getSizes().empty() ||
      piece.iteration.stores.size() > mostStoresTogether)
    return false;
  unsigned dim = program.getSizes().size() - 1;
  for (size_t n = 0; n < program.size(); ++n) {
    Kind kind = program[n].kind;
    bool isSingle = piece.accesses.width == 1,
         isGuarded =
             kind == Kind::Lookup ||
             (kind == Kind::GatherRow &&
              !(isSingle && piece.isOnly && isReadAlone(program, n, dim))),
         isAskedFor =
             !llvm::all_of(program[n].conditions,
                           [&](const IndexCondition &c) {
                             return isOfVectors(c, dim, piece.accesses.width);
                           }) &&
             !areLoadsShifted(program, n, dim, piece.accesses.shifted);
    if (isAskedFor ||
        (isGuarded &&
         (isSingle || program.varies(program[n].operands[0], dim))))
      return false;
  }
  return true;
}

int64_t PointwisePiece::getAtOnce(int64_t vector) const {
  if (!loadsAllFirst(*this))
    return 1;
  int64_t width = getWidth(vector), most = getMostAccesses(width);
  if (int64_t rows = countRows())
    while (most > 2 && most * rows > mostRowsTogether)
      most /= 2;
  return std::min(vector / width, most);
}
