// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the fused and the planned level.

#include "compiler/kernels/pairs/device/pairs_config.h"
#include "ir/FusecOps.h"
#include "ir/ShapeRules.h"

using namespace mlir;
using namespace fusec;

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

/// Makes the sizes of a product those of its ranges, where there are any.
static LogicalResult addParts(ContractionOp op, unsigned segment,
                              SmallVectorImpl<Expr> &sizes) {
  auto ranges = op.getRanges();
  if (!ranges)
    return success();
  Value lhs = op.getLhs()[segment], sums = op.getAccumulators()[0];
  Expr k = getSizes(lhs).back();
  if (ranges->size() != op.getNumSegments() || getRank(lhs) != 2 ||
      getRank(sums) != 3 || !k.isConstant() ||
      !getSizes(sums)[0].isConstant() || (*ranges)[segment] <= 0)
    return op.emitOpError("expected ranges of the constant K of each segment, "
                          "of matrices without a batch");
  int64_t parts = getSizes(sums)[0].getValue();
  if (llvm::divideCeil(k.getValue(), (*ranges)[segment]) > uint64_t(parts))
    return op.emitOpError("expected ")
           << parts << " ranges of " << (*ranges)[segment]
           << " to cover a K of " << k.getValue();
  sizes.insert(sizes.begin(), getSizes(sums)[0]);
  return success();
}

LogicalResult ContractionOp::verify() {
  unsigned segments = getNumSegments(), accumulators = getNumAccumulators();
  if (segments == 0 || accumulators == 0 ||
      getRhs().size() != segments * accumulators)
    return emitOpError("expected a right operand for each of ")
           << segments << " segments and " << accumulators
           << " accumulators, got " << getRhs().size();
  for (unsigned s = 0; s < segments; ++s)
    for (unsigned j = 0; j < accumulators; ++j) {
      auto sizes =
          inferMatmulSizes(getSizes(getLhs()[s]), getSizes(getRhs(s, j)), false,
                           false, [&](const Twine &message) {
                             emitOpError(message)
                                 << " (segment " << s << ", accumulator " << j
                                 << ")";
                           });
      if (failed(sizes) || failed(addParts(*this, s, *sizes)))
        return failure();
      Type element = getElementType(getLhs()[s]);
      Type type = getTensorType(*sizes, element);
      // A 16-bit product may be kept as it was accumulated.
      Type wide = element.isF16() || element.isBF16()
                      ? getTensorType(*sizes, Float32Type::get(getContext()))
                      : type;
      Type accumulator = getAccumulators()[j].getType();
      if (getElementType(getRhs(s, j)) != element ||
          getElementType(getLhs()[0]) != element ||
          (accumulator != type && accumulator != wide))
        return emitOpError("expected operands of one element type and "
                           "accumulators of type ")
               << type;
    }
  return success();
}

FusionKind ContractionOp::getFusionKind() { return FusionKind::Matmul; }
SmallVector<Expr> ContractionOp::getIterationSizes() {
  // K of the first segment; each segment has its own.
  SmallVector<Expr> sizes = getSizes(getAccumulators()[0]);
  sizes.push_back(getDepth(0));
  return sizes;
}
Expr ContractionOp::getDepth(unsigned segment) {
  return getRanges() ? Expr::constant(getContext(), (*getRanges())[segment])
                     : getSizes(getLhs()[segment]).back();
}
IndexMap ContractionOp::getOperandMap(unsigned index) {
  unsigned rank = getRank(getAccumulators()[0]);
  IndexMap map = IndexMap::identity(getContext(), rank - 2);
  Expr inner = Expr::dim(getContext(), rank);
  bool left = index < getNumSegments();
  if (getRanges()) {
    map.results.clear();
    unsigned segment =
        left ? index : (index - getNumSegments()) / getNumAccumulators();
    inner = inner + Expr::dim(getContext(), 0) * (*getRanges())[segment];
  }
  map.results.push_back(left ? Expr::dim(getContext(), rank - 2) : inner);
  map.results.push_back(left ? inner : Expr::dim(getContext(), rank - 1));
  return map;
}

//===----------------------------------------------------------------------===//
// Products of pairs
//===----------------------------------------------------------------------===//

LogicalResult PairProductOp::verify() {
  Type x = getElementType(getX()), weights = getElementType(getWeights());
  if (!x.isF16() && !x.isBF16() && !x.isF32())
    return emitOpError("expected features of f16, bf16 or f32, got ") << x;
  bool isExact = x.isF32() && weights.isF32();
  Type type = x.isF32() ? Float16Type::get(getContext()) : x;
  if (weights != type && !isExact)
    return emitOpError("expected weights of ") << type << ", got " << weights;
  if (!getElementType(getSums()).isF32())
    return emitOpError("expected sums of f32, got ")
           << getElementType(getSums());
  if (getRank(getX()) != 2 || getRank(getWeights()) != 3 ||
      getRank(getSums()) != 3)
    return emitOpError("expected [rows, features], weights of three "
                       "dimensions and sums of [part, row, column]");
  SmallVector<Expr> rows = getSizes(getX()), sums = getSizes(getSums());
  if (!rows[1].isConstant() || !sums[2].isConstant() ||
      !isPairCountable(rows[1].getValue(), sums[2].getValue()))
    return emitOpError("expected constant numbers of features and columns, "
                       "which 32 bits count");
  if (sums[1] != rows[0])
    return emitOpError("expected sums of ")
           << rows[0].str() << " rows, got " << sums[1].str();
  int64_t slices = pairDepth(rows[1].getValue()) / pairSlice,
          columns = pairColumns(sums[2].getValue());
  const int64_t expected[] = {slices, isExact ? pairSlice : columns,
                              isExact ? columns : pairSlice};
  auto weightsType = cast<RankedTensorType>(getWeights().getType());
  if (weightsType.getShape() != ArrayRef(expected))
    return emitOpError("expected weights of ")
           << expected[0] << " x " << expected[1] << " x " << expected[2]
           << ", as " << rows[1].getValue() << " features and "
           << sums[2].getValue() << " columns have";
  return success();
}

FusionKind PairProductOp::getFusionKind() { return FusionKind::Pairs; }
SmallVector<Expr> PairProductOp::getIterationSizes() {
  SmallVector<Expr> sizes = getSizes(getSums());
  sizes.push_back(getSizes(getX())[1]);
  return sizes;
}
IndexMap PairProductOp::getOperandMap(unsigned index) {
  MLIRContext *context = getContext();
  IndexMap map = IndexMap::identity(context, 0);
  if (index == 0)
    map.results = {Expr::dim(context, 1), Expr::dim(context, 3)};
  else
    map.results = {Expr::constant(context, 0), Expr::dim(context, 2),
                   Expr::constant(context, 0)};
  return map;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

static LogicalResult verifyRegion(Operation *op, Region &region,
                                  TypeRange inputs, TypeRange outputs) {
  Block &block = region.front();
  if (block.getArgumentTypes() != inputs)
    return op->emitOpError("expected block arguments of the inputs' types");
  auto yield =
      dyn_cast_or_null<YieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield)
    return op->emitOpError("expected 'fusec.yield' at the end of the region");
  if (yield.getOperandTypes() != outputs)
    return op->emitOpError("expected 'fusec.yield' of the outputs' types");
  for (Operation &nested : block.without_terminator())
    if (!isa<IndexedOpInterface>(nested))
      return op->emitOpError("holds an op that no kernel can compute")
                 .attachNote(nested.getLoc())
             << "this op";
  return success();
}

LogicalResult FusionOp::verify() {
  return verifyRegion(*this, getBody(), getInputs().getTypes(),
                      getResultTypes());
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

LogicalResult PlanOp::verify() {
  for (Operation &op : getBody().front())
    if (!isa<BufferOp, StepOp>(op))
      return emitOpError("expected buffers and steps only")
                 .attachNote(op.getLoc())
             << "found this op";
  return success();
}

LogicalResult BufferOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (getStrides().size() != static_cast<size_t>(type.getRank()))
    return emitOpError("expected ")
           << type.getRank() << " strides, got " << getStrides().size();
  if ((getKind() == BufferKind::Weight) != getValue().has_value())
    return emitOpError("expected a value on weights and on nothing else");
  if (getKind() == BufferKind::Slot) {
    auto plan = cast<PlanOp>((*this)->getParentOp());
    if (getIndex() >= plan.getSlots().size())
      return emitOpError("expected a slot below ")
             << plan.getSlots().size() << ", got " << getIndex();
  }
  return success();
}

SmallVector<Expr> BufferOp::getStrideExprs() {
  return llvm::map_to_vector(getStrides().getAsRange<ExprAttr>(),
                             [](ExprAttr attr) { return Expr(attr); });
}
Type BufferOp::getElementType() {
  return cast<RankedTensorType>(getType()).getElementType();
}

LogicalResult StepOp::verify() {
  auto variants = getVariants().getAsRange<VariantAttr>();
  if (getVariants().empty() ||
      !(*std::prev(variants.end())).getGuards().empty())
    return emitOpError("expected a last variant without guards");
  if (getLeadAttr() && !llvm::is_contained(getInputs(), getLeadAttr()))
    return emitOpError("expected a lead among the inputs, found ")
           << getLeadAttr();
  return success();
}

LogicalResult StepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<Type> types[2];
  const ArrayAttr sides[2] = {getInputs(), getOutputs()};
  for (auto [i, refs] : llvm::enumerate(sides))
    for (auto ref : refs.getAsRange<FlatSymbolRefAttr>()) {
      auto buffer = symbols.lookupNearestSymbolFrom<BufferOp>(*this, ref);
      if (!buffer)
        return emitOpError("refers to ")
               << ref << ", which is no buffer of the plan";
      types[i].push_back(buffer.getType());
    }
  return verifyRegion(*this, getBody(), types[0], types[1]);
}
