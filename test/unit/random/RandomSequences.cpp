// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What models of histories do with a few rows a batch: scores of rows, masked,
// that the rows are summed by, and concats of rows that products read as well.

#include "compiler/transforms/tensor/Rewrites.h"
#include "test/unit/random/RandomProgram.h"

using namespace mlir;

namespace fusec {

/// [n, rows, 4], by a layer, by lookups or as they are.
Value RandomProgram::addRows() {
  MLIRContext *context = builder.getContext();
  Value x = floats[0];
  Expr n = getSizes(x)[0], four = Expr::constant(context, 4);
  int64_t rows = 2 + pick(3);
  Sizes sizes = {n, Expr::constant(context, rows), four};
  if (pick(3) == 0)
    return createBroadcast(builder, loc, x, sizes, {0, 2});
  Value flat = multiply(x, 4, 4 * rows);
  if (pick(2))
    flat = SigmoidOp::create(builder, loc, flat.getType(), flat);
  Value value = createExpand(builder, loc, flat, sizes, {{0}, {1, 2}});
  return pick(2) ? value : multiplyRows(value, 4);
}

/// By a constant matrix that all batches share.
Value RandomProgram::multiplyRows(Value a, int64_t columns) {
  Sizes sizes = getSizes(a), matrix = sizes;
  int64_t depth = sizes[2].getValue();
  matrix[1] = sizes[2];
  sizes[2] = matrix[2] = Expr::constant(builder.getContext(), columns);
  Value weights = createBroadcast(
      builder, loc, createConstant({depth, columns}), matrix, {1, 2});
  return MatmulOp::create(builder, loc,
                          getTensorType(sizes, builder.getF32Type()), a,
                          weights, UnitAttr(), UnitAttr());
}

/// Some of the elements, the others times something or a number.
Value RandomProgram::mask(Value x) {
  Sizes sizes = getSizes(x);
  Type type = x.getType();
  if (pick(2)) {
    Value factor = fit(pickFloat(), sizes);
    return pick(2) ? MulOp::create(builder, loc, factor, x)
                   : MulOp::create(builder, loc, x, factor);
  }
  Value wanted =
      LessOp::create(builder, loc, getTensorType(sizes, builder.getI1Type()),
                     fit(pickFloat(), sizes), fit(floats[2], sizes));
  Value other =
      SplatOp::create(builder, loc, type, builder.getF32FloatAttr(-pick(2)));
  return pick(2) ? SelectOp::create(builder, loc, wanted, x, other)
                 : SelectOp::create(builder, loc, wanted, other, x);
}

/// The rows summed by scores of theirs.
void RandomProgram::addWeightedSum(Value rows) {
  Value scores = multiplyRows(rows, pick(2) ? 1 : 1 + pick(4));
  if (pick(3) == 0)
    scores = ReluOp::create(builder, loc, scores.getType(), scores);
  scores = createTranspose(builder, loc, scores, {0, 2, 1});
  for (int64_t i = 0, count = pick(3); i < count; ++i)
    scores = mask(scores);
  Sizes sizes = getSizes(scores);
  sizes[2] = getSizes(rows)[2];
  floats.push_back(MatmulOp::create(builder, loc,
                                    getTensorType(sizes, builder.getF32Type()),
                                    scores, rows, UnitAttr(), UnitAttr()));
}

/// A concat of rows, or columns, with their maximum, and a layer of the rows.
void RandomProgram::addSharedConcat(Value rows) {
  int64_t axis = 1 + pick(2);
  Sizes sizes = getSizes(rows), kept = {sizes[0], sizes[3 - axis]}, one = sizes,
        whole = sizes;
  Type element = builder.getF32Type();
  Value most = ReduceOp::create(builder, loc, getTensorType(kept, element),
                                ReduceKind::Max, rows, ArrayRef<int64_t>(axis));
  one[axis] = Expr::constant(builder.getContext(), 1);
  Groups groups;
  if (axis == 1)
    groups = {{0, 1}, {2}};
  else
    groups = {{0}, {1, 2}};
  most = createExpand(builder, loc, most, one, groups);
  whole[axis] = sizes[axis] + 1;
  SmallVector<Value> pieces = {rows, most};
  if (pick(2))
    std::swap(pieces[0], pieces[1]);
  floats.push_back(ConcatOp::create(builder, loc, getTensorType(whole, element),
                                    pieces, axis));
  Value layer = multiplyRows(rows, 1 + pick(6));
  floats.push_back(
      pick(2) ? layer : ReluOp::create(builder, loc, layer.getType(), layer));
}

void RandomProgram::addSequence() {
  Value rows = addRows();
  if (pick(2))
    floats.push_back(rows);
  int64_t kind = pick(3);
  if (kind != 0)
    addWeightedSum(rows);
  if (kind != 1)
    addSharedConcat(rows);
}

} // namespace fusec
