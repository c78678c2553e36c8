// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel has text for each piece of a concat, and NVRTC's time grows faster
// than its text. A concat of hundreds of values is assembled from concats of a
// few each, whose kernels store their slices; those of equal pieces have equal
// texts, which are compiled once.

#include "compiler/Remarks.h"
#include "compiler/transforms/fusion/FusionGroups.h"

using namespace mlir;
using namespace fusec;

/// Concats of the values, of almost as many each, in front of `wide`.
static SmallVector<Value> buildParts(ConcatOp wide, OpBuilder &builder) {
  SmallVector<Value> values(wide.getValues());
  unsigned axis = wide.getAxis();
  size_t count = llvm::divideCeil(values.size(), mostPieces);
  SmallVector<Value> parts;
  for (size_t i = 0; i < count; ++i) {
    size_t begin = i * values.size() / count,
           end = (i + 1) * values.size() / count;
    ArrayRef<Value> part = ArrayRef(values).slice(begin, end - begin);
    SmallVector<Expr> sizes = getSizes(part[0]);
    for (Value value : part.drop_front())
      sizes[axis] = sizes[axis] + getSizes(value)[axis];
    parts.push_back(
        ConcatOp::create(builder, wide.getLoc(),
                         getTensorType(sizes, getElementType(wide.getResult())),
                         part, wide.getAxisAttr()));
  }
  return parts;
}

bool fusec::splitWideConcats(FusionGroups &groups) {
  bool hasWide = false;
  // Groups are added meanwhile; theirs are not wide.
  for (unsigned id = 0, end = groups.getGroups().size(); id < end; ++id) {
    const FusionGroup &group = groups.getGroups()[id];
    auto concat = group.ops.size() == 1 && !group.isAssembled
                      ? dyn_cast<ConcatOp>(group.ops[0])
                      : nullptr;
    if (!concat || concat.getValues().size() <= mostPieces)
      continue;
    remarkPassed(remarks::splitConcat, concat.getLoc())
        << "a kernel has at most " << std::to_string(mostPieces)
        << " pieces of a concat: that of "
        << std::to_string(concat.getValues().size())
        << " values is stored slice by slice";
    OpBuilder builder(concat);
    SmallVector<Value> parts = buildParts(concat, builder);
    concat.getValuesMutable().assign(parts);
    groups.addBefore(parts, concat);
    groups.getGroup(id).isAssembled = true;
    hasWide = true;
  }
  if (hasWide)
    groups.finishAdding();
  return hasWide;
}
