// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of pairs: each part of K as a product of two matrices.

#include "compiler/kernels/pairs/device/pairs_config.h"
#include "ir/reference/Elements.h"
#include "ir/reference/Families.h"
#include <cstring>

using namespace mlir;

namespace fusec::reference {

namespace {
/// A share of K: squares [first, last).
struct PairPart {
  int64_t first, last;
  int64_t getDepth() const { return (last - first) * pairSquare; }
};
} // namespace

/// The products of the rows' features, [rows, depth] in `type`.
static Tensor multiplyFeatures(const Tensor &x, PairPart part, Type type) {
  int64_t rows = x.getSizes()[0], features = x.getSizes()[1],
          depth = part.getDepth();
  std::vector<double> values;
  if (x.getElementType().isF64()) {
    values = loadAll<double>(x);
  } else {
    std::vector<float> loaded = loadAll<float>(x);
    values.assign(loaded.begin(), loaded.end());
  }
  Tensor result = Tensor::allocate(type, {rows, depth});
  auto fill = [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<T> products(depth);
      for (int64_t row = 0; row < rows; ++row) {
        const double *own = values.data() + row * features;
        for (int64_t k = 0; k < depth; ++k) {
          PairPlace at = pairOf(int(part.first * pairSquare + k));
          products[k] = at.i < features && at.j < features
                            ? T(own[at.i] * own[at.j])
                            : T(0);
        }
        store<T>(result, row * depth, products);
      }
    }
  };
  withComputeType(type, fill);
  return result;
}

/// [depth, columns] of the packed weights.
static Tensor unpack(const Tensor &weights, PairPart part, int64_t columns) {
  int64_t depth = part.getDepth();
  Tensor result = Tensor::allocate(weights.getElementType(), {depth, columns});
  int64_t width = weights.getElementBytes();
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t column = 0; column < columns; ++column) {
      int inAll = int(part.first * pairSquare + k);
      int64_t from = width == 4
                         ? pairPlainOffset(inAll, int(column), int(columns))
                         : pairOffset(inAll, int(column), int(columns));
      std::memcpy(result.getMutableData() + (k * columns + column) * width,
                  weights.getBytes().data() + from * width, width);
    }
  return result;
}

TensorOr evaluatePairProduct(PairProductOp op, Operands operands,
                             Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  ArrayRef<int64_t> sizes = result->getSizes();
  int parts = int(sizes[0]), features = int(operands[0].getSizes()[1]);
  int64_t matrix = sizes[1] * sizes[2];
  if (result->getElementCount() == 0)
    return result;
  Type x = operands[0].getElementType(),
       f64 = Float64Type::get(op.getContext());
  Type productType = env.options.precise ? f64 : x;
  for (int i = 0; i < parts; ++i) {
    PairPart part = {firstPairSquare(i, parts, features),
                     firstPairSquare(i + 1, parts, features)};
    if (part.first == part.last)
      continue;
    // In fp32, as the kernels add; products of 16 bits are exact there.
    Tensor sums =
        Tensor::allocate(env.options.precise ? f64 : result->getElementType(),
                         {sizes[1], sizes[2]});
    multiply({{multiplyFeatures(operands[0], part, productType),
               unpack(operands[1], part, sizes[2])}},
             sums, false, false, env.options.precise);
    std::memcpy(result->getMutableData() +
                    i * matrix * result->getElementBytes(),
                convert(sums, result->getElementType()).getBytes().data(),
                matrix * result->getElementBytes());
  }
  return result;
}

} // namespace fusec::reference
