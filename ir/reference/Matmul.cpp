// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products. Each element accumulates its products in the order of k, in
// one accumulator; rows are independent, so that threads change nothing.

#include "ir/reference/Elements.h"
#include "ir/reference/Families.h"
#include "llvm/Support/Parallel.h"

using namespace mlir;

namespace fusec::reference {

namespace {
/// [batch, m, k] times [batch, k, n], all counts of elements. With a `range`:
/// [m, k] times [k, n], of which each batch sums so many ks or the rest.
struct Product {
  int64_t batch = 1, m = 0, n = 0, k = 0, range = 0;
  bool transposeLhs = false, transposeRhs = false;
};
} // namespace

/// The operand's elements in type T, as dense [batch, rows, columns].
template <typename T>
static std::vector<T> arrange(const Tensor &tensor, int64_t batch, int64_t rows,
                              int64_t columns, bool transposed) {
  using Loaded = std::conditional_t<std::is_same_v<T, double>, float, T>;
  std::vector<T> values;
  if (std::is_same_v<T, double> && !tensor.getElementType().isF64()) {
    auto loaded = loadAll<Loaded>(tensor);
    values.assign(loaded.begin(), loaded.end());
  } else {
    values = loadAll<T>(tensor);
  }
  if (!transposed)
    return values;
  std::vector<T> result(values.size());
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        result[(b * rows + r) * columns + c] =
            values[(b * columns + c) * rows + r];
  return result;
}

/// sums[b, i, j] += sum over l of lhs[b, i, l] * rhs[b, l, j].
template <typename T>
static void accumulate(std::vector<T> &sums, const Tensor &lhs,
                       const Tensor &rhs, const Product &p) {
  using Wrapping = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;
  int64_t matrices = p.range ? 1 : p.batch;
  std::vector<T> a = arrange<T>(lhs, matrices, p.m, p.k, p.transposeLhs);
  std::vector<T> b = arrange<T>(rhs, matrices, p.k, p.n, p.transposeRhs);
  // A block of columns stays in the first-level cache while k runs.
  constexpr int64_t block = 256;
  auto addRow = [&](size_t row) {
    int64_t batch = row / p.m, first = batch * p.range,
            count = p.range ? std::min(p.k - first, p.range) : p.k;
    if (count <= 0)
      return;
    const T *left = a.data() + (p.range ? row % p.m : row) * p.k + first;
    const T *right = b.data() + (p.range ? first : batch * p.k) * p.n;
    for (int64_t start = 0; start < p.n; start += block) {
      int64_t width = std::min(block, p.n - start);
      T *sum = sums.data() + row * p.n + start;
      for (int64_t l = 0; l < count; ++l) {
        auto x = static_cast<Wrapping>(left[l]);
        const T *y = right + l * p.n + start;
        for (int64_t j = 0; j < width; ++j)
          sum[j] = static_cast<T>(static_cast<Wrapping>(sum[j]) +
                                  x * static_cast<Wrapping>(y[j]));
      }
    }
  };
  // Small products take less time than waking threads does.
  constexpr double least = 1 << 20;
  if (double(p.batch * p.m) * p.n * p.k >= least)
    llvm::parallelFor(0, p.batch * p.m, addRow);
  else
    for (int64_t row = 0; row != p.batch * p.m; ++row)
      addRow(row);
}

void multiply(ArrayRef<std::pair<Tensor, Tensor>> segments, Tensor &result,
              bool transposeLhs, bool transposeRhs, bool precise,
              ArrayRef<int64_t> ranges) {
  auto run = [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      std::vector<T> sums(result.getElementCount());
      for (auto [s, segment] : llvm::enumerate(segments)) {
        const auto &[lhs, rhs] = segment;
        size_t rank = result.getRank();
        Product p;
        p.range = ranges.empty() ? 0 : ranges[s];
        p.m = result.getSizes()[rank - 2];
        p.n = result.getSizes()[rank - 1];
        p.k = lhs.getSizes()[lhs.getRank() - (transposeLhs ? 2 : 1)];
        for (int64_t size : result.getSizes().drop_back(2))
          p.batch *= size;
        p.transposeLhs = transposeLhs;
        p.transposeRhs = transposeRhs;
        if (!sums.empty() && p.k != 0)
          accumulate(sums, lhs, rhs, p);
      }
      store<T>(result, 0, sums);
    }
  };
  if (precise && isa<FloatType>(result.getElementType()))
    return run(double());
  withComputeType(result.getElementType(), run);
}

TensorOr evaluateMatmul(MatmulOp op, Operands operands, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  multiply({{operands[0], operands[1]}}, *result, op.getTransposeLhs(),
           op.getTransposeRhs(), env.options.precise);
  return result;
}

FailureOr<Tensors> evaluateContraction(ContractionOp op, Operands operands,
                                       Environment &env) {
  Tensors results;
  unsigned segments = op.getNumSegments(),
           accumulators = op.getNumAccumulators();
  for (unsigned j = 0; j < accumulators; ++j) {
    auto result = env.allocate(op->getOpResult(j));
    if (failed(result))
      return failure();
    SmallVector<std::pair<Tensor, Tensor>> pairs;
    for (unsigned s = 0; s < segments; ++s)
      pairs.push_back({operands[s], operands[segments + s * accumulators + j]});
    multiply(pairs, *result, false, false, env.options.precise,
             op.getRanges().value_or(ArrayRef<int64_t>()));
    results.push_back(std::move(*result));
  }
  return results;
}

} // namespace fusec::reference
