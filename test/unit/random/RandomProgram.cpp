// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/random/RandomProgram.h"
#include "compiler/transforms/tensor/Rewrites.h"
#include "ir/reference/Elements.h"

using namespace mlir;

namespace fusec {

constexpr unsigned maxRank = 4;
/// Elements of a value when the named dimension is 2.
constexpr int64_t maxElements = 600;

static std::optional<int64_t> countElements(ArrayRef<Expr> sizes) {
  if (sizes.empty())
    return 1;
  return getElementCount(sizes, sizes[0].getContext()).evaluate([](Expr) {
    return std::optional<int64_t>(2);
  });
}

RandomProgram::RandomProgram(MLIRContext &context, uint64_t seed)
    : random(seed), builder(&context), loc(builder.getUnknownLoc()) {
  module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto model = ModelOp::create(
      builder, loc, "main", builder.getStrArrayAttr({"x", "y", "ids"}),
      builder.getArrayAttr({}), builder.getArrayAttr({}));
  Block &block = model.getBody().emplaceBlock();
  Expr n = Expr::symbol(&context, "n"), four = Expr::constant(&context, 4),
       three = Expr::constant(&context, 3);
  Type f32 = builder.getF32Type();
  for (Type type :
       {getTensorType({n, four}, f32), getTensorType({three, four}, f32),
        getTensorType({n, three}, builder.getI64Type())})
    block.addArgument(type, loc);
  builder.setInsertionPointToEnd(&block);
  floats = {block.getArgument(0), block.getArgument(1), createConstant({4}),
            createConstant({4, 3}), createConstant({4, 4})};
  indices = block.getArgument(2);
  if (seed % 2)
    addSequence();
  if (pick(4) == 0)
    addLayers();
  for (int64_t i = 0, count = 4 + pick(20); i < count; ++i)
    addOp();

  SmallVector<Value> outputs;
  SmallVector<StringRef> names;
  SmallVector<std::string> texts;
  for (Value value : llvm::reverse(floats))
    if (value.use_empty() && outputs.size() < 4)
      outputs.push_back(value);
  for (size_t i = 0; i < outputs.size(); ++i)
    texts.push_back("out" + std::to_string(i));
  names.assign(texts.begin(), texts.end());
  OutputOp::create(builder, loc, outputs);
  model.setOutputNamesAttr(builder.getStrArrayAttr(names));
}

reference::Tensors RandomProgram::createInputs(int64_t size) {
  reference::Tensors inputs;
  std::uniform_real_distribution<double> reals(-2, 2);
  for (BlockArgument argument : getModel().getBody().front().getArguments()) {
    SmallVector<int64_t> sizes;
    for (Expr expr : getSizes(argument))
      sizes.push_back(expr.getConstant().value_or(size));
    auto tensor = reference::Tensor::allocate(getElementType(argument), sizes);
    if (isa<FloatType>(getElementType(argument)))
      for (float &value : tensor.getMutableElements<float>())
        value = reals(random);
    else
      for (int64_t &value : tensor.getMutableElements<int64_t>())
        value = pick(4);
    inputs.push_back(tensor);
  }
  return inputs;
}

int64_t RandomProgram::pick(int64_t below) {
  return below <= 1
             ? 0
             : std::uniform_int_distribution<int64_t>(0, below - 1)(random);
}

Value RandomProgram::pickFloat() {
  // Later values more often, so that chains grow.
  int64_t count = floats.size();
  return floats[std::max(pick(count), pick(count))];
}

Value RandomProgram::createConstant(ArrayRef<int64_t> sizes) {
  SmallVector<float> values;
  for (int64_t i = 0, count = ShapedType::getNumElements(sizes); i < count; ++i)
    values.push_back((pick(17) - 8) / 4.0f);
  auto type = RankedTensorType::get(sizes, builder.getF32Type());
  return ConstantOp::create(builder, loc,
                            DenseElementsAttr::get(type, ArrayRef(values)));
}

void RandomProgram::addOp() {
  Value (RandomProgram::*const makers[])() = {
      &RandomProgram::addPointwise, &RandomProgram::addReshape,
      &RandomProgram::addReshape,   &RandomProgram::addBroadcast,
      &RandomProgram::addTranspose, &RandomProgram::addSlice,
      &RandomProgram::addConcat,    &RandomProgram::addGather,
      &RandomProgram::addReduce,    &RandomProgram::addMatmul,
      &RandomProgram::addPointwise};
  Value value = (this->*makers[pick(std::size(makers))])();
  auto count = value ? countElements(getSizes(value)) : std::nullopt;
  if (count && *count <= maxElements && getRank(value) > 0)
    floats.push_back(value);
}

/// The value spread to the sizes, or a splat where that is not possible.
Value RandomProgram::fit(Value value, ArrayRef<Expr> sizes) {
  Sizes own = getSizes(value);
  if (own == sizes)
    return value;
  if (own.size() <= sizes.size()) {
    SmallVector<int64_t> dims;
    bool fits = true;
    for (size_t i = 0; i < own.size(); ++i) {
      size_t d = sizes.size() - own.size() + i;
      fits &= own[i] == sizes[d] || own[i].isConstant(1);
      dims.push_back(d);
    }
    if (fits)
      return createBroadcast(builder, loc, value, sizes, dims);
  }
  double number = std::array{1.0, 0.5, -1.5, 0.0}[pick(4)];
  return SplatOp::create(builder, loc,
                         getTensorType(sizes, builder.getF32Type()),
                         builder.getF32FloatAttr(number));
}

Value RandomProgram::addPointwise() {
  Value x = pickFloat();
  Type type = x.getType();
  switch (pick(11)) {
  case 0:
    return NegOp::create(builder, loc, type, x);
  case 1:
    return AbsOp::create(builder, loc, type, x);
  case 2:
    return ReluOp::create(builder, loc, type, x);
  case 3:
    return SigmoidOp::create(builder, loc, type, x);
  case 4:
    return MulOp::create(builder, loc, x,
                         SigmoidOp::create(builder, loc, type, x));
  case 5:
    return SubOp::create(builder, loc, x, fit(pickFloat(), getSizes(x)));
  case 6:
    return MaxOp::create(builder, loc, x, fit(pickFloat(), getSizes(x)));
  case 7:
  case 8:
    return MulOp::create(builder, loc, x, fit(pickFloat(), getSizes(x)));
  default:
    return AddOp::create(builder, loc, fit(pickFloat(), getSizes(x)), x);
  }
}

Value RandomProgram::addReshape() {
  Value x = pickFloat();
  Sizes sizes = getSizes(x), result;
  Groups groups;
  if (pick(2)) {
    // Join runs of dimensions.
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (groups.empty() || pick(2))
        groups.emplace_back();
      groups.back().push_back(i);
    }
    return createCollapse(builder, loc, x, groups);
  }
  // Split by a factor, or add dimensions of size 1.
  Expr one = Expr::constant(builder.getContext(), 1);
  for (Expr size : sizes) {
    groups.emplace_back();
    auto add = [&](Expr part) {
      groups.back().push_back(result.size());
      result.push_back(part);
    };
    auto [factor, rest] = splitCoefficient(size);
    if (getTerms(size).size() == 1 && factor % 2 == 0 && pick(2)) {
      add(Expr::constant(builder.getContext(), 2));
      add(rest * (factor / 2));
    } else if (pick(4) == 0) {
      bool before = pick(2);
      if (before)
        add(one);
      add(size);
      if (!before)
        add(one);
    } else {
      add(size);
    }
  }
  if (result.size() > maxRank)
    return {};
  return createExpand(builder, loc, x, result, groups);
}

Value RandomProgram::addBroadcast() {
  Value x = pickFloat();
  Sizes sizes = getSizes(x), result;
  SmallVector<int64_t> dims;
  for (Expr size : sizes) {
    if (pick(3) == 0)
      result.push_back(Expr::constant(builder.getContext(), 1 + pick(3)));
    dims.push_back(result.size());
    bool spread = size.isConstant(1) && pick(2);
    result.push_back(spread ? Expr::constant(builder.getContext(), 3) : size);
  }
  if (result.size() > maxRank)
    return {};
  return createBroadcast(builder, loc, x, result, dims);
}

Value RandomProgram::addTranspose() {
  Value x = pickFloat();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, getRank(x)));
  std::shuffle(permutation.begin(), permutation.end(), random);
  return createTranspose(builder, loc, x, permutation);
}

Value RandomProgram::addSlice() {
  Value x = pickFloat();
  Sizes sizes = getSizes(x);
  SmallVector<Expr> offsets;
  SmallVector<int64_t> steps;
  MLIRContext *context = builder.getContext();
  for (Expr &size : sizes) {
    int64_t step = 1, offset = 0;
    if (auto known = size.getConstant(); known && *known > 0 && pick(2)) {
      offset = pick(*known);
      step = std::array{1, 2, -1}[pick(3)];
      int64_t most =
          step > 0 ? (*known - offset + step - 1) / step : offset + 1;
      size = Expr::constant(context, 1 + pick(most));
    }
    offsets.push_back(Expr::constant(context, offset));
    steps.push_back(step);
  }
  return createSlice(builder, loc, x, offsets, sizes, steps);
}

Value RandomProgram::addConcat() {
  Value x = pickFloat();
  int64_t axis = pick(getRank(x));
  SmallVector<Value> values = {x};
  SmallVector<Sizes> sizes = {getSizes(x)};
  auto infer = [&] {
    return inferConcatSizes(sizes, axis, [](const Twine &) {});
  };
  for (int i = 0; i < 3; ++i) {
    Value other = pickFloat();
    sizes.push_back(getSizes(other));
    if (succeeded(infer()))
      values.push_back(other);
    else
      sizes.pop_back();
  }
  return ConcatOp::create(builder, loc,
                          getTensorType(*infer(), builder.getF32Type()), values,
                          axis);
}

/// Rows of a matrix by a column of the indices, two of them side by side, or a
/// column by a constant index.
Value RandomProgram::addGather() {
  Value x = pickFloat();
  Sizes sizes = getSizes(x);
  auto rows = sizes[0].getConstant();
  if (sizes.size() != 2)
    return {};
  auto policy = IndexPolicyAttr::get(builder.getContext(), IndexPolicy::Zero);
  if (!rows || pick(2)) {
    if (!sizes[1].getConstant())
      return {};
    auto index = SplatOp::create(builder, loc,
                                 getTensorType(sizes[0], builder.getI64Type()),
                                 builder.getI64IntegerAttr(pick(5) - 2));
    return GatherOp::create(
        builder, loc, getTensorType(sizes[0], builder.getF32Type()), x,
        builder.getDenseI64ArrayAttr({0, -1}), ValueRange{index}, policy);
  }
  SmallVector<Value> columns;
  Expr n = getSizes(indices)[0], zero = Expr::constant(builder.getContext(), 0),
       one = Expr::constant(builder.getContext(), 1);
  Sizes result = {n, sizes[1]};
  for (int64_t column : {0, 1, 2}) {
    Value ids = createSlice(
        builder, loc, indices,
        {zero, Expr::constant(builder.getContext(), column)}, {n, one}, {1, 1});
    Value spread = createBroadcast(builder, loc, ids, result, {0, 1});
    columns.push_back(GatherOp::create(
        builder, loc, getTensorType(result, builder.getF32Type()), x,
        builder.getDenseI64ArrayAttr({-1, 1}), ValueRange{spread}, policy));
  }
  if (pick(3) == 0)
    return columns[pick(3)];
  result[1] = sizes[1] * 3;
  return ConcatOp::create(
      builder, loc, getTensorType(result, builder.getF32Type()), columns, 1);
}

Value RandomProgram::addReduce() {
  Value x = pickFloat();
  int64_t axis = pick(getRank(x));
  auto sizes = inferReduceSizes(getSizes(x), axis, [](const Twine &) {});
  auto kind = pick(2) ? ReduceKind::Sum : ReduceKind::Max;
  return ReduceOp::create(builder, loc,
                          getTensorType(*sizes, builder.getF32Type()), kind, x,
                          ArrayRef<int64_t>(axis));
}

/// By a constant matrix of so many rows and columns.
Value RandomProgram::multiply(Value a, int64_t rows, int64_t columns) {
  Sizes sizes = {getSizes(a)[0], Expr::constant(builder.getContext(), columns)};
  return MatmulOp::create(
      builder, loc, getTensorType(sizes, builder.getF32Type()), a,
      createConstant({rows, columns}), UnitAttr(), UnitAttr());
}

/// a W, or a W + (a A) B, with scales and shifts around it.
Value RandomProgram::addLayer(Value a) {
  auto width = getSizes(a).back().getConstant();
  if (getRank(a) != 2 || !width || *width > 12)
    return {};
  auto row = [&](int64_t size, Value of) {
    return fit(createConstant(size), getSizes(of));
  };
  if (pick(3) == 0)
    a = MulOp::create(builder, loc, a, row(*width, a));
  int64_t columns = 2 + pick(6);
  Value result = multiply(a, *width, columns);
  if (pick(3) == 0) {
    int64_t rank = 2 + pick(2);
    Value update = multiply(multiply(a, *width, rank), rank, columns);
    result = AddOp::create(builder, loc, result, update);
  }
  if (pick(2))
    result = AddOp::create(builder, loc, result, row(columns, result));
  if (pick(2))
    result = MulOp::create(builder, loc, row(columns, result), result);
  if (pick(2))
    result = SubOp::create(builder, loc, result, row(columns, result));
  return result;
}

/// A few layers on one value; what each gives may be used again.
void RandomProgram::addLayers() {
  Value value = floats[pick(2)];
  for (int64_t i = 0, count = 2 + pick(3); i < count; ++i) {
    value = addLayer(value);
    if (pick(2))
      value = ReluOp::create(builder, loc, value.getType(), value);
    if (pick(3) == 0 && value.getType() == floats.back().getType())
      value = AddOp::create(builder, loc, value, floats.back());
    floats.push_back(value);
  }
}

/// Half of them by constant weights.
Value RandomProgram::addMatmul() {
  Value a = pickFloat();
  if (pick(2)) {
    if (getRank(a) == 3 && getSizes(a)[2].isConstant(4)) {
      // A matrix that all batches share.
      Sizes sizes = getSizes(a), matrix = getSizes(floats[4]);
      matrix.insert(matrix.begin(), sizes[0]);
      Value weights = createBroadcast(builder, loc, floats[4], matrix, {1, 2});
      return MatmulOp::create(builder, loc, a.getType(), a, weights, UnitAttr(),
                              UnitAttr());
    }
    return addLayer(a);
  }
  for (int attempt = 0; attempt < 12; ++attempt) {
    Value b = pickFloat();
    bool transposeA = pick(3) == 0, transposeB = pick(2);
    auto sizes = inferMatmulSizes(getSizes(a), getSizes(b), transposeA,
                                  transposeB, [](const Twine &) {});
    if (succeeded(sizes))
      return MatmulOp::create(builder, loc,
                              getTensorType(*sizes, builder.getF32Type()), a, b,
                              transposeA ? builder.getUnitAttr() : UnitAttr(),
                              transposeB ? builder.getUnitAttr() : UnitAttr());
  }
  return {};
}

} // namespace fusec
