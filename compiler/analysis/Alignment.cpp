// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/Alignment.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec;

/// Of weights and of the arena's slots.
static constexpr unsigned ownAlignment = 256;

bool fusec::isUsers(BufferOp buffer) {
  return buffer.getKind() == BufferKind::Input ||
         buffer.getKind() == BufferKind::Output;
}

unsigned fusec::getAlignment(BufferOp buffer, VariantAttr variant) {
  unsigned known = ownAlignment;
  if (isUsers(buffer)) {
    unsigned element = getElementBytes(buffer.getElementType());
    known = element;
    for (GuardAttr guard : variant.getGuards())
      if (guard.getKind() == GuardKind::Aligned &&
          guard.getBuffer().getValue() == buffer.getSymName())
        known = std::max<unsigned>(
            known, Expr(guard.getRhs()).getConstant().value_or(element));
  }
  // A slice of a slot or of an output is as aligned as its offset.
  return fusec::getAlignment(buffer.getOffset(), known);
}

unsigned fusec::getAlignmentIfGuarded(BufferOp buffer) {
  return fusec::getAlignment(buffer.getOffset(),
                             isUsers(buffer) ? guardedAlignment : ownAlignment);
}

int64_t fusec::getOffsetAlignment(int64_t known, int64_t bytes,
                                  ArrayRef<Expr> offsets) {
  known = std::min(guardedAlignment, known);
  for (Expr offset : offsets)
    known = fusec::getAlignment(offset, known, bytes);
  return std::max(known, bytes);
}

SmallVector<GuardAttr> fusec::getAlignmentGuards(ArrayRef<BufferOp> buffers) {
  SmallVector<GuardAttr> guards;
  llvm::SetVector<StringRef> seen;
  for (BufferOp buffer : buffers) {
    // The guard is about the user's address; a slice of it is as aligned as its
    // offset.
    if (!isUsers(buffer) || !seen.insert(buffer.getSymName()))
      continue;
    MLIRContext *context = buffer.getContext();
    guards.push_back(GuardAttr::get(
        context, GuardKind::Aligned, Expr::constant(context, 0).getAttr(),
        Expr::constant(context, guardedAlignment).getAttr(),
        FlatSymbolRefAttr::get(buffer.getSymNameAttr())));
  }
  return guards;
}
