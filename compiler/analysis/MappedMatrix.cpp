// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/analysis/MappedMatrix.h"
#include "compiler/analysis/Alignment.h"

using namespace mlir;
using namespace fusec;

/// Of bases and strides of tensor maps, in bytes.
static constexpr int64_t mapAlignment = guardedAlignment;

static bool dependsOnSizesAlone(Expr expr) {
  bool plain = true;
  expr.walkLeaves(
      [&](Expr leaf) { plain &= leaf.getKind() == ExprKind::Symbol; });
  return plain;
}

FailureOr<MappedMatrix> fusec::analyzeMapped(const MatrixAccess &access,
                                             ArrayRef<Expr> batchSizes) {
  MLIRContext *context = access.outerStride.getContext();
  MappedMatrix matrix;
  if (access.isAlongK()) {
    matrix.alongK = true;
    matrix.stride = access.outerStride;
  } else if (access.outerStride.isConstant(1)) {
    matrix.alongK = false;
    matrix.stride = access.kStride;
  } else {
    return failure();
  }
  if (matrix.stride.isConstant(0))
    return failure();

  Expr count = getElementCount(batchSizes, context);
  Expr batch = Expr::dim(context, 0);
  Expr linear =
      ExprRanges(ArrayRef<Expr>(count))
          .simplify(access.batch.replaceDims(delinearize(batch, batchSizes)));
  auto stride = getDimCoefficient(linear, 0);
  if (!stride || !dependsOnSizesAlone(*stride))
    return failure();
  matrix.offset = linear - *stride * batch;
  if (!dependsOnSizesAlone(matrix.offset))
    return failure();
  matrix.wholeK = access.wholeK;
  if (access.wholeK)
    return matrix;
  if (!stride->isConstant(0))
    matrix.batchStride = *stride;
  else if (!access.batch.isConstant()) {
    // A constant offset is part of the pointer; the kernel counts batches of
    // whatever has another one: one batch is fine.
    if (!count.isConstant(1))
      return failure();
    matrix.batchStride = matrix.stride;
  }
  return matrix;
}

LogicalResult fusec::addMapGuards(const MappedMatrix &matrix, BufferOp buffer,
                                  SmallVectorImpl<GuardAttr> &guards) {
  MLIRContext *context = buffer.getContext();
  int64_t bytes = getElementBytes(buffer.getElementType());
  SmallVector<Expr> multiples = {matrix.offset * bytes, matrix.stride * bytes};
  if (matrix.batchStride)
    multiples.push_back(*matrix.batchStride * bytes);
  // That of a user's tensor is part of the guard on its address.
  if (!isUsers(buffer))
    multiples.push_back(buffer.getOffset());
  for (Expr expr : multiples) {
    if (getAlignment(expr, mapAlignment) == mapAlignment)
      continue;
    if (expr.isConstant())
      return failure();
    Expr rest = expr.mod(Expr::constant(context, mapAlignment));
    auto guard = GuardAttr::get(context, GuardKind::Eq, rest.getAttr(),
                                Expr::constant(context, 0).getAttr(), nullptr);
    if (!llvm::is_contained(guards, guard))
      guards.push_back(guard);
  }
  return success();
}

LogicalResult fusec::addDepthGuard(ArrayRef<Expr> k,
                                   SmallVectorImpl<GuardAttr> &guards) {
  auto isPositive = [](Expr size) {
    return size.isConstant() && size.getValue() > 0;
  };
  if (llvm::any_of(k, isPositive))
    return success();
  auto named = llvm::find_if(k, [](Expr size) { return !size.isConstant(); });
  if (named == k.end())
    return failure();
  MLIRContext *context = named->getAttr().getContext();
  guards.push_back(GuardAttr::get(context, GuardKind::Gt, named->getAttr(),
                                  Expr::constant(context, 0).getAttr(),
                                  nullptr));
  return success();
}

/// `inner` is the size of the dimension of stride 1.
static TensorMapShape makeShape(const MappedMatrix &matrix, Type element,
                                Expr inner, Expr outer, Expr batch,
                                unsigned boxInner, unsigned boxOuter) {
  int64_t bytes = getElementBytes(element);
  TensorMapShape shape;
  shape.element = element;
  shape.offset = matrix.offset * bytes;
  shape.sizes = {inner, outer};
  shape.strides = {matrix.stride * bytes};
  shape.box = {boxInner, boxOuter};
  if (matrix.batchStride) {
    shape.sizes.push_back(batch);
    shape.strides.push_back(*matrix.batchStride * bytes);
    shape.box.push_back(1);
  }
  return shape;
}

TensorMapShape fusec::getMapShape(const MappedMatrix &matrix, Type element,
                                  Expr outer, Expr k, Expr batch,
                                  CopyAttr copy) {
  k = matrix.wholeK.value_or(k);
  WgmmaBox box = wgmmaBox(matrix.alongK, copy.getTile(),
                          getElementBytes(element), copy.getKBytes());
  TensorMapShape shape =
      makeShape(matrix, element, matrix.alongK ? k : outer,
                matrix.alongK ? outer : k, batch, box.inner, box.outer);
  shape.rounds = copy.getRounds();
  shape.promotion = copy.getPromotion();
  shape.swizzle = box.swizzle;
  return shape;
}

FailureOr<MappedMatrix> fusec::analyzeMappedTile(const TileAccess &access,
                                                 Type element, Expr m, Expr n,
                                                 ArrayRef<Expr> batchSizes,
                                                 int64_t alignment) {
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return failure();
  int64_t bytes = getElementBytes(element);
  bool alongRows = access.liesAlongRows();
  // Columns are put together from matrices of 16-bit elements.
  if (alongRows ? bytes != 2 : !access.columnStride.isConstant(1))
    return failure();
  if (alignment < mapAlignment ||
      getAlignment(alongRows ? m : n, mapAlignment, bytes) < mapAlignment)
    return failure();
  return analyzeMapped(access.asMatrix(), batchSizes);
}

TensorMapShape fusec::getTileMapShape(const MappedMatrix &tile, Type element,
                                      Expr m, Expr n, Expr batch,
                                      TileMapAttr map) {
  TensorMapShape shape =
      makeShape(tile, element, tile.alongK ? n : m, tile.alongK ? m : n, batch,
                map.getInner(), map.getOuter());
  shape.swizzle = map.getSwizzle();
  return shape;
}
