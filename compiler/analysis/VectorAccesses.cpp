// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/VectorAccesses.h"
#include "compiler/analysis/Alignment.h"

using namespace mlir;
using namespace fusec;
using Kind = ScalarNode::Kind;

bool fusec::isVectorAccess(Expr offset, unsigned dim, int64_t width,
                           int64_t bytes, unsigned alignment) {
  int64_t needed = std::min<int64_t>(16, width * bytes);
  if (alignment % needed != 0)
    return false;
  auto coefficient = getDimCoefficient(offset, dim);
  if (!coefficient || !coefficient->isConstant(1))
    return false;
  // The vectorised dim's base is a multiple of the width.
  for (Expr term : getTerms(offset))
    if (!usesDim(term, dim) &&
        splitCoefficient(term).first % needed * bytes % needed != 0)
      return false;
  return true;
}

VectorAccesses fusec::analyzeVectorAccesses(StepOp step,
                                            const ScalarProgram &program,
                                            ArrayRef<RegionStore> stores,
                                            unsigned dim, bool hasTail) {
  struct Access {
    BufferOp buffer;
    Expr offset;
    int64_t bytes;
    bool isStore;
  };
  SmallVector<Access> accesses;
  for (const RegionStore &store : stores) {
    BufferOp buffer = step.getOutputBuffer(store.output);
    accesses.push_back(
        {buffer, store.offset, getElementBytes(buffer.getElementType()), true});
  }
  for (size_t n = 0; n < program.size(); ++n) {
    const ScalarNode &node = program[n];
    if (node.kind != Kind::Load || !program.varies(n, dim))
      continue; // one element for all lanes
    BufferOp buffer = step.getInputBuffer(node.value);
    Expr offset = program.getRanges().simplify(
        getOffset(node.indices, buffer.getStrideExprs(), step.getContext()));
    accesses.push_back({buffer, offset, getElementBytes(node.type), false});
  }
  VectorAccesses result;
  if (accesses.empty())
    return result;
  auto [smallest, largest] = std::minmax_element(
      accesses.begin(), accesses.end(),
      [](const Access &a, const Access &b) { return a.bytes < b.bytes; });
  auto isWide = [&](const Access &a) {
    return isVectorAccess(a.offset, dim, result.width, a.bytes,
                          getAlignmentIfGuarded(a.buffer));
  };
  // 16 bytes of the widest type; two accesses of it where a narrower one takes
  // part.
  result.width = std::min<int64_t>(16 / smallest->bytes, 32 / largest->bytes);
  for (; result.width > 1; result.width /= 2) {
    Expr width = Expr::constant(step.getContext(), result.width);
    bool fits = hasTail || program.getSizes()[dim].mod(width).isConstant(0);
    unsigned scalar = 0;
    for (const Access &a : accesses) {
      fits = fits && (isWide(a) || !a.isStore);
      scalar += !isWide(a);
    }
    if (fits && 2 * scalar < accesses.size())
      break;
  }
  if (result.width <= 1)
    return {};
  for (const Access &a : accesses)
    if (isWide(a))
      result.aligned.push_back(a.buffer);
  // Rows of tables are read by vectors where the columns are.
  for (size_t n = 0; n < program.size(); ++n)
    if (program[n].kind == Kind::Lookup && program.varies(n, dim))
      for (Value table : cast<LookupOp>(program[n].op).getTables())
        result.aligned.push_back(step.getInputBuffer(table));
  return result;
}
