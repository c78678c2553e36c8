// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/src/SmallFloat.h"
#include "test/gpu/Large.h"
#include "test/support/ModelBuilder.h"

#include <atomic>
#include <cmath>

using namespace fusec;

namespace {
/// A model of one input, of halves, and one output.
class LargeModel : public fusec::onnx::test::ModelBuilder {
public:
  explicit LargeModel(llvm::ArrayRef<int64_t> sizes) {
    input("x", "float16", sizes);
  }
  /// `type` may name sizes that are known at run time only.
  explicit LargeModel(llvm::StringRef type) { input("x", type); }
  /// The input as fp32, in which sums are exact.
  std::string widen() {
    node("Cast", {"x"}, {"wide"}, "to=1");
    return "wide";
  }
  /// The model's bytes, once a node gives "out".
  std::string finish(llvm::StringRef type = "float16") {
    return output("out", type).proto.SerializeAsString();
  }
};
} // namespace

/// Compares elements of T with expected(i).
template <class T, class Expected>
static std::function<int64_t(const void *, int64_t)>
compare(int64_t count, Expected expected) {
  return [=](const void *output, int64_t found) {
    std::atomic<int64_t> wrong{found != count};
    forEachPart(std::min(count, found), [&](int64_t begin, int64_t end) {
      int64_t some = 0;
      for (int64_t i = begin; i != end; ++i)
        some += static_cast<const T *>(output)[i] != T(expected(i));
      wrong += some;
    });
    return wrong.load();
  };
}

/// max(x, 0), twice.
static LargeCase makePointwise() {
  std::vector<int64_t> sizes = {(int64_t(1) << 31) + 2051};
  LargeModel model(sizes);
  model.node("Relu", {"x"}, {"positive"});
  model.node("Add", {"positive", "positive"}, {"out"});
  std::vector<uint16_t> twice(Pattern::most + 1);
  for (int value = 0; value <= Pattern::most; ++value)
    twice[value] = rt::toHalf(2 * value);
  return {"pointwise",
          model.finish(),
          sizes,
          {},
          compare<uint16_t>(sizes[0], [=](int64_t i) {
            return twice[std::max(getPattern().getValue(i), 0)];
          })};
}

static LargeCase makeTranspose() {
  int64_t rows = 32771, columns = 65539;
  LargeModel model({rows, columns});
  model.node("Transpose", {"x"}, {"out"}, "perm=1,0");
  return {"transpose",
          model.finish(),
          {rows, columns},
          {},
          compare<uint16_t>(rows * columns, [=](int64_t i) {
            return getPattern().getBits(i % rows * columns + i / rows);
          })};
}

static LargeCase makeSlice() {
  int64_t rows = 524309, columns = 4100, first = 3, width = 4095;
  LargeModel model({rows, columns});
  model.ints("starts", first).ints("ends", first + width).ints("axes", 1);
  model.node("Slice", {"x", "starts", "ends", "axes"}, {"out"});
  return {"slice",
          model.finish(),
          {rows, columns},
          {},
          compare<uint16_t>(rows * width, [=](int64_t i) {
            return getPattern().getBits(i / width * columns + first +
                                        i % width);
          })};
}

/// Each row twice.
static LargeCase makeConcat() {
  int64_t rows = 524309, columns = 2053;
  LargeModel model({rows, columns});
  model.node("Concat", {"x", "x"}, {"out"}, "axis=1");
  return {"concat",
          model.finish(),
          {rows, columns},
          {},
          compare<uint16_t>(rows * columns * 2, [=](int64_t i) {
            return getPattern().getBits(i / (2 * columns) * columns +
                                        i % columns);
          })};
}

static LargeCase makeGather() {
  int64_t rows = 4194311, columns = 513;
  std::vector<int64_t> ids = {0, rows - 1, -1, -rows};
  while (ids.size() != 8191)
    ids.push_back(int64_t(ids.size()) * 2654435761 % rows);
  LargeModel model({rows, columns});
  model.input("ids", "int64", int64_t(ids.size()));
  model.node("Gather", {"x", "ids"}, {"out"}, "axis=0");
  return {"gather",
          model.finish(),
          {rows, columns},
          ids,
          compare<uint16_t>(int64_t(ids.size()) * columns, [=](int64_t i) {
            int64_t id = ids[i / columns];
            return getPattern().getBits((id < 0 ? id + rows : id) * columns +
                                        i % columns);
          })};
}

/// Over one axis, of which `outer` lie before and `inner` behind it.
static LargeCase makeSum(const std::string &name, int64_t outer, int64_t length,
                         int64_t inner) {
  std::vector<int64_t> sizes = {outer, length, inner};
  LargeModel model(sizes);
  model.ints("axes", 1);
  model.node("ReduceSum", {model.widen(), "axes"}, {"out"}, "keepdims=0");
  return {name,
          model.finish("float"),
          sizes,
          {},
          compare<float>(outer * inner, [=](int64_t i) {
            int64_t first = i / inner * length * inner + i % inner;
            return inner == 1 ? getPattern().getSum(first, length)
                              : getPattern().getSum(first, length, inner);
          })};
}

/// The least of all, along one axis.
static LargeCase makeMinimum(const std::string &name, int64_t outer,
                             int64_t length, int64_t inner) {
  std::vector<int64_t> sizes = {outer, length, inner};
  LargeModel model(sizes);
  model.node("ReduceMin", {"x"}, {"out"}, "axes=1, keepdims=0");
  // Each column has elements of all kinds.
  uint16_t least = rt::toHalf(-Pattern::most);
  return {name,
          model.finish(),
          sizes,
          {},
          compare<uint16_t>(outer * inner, [=](int64_t) { return least; })};
}

/// The least of each column of a number of rows that is known at run time only
/// and smaller than that of the threads that a column has: what the others'
/// rows would begin with, 32 bits do not count.
static LargeCase makeFewRows() {
  int64_t rows = 3, columns = 400000001;
  LargeModel model("float16[n," + std::to_string(columns) + "]");
  model.node("ReduceMin", {"x"}, {"out"}, "axes=0, keepdims=0");
  std::vector<uint16_t> halves(2 * Pattern::most + 1);
  for (int value = -Pattern::most; value <= Pattern::most; ++value)
    halves[value + Pattern::most] = rt::toHalf(value);
  return {"minimum.few_rows",
          model.finish(),
          {rows, columns},
          {},
          compare<uint16_t>(columns, [=](int64_t column) {
            int least = Pattern::most;
            for (int64_t row = 0; row != rows; ++row)
              least = std::min(least,
                               getPattern().getValue(row * columns + column));
            return halves[least + Pattern::most];
          })};
}

/// Where the greatest of rows is, first or last.
static LargeCase makeFind(bool isLast) {
  int64_t rows = 524309, columns = 4099;
  LargeModel model({rows, columns});
  model.node("ArgMax", {"x"}, {"out"},
             "axis=1 keepdims=0 select_last_index=" + std::to_string(isLast));
  return {isLast ? "find.last" : "find.first",
          model.finish("int64"),
          {rows, columns},
          {},
          compare<int64_t>(rows, [=](int64_t row) {
            int64_t at = isLast ? columns - 1 : 0;
            while (getPattern().getValue(row * columns + at) != Pattern::most)
              at += isLast ? -1 : 1;
            return at;
          })};
}

/// Sums of 20 rows each.
static LargeCase makeBags() {
  int64_t rows = 4194311, columns = 513, bags = 511, length = 20;
  std::vector<int64_t> ids = {rows - 1, 0};
  while (int64_t(ids.size()) != bags * length)
    ids.push_back(int64_t(ids.size()) * 2654435761 % rows);
  LargeModel model({rows, columns});
  model.input("ids", "int64", bags * length);
  model.ints("shape", {bags, length}).ints("axes", 1);
  model.node("Reshape", {"ids", "shape"}, {"bags"});
  model.node("Gather", {"x", "bags"}, {"found"}, "axis=0");
  model.node("ReduceSum", {"found", "axes"}, {"out"}, "keepdims=0");
  return {"bags",
          model.finish(),
          {rows, columns},
          ids,
          compare<uint16_t>(bags * columns, [=](int64_t i) {
            int sum = 0;
            for (int64_t k = 0; k != length; ++k)
              sum += getPattern().getValue(
                  ids[i / columns * length + k] * columns + i % columns);
            return rt::toHalf(sum);
          })};
}

/// A factorization machine's second order: of each row, its columns' sums
/// squared less their squares' sums.
static LargeCase makeNested() {
  int64_t rows = 3441527, fields = 39, width = 16;
  LargeModel model({rows, fields, width});
  model.ints("fields", 1);
  std::string wide = model.widen();
  auto reduce = [&](const std::string &operand, const std::string &axes,
                    const std::string &result) {
    model.node("ReduceSum", {operand, axes}, {result}, "keepdims=0");
  };
  reduce(wide, "fields", "sum");
  model.node("Mul", {"sum", "sum"}, {"squared"});
  model.node("Mul", {wide, wide}, {"squares"});
  reduce("squares", "fields", "sums");
  model.node("Sub", {"squared", "sums"}, {"both"});
  reduce("both", "fields", "out");
  return {"nested",
          model.finish("float"),
          {rows, fields, width},
          {},
          compare<float>(rows, [=](int64_t row) {
            int64_t all = 0;
            for (int64_t d = 0; d != width; ++d) {
              int64_t sum = 0, squares = 0;
              for (int64_t f = 0; f != fields; ++f) {
                int64_t v =
                    getPattern().getValue((row * fields + f) * width + d);
                sum += v;
                squares += v * v;
              }
              all += sum * sum - squares;
            }
            return all;
          })};
}

/// Of weights that choose a column each.
static LargeCase makeProduct() {
  int64_t rows = 2097169, depth = 1024, columns = 72;
  auto getDepth = [](int64_t column) { return 14 * column + 3; };
  std::vector<uint16_t> weights(depth * columns);
  for (int64_t column = 0; column != columns; ++column)
    weights[getDepth(column) * columns + column] = rt::toHalf(1);
  LargeModel model({rows, depth});
  model.halves("weights", {depth, columns}, weights);
  model.node("MatMul", {"x", "weights"}, {"out"});
  return {"product",
          model.finish(),
          {rows, depth},
          {},
          compare<uint16_t>(rows * columns, [=](int64_t i) {
            return getPattern().getBits(i / columns * depth +
                                        getDepth(i % columns));
          })};
}

static LargeCase makeSums(const std::string &name, int64_t rows,
                          int64_t columns) {
  LargeModel model({rows, columns});
  model.ints("axis", 1);
  model.node("CumSum", {model.widen(), "axis"}, {"out"});
  return {name,
          model.finish("float"),
          {rows, columns},
          {},
          compare<float>(rows * columns, [=](int64_t i) {
            return getPattern().getSum(i / columns * columns, i % columns + 1);
          })};
}

/// Of rows, to a unit in the last place of what the result would be in fp64.
static LargeCase makeSoftmax() {
  int64_t rows = 524309, columns = 4099;
  LargeModel model({rows, columns});
  model.node("Softmax", {"x"}, {"out"}, "axis=1");
  auto countWrong = [=](const void *output, int64_t count) {
    std::atomic<int64_t> wrong{count != rows * columns};
    std::vector<double> values(1 << 16);
    for (size_t bits = 0; bits != values.size(); ++bits)
      values[bits] = rt::fromHalf(uint16_t(bits));
    forEachPart(std::min(rows, count / columns),
                [&](int64_t begin, int64_t end) {
                  int64_t some = 0;
                  for (int64_t row = begin; row != end; ++row) {
                    double parts[2 * Pattern::most + 1], all = 0;
                    for (int i = 0; i <= 2 * Pattern::most; ++i)
                      parts[i] = std::exp(i - 2 * Pattern::most);
                    auto getPart = [&](int64_t i) {
                      return parts[getPattern().getValue(row * columns + i) +
                                   Pattern::most];
                    };
                    for (int64_t i = 0; i != columns; ++i)
                      all += getPart(i);
                    for (int64_t i = 0; i != columns; ++i) {
                      double found = values[static_cast<const uint16_t *>(
                                 output)[row * columns + i]],
                             expected = getPart(i) / all;
                      // Halves below 2^-14 are whole numbers of 2^-24.
                      some += !(std::abs(found - expected) <=
                                std::max(expected * 0x1p-10, 0x1p-24));
                    }
                  }
                  wrong += some;
                });
    return wrong.load();
  };
  return {"softmax", model.finish(), {rows, columns}, {}, countWrong};
}

std::vector<LargeCase> fusec::makeLargeCases() {
  return {
      makePointwise(), makeTranspose(), makeSlice(), makeConcat(), makeGather(),
      makeBags(), makeProduct(), makeNested(),
      makeSum("sum.rows", 524309, 4099, 1),
      makeSum("sum.long_rows", 5, 429496777, 1),
      makeSum("sum.all", 1, (int64_t(1) << 31) + 77, 1),
      makeSum("sum.columns", 1, 1048583, 2049),
      makeSum("sum.middle", 4, 262147, 2050),
      makeSum("sum.few_columns", 1, 715827889, 3),
      makeMinimum("minimum", 4, 262144, 2052),
      // 32 bits count the elements, but not a part's number times their pitch.
      makeMinimum("minimum.parts", 4, 262144, 128), makeFewRows(),
      makeSum("sum.parts", 4, 262144, 128), makeFind(/*isLast=*/false),
      makeFind(/*isLast=*/true), makeSums("sums.rows", 524309, 4099),
      makeSums("sums.all", 1, (int64_t(1) << 31) + 77), makeSoftmax()};
}
