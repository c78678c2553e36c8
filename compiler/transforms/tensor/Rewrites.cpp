// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/tensor/Rewrites.h"

using namespace mlir;
using namespace fusec;

// Verified ops only: their reassociation is known to be well formed.
Groups fusec::getGroups(CollapseOp op) {
  return *getReassociation(op.getReassociation(), getRank(op.getOperand()),
                           [](const Twine &) {});
}
Groups fusec::getGroups(ExpandOp op) {
  return *getReassociation(op.getReassociation(), getRank(op.getResult()),
                           [](const Twine &) {});
}

static ArrayAttr toAttr(OpBuilder &builder, const Groups &groups) {
  return builder.getArrayAttr(
      llvm::map_to_vector(groups, [&](ArrayRef<int64_t> group) -> Attribute {
        return builder.getI64ArrayAttr(group);
      }));
}

static bool isIdentity(ArrayRef<int64_t> indices) {
  for (auto [i, index] : llvm::enumerate(indices))
    if (index != static_cast<int64_t>(i))
      return false;
  return true;
}

Value fusec::createTranspose(OpBuilder &builder, Location loc, Value value,
                             ArrayRef<int64_t> permutation) {
  if (isIdentity(permutation))
    return value;
  Sizes sizes =
      *inferTransposeSizes(getSizes(value), permutation, [](const Twine &) {});
  return TransposeOp::create(builder, loc,
                             getTensorType(sizes, getElementType(value)), value,
                             builder.getDenseI64ArrayAttr(permutation));
}

Value fusec::createCollapse(OpBuilder &builder, Location loc, Value value,
                            const Groups &groups) {
  Sizes sizes = collapseSizes(getSizes(value), groups, builder.getContext());
  Type type = getTensorType(sizes, getElementType(value));
  if (type == value.getType())
    return value;
  return CollapseOp::create(builder, loc, type, value, toAttr(builder, groups));
}

Value fusec::createExpand(OpBuilder &builder, Location loc, Value value,
                          ArrayRef<Expr> sizes, const Groups &groups) {
  Type type = getTensorType(sizes, getElementType(value));
  if (type == value.getType())
    return value;
  return ExpandOp::create(builder, loc, type, value, toAttr(builder, groups));
}

Value fusec::createBroadcast(OpBuilder &builder, Location loc, Value value,
                             ArrayRef<Expr> sizes,
                             ArrayRef<int64_t> dimensions) {
  Type type = getTensorType(sizes, getElementType(value));
  if (type == value.getType())
    return value;
  return BroadcastOp::create(builder, loc, type, value,
                             builder.getDenseI64ArrayAttr(dimensions));
}

Value fusec::createSlice(OpBuilder &builder, Location loc, Value value,
                         ArrayRef<Expr> offsets, ArrayRef<Expr> sizes,
                         ArrayRef<int64_t> steps) {
  Type type = getTensorType(sizes, getElementType(value));
  bool plain = llvm::all_of(steps, [](int64_t step) { return step == 1; });
  if (plain && type == value.getType())
    return value;
  auto attrs = llvm::map_to_vector(
      offsets, [](Expr offset) -> Attribute { return offset.getAttr(); });
  return SliceOp::create(builder, loc, type, value, builder.getArrayAttr(attrs),
                         builder.getDenseI64ArrayAttr(steps));
}

void fusec::replaceConcat(PatternRewriter &rewriter, ConcatOp op,
                          ArrayRef<Value> values) {
  if (values.size() == 1)
    rewriter.replaceOp(op, values[0]);
  else
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), values,
                                          op.getAxisAttr());
}

Value fusec::createMatrixTranspose(OpBuilder &builder, Location loc,
                                   Value value) {
  auto permutation = llvm::to_vector(
      llvm::seq<int64_t>(0, static_cast<int64_t>(getRank(value))));
  std::swap(permutation[permutation.size() - 2], permutation.back());
  return createTranspose(builder, loc, value, permutation);
}

Value fusec::dropUnitDim(OpBuilder &builder, Location loc, Value value,
                         unsigned dim) {
  Sizes sizes = getSizes(value);
  sizes.erase(sizes.begin() + dim);
  // The unit dimension joins a neighbour; alone, it can only be expanded away.
  Groups groups;
  if (sizes.empty())
    return createExpand(builder, loc, value, sizes, Groups(1));
  unsigned rank = sizes.size() + 1;
  for (unsigned i = 0; i < rank; ++i) {
    bool joins = dim == 0 ? i == 1 : i == dim;
    if (!joins)
      groups.emplace_back();
    groups.back().push_back(i);
  }
  return createCollapse(builder, loc, value, groups);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

std::optional<ReshapeGroups> fusec::getReshapeGroups(ArrayRef<Expr> source,
                                                     ArrayRef<Expr> target) {
  ReshapeGroups groups;
  auto isZero = [](Expr size) { return size.isConstant(0); };
  if (llvm::any_of(source, isZero) || llvm::any_of(target, isZero))
    return std::nullopt;
  if (source.empty() || target.empty()) {
    // Only unit dimensions can be there, each an empty group of the other side.
    groups.source.resize(target.size());
    groups.target.resize(target.size());
    for (size_t j = 0; j < target.size(); ++j)
      groups.target[j].push_back(j);
    if (target.empty()) {
      groups.source.resize(source.size());
      groups.target.resize(source.size());
      for (size_t i = 0; i < source.size(); ++i)
        groups.source[i].push_back(i);
    }
    return groups;
  }
  size_t i = 0, j = 0;
  while (i < source.size() && j < target.size()) {
    size_t sourceEnd = 0, targetEnd = 0;
    Expr product = Expr::constant(source[0].getContext(), 1);
    for (size_t a = i; a < source.size() && !targetEnd; ++a) {
      product = product * source[a];
      Expr other = Expr::constant(source[0].getContext(), 1);
      for (size_t b = j; b < target.size() && !targetEnd; ++b) {
        other = other * target[b];
        if (other == product)
          sourceEnd = a + 1, targetEnd = b + 1;
      }
    }
    if (!targetEnd)
      return std::nullopt;
    groups.source.push_back(llvm::to_vector(llvm::seq<int64_t>(i, sourceEnd)));
    groups.target.push_back(llvm::to_vector(llvm::seq<int64_t>(j, targetEnd)));
    i = sourceEnd, j = targetEnd;
  }
  // What is left at either end has size 1.
  for (; i < source.size(); ++i) {
    if (!source[i].isConstant(1))
      return std::nullopt;
    groups.source.back().push_back(i);
  }
  for (; j < target.size(); ++j) {
    if (!target[j].isConstant(1))
      return std::nullopt;
    groups.target.back().push_back(j);
  }
  return groups;
}

static bool isTrivial(const Groups &groups) {
  return llvm::all_of(groups,
                      [](ArrayRef<int64_t> g) { return g.size() == 1; });
}

unsigned fusec::countReshapeOps(const ReshapeGroups &groups) {
  return !isTrivial(groups.source) + !isTrivial(groups.target);
}

Value fusec::createReshape(OpBuilder &builder, Location loc, Value value,
                           ArrayRef<Expr> sizes, const ReshapeGroups &groups) {
  if (!isTrivial(groups.source))
    value = createCollapse(builder, loc, value, groups.source);
  if (!isTrivial(groups.target))
    value = createExpand(builder, loc, value, sizes, groups.target);
  return value;
}

//===----------------------------------------------------------------------===//
// Constants and sources behind views
//===----------------------------------------------------------------------===//

TypedAttr fusec::getSplatValue(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CollapseOp, ExpandOp, TransposeOp, SliceOp, BroadcastOp>(op))
      break;
    value = op->getOperand(0);
  }
  if (auto splat = value.getDefiningOp<SplatOp>())
    return cast<TypedAttr>(splat.getValue());
  if (auto constant = value.getDefiningOp<ConstantOp>())
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
        dense && dense.isSplat())
      return dyn_cast<TypedAttr>(dense.getSplatValue<Attribute>());
  return {};
}

static std::optional<double> getSplatNumber(Value value) {
  TypedAttr attr = getSplatValue(value);
  if (auto real = dyn_cast_if_present<FloatAttr>(attr))
    return real.getValueAsDouble();
  if (auto integer = dyn_cast_if_present<IntegerAttr>(attr))
    return integer.getType().isUnsignedInteger()
               ? static_cast<double>(integer.getValue().getZExtValue())
               : static_cast<double>(integer.getValue().getSExtValue());
  return std::nullopt;
}

bool fusec::isSplatOf(Value value, double number) {
  auto known = getSplatNumber(value);
  return known && *known == number;
}

bool fusec::isSplatNear(Value value, double number) {
  auto known = getSplatNumber(value);
  Type type = getElementType(value);
  // One unit in the last place of 16-bit floats; else five digits.
  double tolerance = type.isF16() ? 0x1p-10 : type.isBF16() ? 0x1p-7 : 1e-5;
  return known && std::abs(*known - number) <= tolerance * std::abs(number);
}
