// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "frontends/onnx/TensorBuilder.h"
#include "frontends/onnx/Problems.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;

namespace fusec::onnx {

using Groups = SmallVector<SmallVector<int64_t>>;

Value TensorBuilder::cast(Value x, Type elementType) {
  if (getElementType(x) == elementType)
    return x;
  return CastOp::create(*this, getTensorType(getSizes(x), elementType), x);
}

//===----------------------------------------------------------------------===//
// Generated values
//===----------------------------------------------------------------------===//

static TypedAttr makeNumber(Type type, double value) {
  if (isa<FloatType>(type))
    return FloatAttr::get(type, value);
  llvm::APSInt integer(type.getIntOrFloatBitWidth(),
                       type.isUnsignedInteger() || type.isInteger(1));
  bool exact;
  llvm::APFloat(value).convertToInteger(integer, llvm::APFloat::rmTowardZero,
                                        &exact);
  return IntegerAttr::get(type, integer);
}

Value TensorBuilder::splat(double value, ArrayRef<Expr> sizes,
                           Type elementType) {
  return SplatOp::create(*this, getTensorType(sizes, elementType),
                         makeNumber(elementType, value));
}
Value TensorBuilder::splatLike(double value, Value like) {
  return splat(value, getSizes(like), getElementType(like));
}
Value TensorBuilder::integerSplat(int64_t value, ArrayRef<Expr> sizes,
                                  Type elementType) {
  if (isa<FloatType>(elementType))
    return splat(static_cast<double>(value), sizes, elementType);
  llvm::APInt bits(elementType.getIntOrFloatBitWidth(),
                   static_cast<uint64_t>(value),
                   /*isSigned=*/true, /*implicitTrunc=*/true);
  return SplatOp::create(*this, getTensorType(sizes, elementType),
                         IntegerAttr::get(elementType, bits));
}
Value TensorBuilder::iota(int64_t axis, ArrayRef<Expr> sizes,
                          Type elementType) {
  return IotaOp::create(*this, getTensorType(sizes, elementType), axis);
}

Value TensorBuilder::sizeValue(Expr value, Type elementType) {
  if (auto constant = value.getConstant())
    return integerSplat(*constant, {}, elementType);
  Type i64 = getI64Type();
  bool direct = elementType == i64 || elementType.isSignlessInteger(32);
  Value result = SizeValueOp::create(
      *this, RankedTensorType::get({}, direct ? elementType : i64),
      value.getAttr());
  return cast(result, elementType);
}

Value TensorBuilder::sizeVector(ArrayRef<Expr> values) {
  Type i64 = getI64Type();
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, i64);
  if (llvm::all_of(values, [](Expr value) { return value.isConstant(); })) {
    SmallVector<int64_t> numbers;
    for (Expr value : values)
      numbers.push_back(value.getValue());
    return ConstantOp::create(
        *this, type, DenseElementsAttr::get(type, llvm::ArrayRef(numbers)));
  }
  SmallVector<Value> parts;
  for (Expr value : values)
    parts.push_back(reshape(sizeValue(value, i64), getExpr(1)));
  return concat(parts, 0);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Value TensorBuilder::retarget(Value x, ArrayRef<Expr> sizes) {
  SmallVector<Expr> from = getSizes(x);
  if (llvm::equal(from, sizes))
    return x;
  SmallVector<Expr> offsets(sizes.size(), getExpr(0));
  return slice(x, offsets, sizes, SmallVector<int64_t>(sizes.size(), 1));
}

Value TensorBuilder::broadcast(Value x, ArrayRef<Expr> sizes,
                               ArrayRef<int64_t> dimensions) {
  SmallVector<Expr> operand = getSizes(x);
  for (auto [i, d] : llvm::enumerate(dimensions))
    if (!operand[i].isConstant(1))
      operand[i] = sizes[d];
  x = retarget(x, operand);
  if (llvm::equal(operand, sizes))
    return x;
  Type type = getTensorType(sizes, getElementType(x));
  return BroadcastOp::create(*this, type, x, dimensions);
}

Value TensorBuilder::broadcastTo(Value x, ArrayRef<Expr> sizes) {
  SmallVector<int64_t> dimensions;
  for (int64_t i = 0, rank = getRank(x); i < rank; ++i)
    dimensions.push_back(sizes.size() - rank + i);
  return broadcast(x, sizes, dimensions);
}

/// ONNX leaves it to the run whether a named size is 1 and broadcasts.
static void noteTakenEqual(Location loc, Expr a, Expr b) {
  auto isName = [](Expr size) { return size.getKind() == ExprKind::Symbol; };
  if (a == b || !(isName(a) || a.isConstant()) ||
      !(isName(b) || b.isConstant()))
    return;
  Expr name = isName(b) ? b : a, other = isName(b) ? a : b;
  std::string text = quoted(name.getName());
  emitWarning(loc) << text << " is taken to equal "
                   << (isName(other) ? quoted(other.getName()) : other.str())
                   << "; if it is 1, give --dim "
                   << llvm::StringRef(text).drop_front().drop_back() << "=1";
}

std::optional<Expr> TensorBuilder::broadcastSize(Expr a, Expr b) {
  if (a.isConstant(1))
    return b;
  if (b.isConstant(1))
    return a;
  auto common =
      agreement.agree(a, b, "sizes that are broadcast together must be equal");
  if (common)
    noteTakenEqual(getLoc(), a, b);
  return common;
}

FailureOr<Sizes> TensorBuilder::broadcastSizes(ArrayRef<Sizes> all) {
  Sizes result;
  for (const Sizes &sizes : all) {
    if (sizes.size() > result.size())
      result.insert(result.begin(), sizes.size() - result.size(), getExpr(1));
    for (size_t i = 0; i < sizes.size(); ++i) {
      Expr &size = result[result.size() - sizes.size() + i];
      auto common = broadcastSize(size, sizes[i]);
      if (!common)
        return failure();
      size = *common;
    }
  }
  return result;
}

LogicalResult TensorBuilder::broadcastAll(MutableArrayRef<Value> values) {
  SmallVector<Sizes> all;
  for (Value value : values)
    all.push_back(getSizes(value));
  FailureOr<Sizes> sizes = broadcastSizes(all);
  if (failed(sizes))
    return failure();
  for (Value &value : values)
    value = broadcastTo(value, *sizes);
  return success();
}

ArrayAttr
TensorBuilder::getReassociation(ArrayRef<SmallVector<int64_t>> groups) {
  SmallVector<Attribute> attrs;
  for (ArrayRef<int64_t> group : groups)
    attrs.push_back(getI64ArrayAttr(group));
  return getArrayAttr(attrs);
}
Value TensorBuilder::collapse(Value x, ArrayRef<SmallVector<int64_t>> groups) {
  Sizes sizes = collapseSizes(getSizes(x), groups, getContext());
  return CollapseOp::create(*this, getTensorType(sizes, getElementType(x)), x,
                            getReassociation(groups));
}
Value TensorBuilder::expand(Value x, ArrayRef<SmallVector<int64_t>> groups,
                            ArrayRef<Expr> sizes) {
  return ExpandOp::create(*this, getTensorType(sizes, getElementType(x)), x,
                          getReassociation(groups));
}

namespace {
/// Dimensions [fromBegin, fromEnd) become [toBegin, toEnd).
struct ReshapeGroup {
  int64_t fromBegin, fromEnd, toBegin, toEnd;
};
} // namespace

/// The smallest groups of neighbouring dimensions with equal products.
static SmallVector<ReshapeGroup> groupDimensions(ArrayRef<Expr> from,
                                                 ArrayRef<Expr> to) {
  int64_t fromRank = from.size(), toRank = to.size();
  SmallVector<ReshapeGroup> whole = {{0, fromRank, 0, toRank}};
  // Products that contain 0 tell nothing about the parts.
  for (ArrayRef<Expr> sizes : {from, to})
    for (Expr size : sizes)
      if (size.isConstant(0))
        return whole;
  SmallVector<ReshapeGroup> groups;
  int64_t i = 0, j = 0;
  while (i < fromRank && j < toRank) {
    bool found = false;
    Expr left = from[i];
    for (int64_t iEnd = i + 1; iEnd <= fromRank && !found; ++iEnd) {
      Expr right = to[j];
      for (int64_t jEnd = j + 1; jEnd <= toRank && !found; ++jEnd) {
        if (left == right) {
          groups.push_back({i, iEnd, j, jEnd});
          i = iEnd, j = jEnd;
          found = true;
        } else if (jEnd < toRank) {
          right = right * to[jEnd];
        }
      }
      if (!found && iEnd < fromRank)
        left = left * from[iEnd];
    }
    if (!found)
      return whole;
  }
  // What is left has size 1.
  groups.back().fromEnd = fromRank;
  groups.back().toEnd = toRank;
  return groups;
}

Value TensorBuilder::reshape(Value x, ArrayRef<Expr> sizes) {
  SmallVector<Expr> from = getSizes(x);
  if (llvm::equal(from, sizes))
    return x;
  if (from.empty())
    return collapse(x, Groups(sizes.size()));
  if (sizes.empty())
    return expand(x, Groups(from.size()), {});
  bool collapses = false, expands = false;
  Groups collapsed, expanded;
  for (ReshapeGroup group : groupDimensions(from, sizes)) {
    collapses |= group.fromEnd - group.fromBegin > 1;
    expands |= group.toEnd - group.toBegin > 1;
    collapsed.push_back(
        llvm::to_vector(llvm::seq(group.fromBegin, group.fromEnd)));
    expanded.push_back(llvm::to_vector(llvm::seq(group.toBegin, group.toEnd)));
  }
  if (collapses)
    x = collapse(x, collapsed);
  if (expands)
    x = expand(x, expanded, sizes);
  return x;
}

Value TensorBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<Expr> sizes = getSizes(x), result;
  bool identity = true;
  for (auto [i, p] : llvm::enumerate(permutation)) {
    result.push_back(sizes[p]);
    identity &= p == static_cast<int64_t>(i);
  }
  if (identity)
    return x;
  return TransposeOp::create(*this, getTensorType(result, getElementType(x)), x,
                             permutation);
}

Value TensorBuilder::slice(Value x, ArrayRef<Expr> offsets,
                           ArrayRef<Expr> sizes, ArrayRef<int64_t> steps) {
  SmallVector<Attribute> attrs;
  for (Expr offset : offsets)
    attrs.push_back(offset.getAttr());
  return SliceOp::create(*this, getTensorType(sizes, getElementType(x)), x,
                         getArrayAttr(attrs), steps);
}

Value TensorBuilder::sliceAxis(Value x, int64_t axis, Expr offset, Expr size,
                               int64_t step) {
  SmallVector<Expr> sizes = getSizes(x), offsets(sizes.size(), getExpr(0));
  SmallVector<int64_t> steps(sizes.size(), 1);
  if (offset.isConstant(0) && size == sizes[axis] && step == 1)
    return x;
  offsets[axis] = offset;
  sizes[axis] = size;
  steps[axis] = step;
  return slice(x, offsets, sizes, steps);
}

Value TensorBuilder::concat(ArrayRef<Value> values, int64_t axis) {
  if (values.size() == 1)
    return values[0];
  SmallVector<Expr> sizes = getSizes(values[0]);
  for (Value value : values.drop_front())
    sizes[axis] = sizes[axis] + getSizes(value)[axis];
  return ConcatOp::create(
      *this, getTensorType(sizes, getElementType(values[0])), values, axis);
}

Value TensorBuilder::unsqueeze(Value x, ArrayRef<int64_t> axes) {
  SmallVector<Expr> sizes = getSizes(x);
  for (int64_t axis : axes)
    sizes.insert(sizes.begin() + axis, getExpr(1));
  return reshape(x, sizes);
}
Value TensorBuilder::squeeze(Value x, ArrayRef<int64_t> axes) {
  SmallVector<Expr> sizes;
  for (auto [i, size] : llvm::enumerate(getSizes(x)))
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      sizes.push_back(size);
  return reshape(x, sizes);
}

//===----------------------------------------------------------------------===//
// Reductions and products
//===----------------------------------------------------------------------===//

Value TensorBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes,
                            bool keepDims) {
  SmallVector<Expr> kept, reduced;
  for (auto [i, size] : llvm::enumerate(getSizes(x))) {
    bool isReduced = llvm::is_contained(axes, static_cast<int64_t>(i));
    if (!isReduced)
      reduced.push_back(size);
    kept.push_back(isReduced ? getExpr(1) : size);
  }
  Value result = x;
  if (!axes.empty())
    result = ReduceOp::create(*this, getTensorType(reduced, getElementType(x)),
                              kind, x, axes);
  return keepDims ? reshape(result, kept) : result;
}

Value TensorBuilder::mean(Value x, ArrayRef<int64_t> axes, bool keepDims) {
  Expr count = getExpr(1);
  for (int64_t axis : axes)
    count = count * getSizes(x)[axis];
  Value sum = reduce(ReduceKind::Sum, x, axes, keepDims);
  Type type = getElementType(sum);
  auto number = count.getConstant();
  Value divisor = number ? integerSplat(*number, getSizes(sum), type)
                         : broadcastTo(sizeValue(count, type), getSizes(sum));
  return binary<DivOp>(sum, divisor);
}

Value TensorBuilder::matmul(Value a, Value b, bool transposeA,
                            bool transposeB) {
  SmallVector<Expr> left = getSizes(a), right = getSizes(b);
  auto sizes = inferMatmulSizes(left, right, transposeA, transposeB,
                                [](const Twine &) {});
  return MatmulOp::create(*this, getTensorType(*sizes, getElementType(a)), a, b,
                          transposeA, transposeB);
}

} // namespace fusec::onnx
