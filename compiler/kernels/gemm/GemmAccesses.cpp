// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/gemm/GemmAccesses.h"

using namespace mlir;
using namespace fusec;

/// From elements of the buffer that lie at multiples of the offsets.
static int64_t getWidth(BufferOp buffer, VariantAttr variant,
                        ArrayRef<Expr> offsets) {
  int64_t bytes = getElementBytes(buffer.getElementType());
  return getOffsetAlignment(getAlignment(buffer, variant), bytes, offsets) /
         bytes;
}

static int64_t getMatrixWidth(StepOp step, VariantAttr variant,
                              ArrayRef<MatrixAccess> accesses, Expr outerSize,
                              Expr k) {
  bool alongK = accesses[0].liesAlongK(k);
  if (!alongK && !accesses[0].liesAcrossK(outerSize))
    return 1;
  Expr stride = alongK ? accesses[0].outerStride : accesses[0].kStride;
  int64_t width = guardedAlignment;
  for (const MatrixAccess &access : accesses)
    width = std::min(width, getWidth(step.getInputBuffer(access.value), variant,
                                     {access.batch, stride}));
  return width;
}

AccessesAttr fusec::getGemmAccesses(StepOp step, VariantAttr variant,
                                    const MatmulIteration &iteration) {
  // Tiles of swapped operands begin at any column.
  bool isSwapped = cast<GemmScheduleAttr>(variant.getSchedule()).getSwapped();
  SmallVector<int64_t> loads, stores;
  for (auto [k, lhs, rhs] :
       llvm::zip_equal(iteration.k, iteration.lhs, iteration.rhs)) {
    loads.push_back(getMatrixWidth(step, variant, lhs, iteration.m, k));
    loads.push_back(getMatrixWidth(step, variant, rhs, iteration.n, k));
  }
  for (const TileOperand &operand : iteration.operands) {
    const TileAccess &access = operand.access;
    loads.push_back(access.columnStride.isConstant(1) && !isSwapped
                        ? getWidth(step.getInputBuffer(operand.value), variant,
                                   {access.batch, access.rowStride})
                        : 1);
  }
  if (iteration.made)
    for (const TileOperand &operand : iteration.made->operands)
      loads.push_back(operand.access.columnStride.isConstant(1)
                          ? getWidth(step.getInputBuffer(operand.value),
                                     variant, {operand.access.batch})
                          : 1);
  for (const TileStore &store : iteration.stores) {
    const TileAccess &access = store.access;
    stores.push_back(store.isFull && access.hasContiguousColumns() && !isSwapped
                         ? getWidth(step.getOutputBuffer(store.output), variant,
                                    {access.batch, access.rowStride})
                         : 1);
  }
  return getAccesses(step.getContext(), Walk::Dimension, 1, loads, stores);
}

AccessesAttr fusec::takeGemmAccesses(StepOp step, VariantAttr variant,
                                     size_t index,
                                     const MatmulIteration &iteration) {
  size_t loads = 2 * iteration.k.size() + iteration.operands.size();
  if (iteration.made)
    loads += iteration.made->operands.size();
  return takeAccesses(step, variant, index, loads, iteration.stores.size());
}
