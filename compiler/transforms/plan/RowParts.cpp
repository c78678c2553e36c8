// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/plan/RowParts.h"

using namespace mlir;
using namespace fusec;

Value RowParts::reduce(ReduceKind kind, Value operand, ArrayRef<int64_t> axes,
                       RankedTensorType type, int64_t parts) {
  auto attr = parts ? builder.getI64IntegerAttr(parts) : IntegerAttr();
  return ReduceOp::create(builder, loc, type, kind, operand, axes, attr);
}

Value RowParts::splat(RankedTensorType type, double value) {
  return SplatOp::create(builder, loc, type,
                         builder.getF32FloatAttr(float(value)));
}

Value RowParts::repeat(Value ofRows, RankedTensorType parts) {
  auto behindParts = llvm::to_vector(llvm::seq<int64_t>(1, parts.getRank()));
  return BroadcastOp::create(builder, loc, parts, ofRows, behindParts);
}

/// A group for each dimension before the last ones, and one of these.
static ArrayAttr groupLast(OpBuilder &builder, int64_t before, int64_t rank) {
  SmallVector<Attribute> groups;
  for (int64_t i = 0; i < before; ++i)
    groups.push_back(builder.getI64ArrayAttr({i}));
  groups.push_back(builder.getI64ArrayAttr(
      llvm::to_vector(llvm::seq<int64_t>(before, rank))));
  return builder.getArrayAttr(groups);
}

Value RowParts::spread(Value ofParts, ArrayRef<Expr> sizes,
                       ArrayRef<int64_t> axes, Expr partLength) {
  SmallVector<Expr> own = getSizes(ofParts), order(own), behindRows;
  auto rank = int64_t(own.size()), rows = rank - 1;
  Type element = getElementType(ofParts);
  auto getType = [&](ArrayRef<Expr> of) { return getTensorType(of, element); };
  std::rotate(order.begin(), order.begin() + 1, order.end());
  SmallVector<Expr> flat(order.begin(), order.begin() + rows), apart(flat);
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  permutation.push_back(0);
  Value value =
      TransposeOp::create(builder, loc, getType(order), ofParts, permutation);
  order.push_back(partLength);
  value = BroadcastOp::create(builder, loc, getType(order), value,
                              llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  flat.push_back(own[0] * partLength);
  value = CollapseOp::create(builder, loc, getType(flat), value,
                             groupLast(builder, rows, rank + 1));
  for (int64_t axis : axes)
    behindRows.push_back(sizes[axis]);
  Expr length = getElementCount(behindRows, builder.getContext());
  if (flat.back() != length) {
    flat.back() = length;
    Attribute zero = Expr::constant(builder.getContext(), 0).getAttr();
    value = SliceOp::create(
        builder, loc, getType(flat), value,
        builder.getArrayAttr(SmallVector<Attribute>(rank, zero)),
        SmallVector<int64_t>(rank, 1));
  }
  llvm::append_range(apart, behindRows);
  if (axes.size() > 1)
    value = ExpandOp::create(builder, loc, getType(apart), value,
                             groupLast(builder, rows, int64_t(sizes.size())));
  if (axes.front() == rows)
    return value;
  // Back to where the dimensions are: those of rows first, then the axes.
  SmallVector<int64_t> places;
  for (int64_t dim = 0, row = 0; dim < int64_t(sizes.size()); ++dim) {
    const auto *axis = llvm::find(axes, dim);
    places.push_back(axis == axes.end() ? row++ : rows + (axis - axes.begin()));
  }
  return TransposeOp::create(builder, loc, getType(sizes), value, places);
}

SmallVector<Value>
fusec::passParts(CutStep &split, StepOp step, StepBuilder &first,
                 StepBuilder &second,
                 ArrayRef<std::pair<StringRef, Value>> ofParts) {
  SmallVector<Attribute> refs;
  SmallVector<Value> values, read;
  for (auto [name, value] : ofParts) {
    auto type = cast<RankedTensorType>(value.getType());
    split.parts.push_back(createSlot(step, name, type));
    refs.push_back(FlatSymbolRefAttr::get(split.parts.back()));
    values.push_back(value);
    read.push_back(second.addInput(refs.back(), type));
  }
  split.first = first.finish(refs, values);
  return read;
}
