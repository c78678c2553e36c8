// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/transforms/tensor/PairWeights.h"
#include "compiler/kernels/pairs/device/pairs_config.h"
#include "ir/Constants.h"
#include "ir/reference/Elements.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Parallel.h"
#include <atomic>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace fusec;

namespace {
/// Folds eight columns at a time, which lie together in the packed weights. T:
/// an element of the weights, To: of what becomes of them.
template <class T, class To> class PairFolder {
public:
  PairFolder(ArrayRef<char> from, Type element, PairsOfWeights pairs,
             int64_t columns, bool alongK, MutableArrayRef<To> to);

  /// False where a sum is infinite, no number, or too large for its type.
  bool fold(SmallVectorImpl<float> &scales);

private:
  static constexpr int64_t atom = 8;
  /// Weights of fp32 in 16 bits are.
  static constexpr bool isScaled = sizeof(T) > sizeof(To);
  /// Calls back with each k and the sum for the column.
  template <class Visit> void forEachSum(int64_t column, Visit visit) const;
  double load(int64_t i, int64_t j, int64_t column) const;
  double getLargest() const {
    return sizeof(To) == 4 || element.isBF16() ? 3.3895313892515355e38 : 65504;
  }
  void store(int64_t k, int64_t column, double value) const {
    if constexpr (sizeof(To) == 4)
      to[pairPlainOffset(int(k), int(column), int(columns))] = float(value);
    else
      to[pairOffset(int(k), int(column), int(columns))] =
          element.isBF16() ? reference::toBFloat(value)
                           : reference::toHalf(value);
  }
  bool foldColumn(int64_t column, float *scale) const;

  ArrayRef<char> from;
  Type element;
  int64_t features, depth, columns;
  bool alongK;
  /// The row of weights at each place, or -1; empty where it is the place.
  std::vector<int64_t> rows;
  MutableArrayRef<To> to;
};
} // namespace

template <class T, class To>
PairFolder<T, To>::PairFolder(ArrayRef<char> from, Type element,
                              PairsOfWeights pairs, int64_t columns,
                              bool alongK, MutableArrayRef<To> to)
    : from(from), element(element), features(pairs.features),
      depth(features * features), columns(columns), alongK(alongK), to(to) {
  if (pairs.places.empty())
    return;
  rows.assign(depth, -1);
  depth = pairs.places.size();
  for (auto [row, place] : llvm::enumerate(pairs.places))
    rows[place] = row;
}

template <class T, class To>
double PairFolder<T, To>::load(int64_t i, int64_t j, int64_t column) const {
  int64_t k = i * features + j;
  if (!rows.empty() && (k = rows[k]) < 0)
    return 0;
  int64_t at = alongK ? column * depth + k : k * columns + column;
  T value;
  std::memcpy(&value, from.data() + at * sizeof(T), sizeof(T));
  if constexpr (std::is_same_v<T, float>)
    return value;
  else
    return element.isBF16() ? reference::fromBFloat(value)
                            : reference::fromHalf(value);
}

template <class T, class To>
template <class Visit>
void PairFolder<T, To>::forEachSum(int64_t column, Visit visit) const {
  int64_t k = 0;
  PairPlace square = {0, 0};
  for (int64_t last = pairSquares(features); last > 0; --last, square.advance())
    for (int64_t inJ = 0; inJ < pairBlock; ++inJ)
      for (int64_t inI = 0; inI < pairBlock; ++inI, ++k) {
        int64_t i = square.i * pairBlock + inI, j = square.j * pairBlock + inJ;
        if (i >= features || j >= features)
          continue;
        // Squares of the diagonal have both of a pair's places.
        visit(k, square.i == square.j
                     ? load(i, j, column)
                     : load(i, j, column) + load(j, i, column));
      }
}

template <class T, class To>
bool PairFolder<T, To>::foldColumn(int64_t column, float *scale) const {
  double most = 0;
  bool isFinite = true;
  forEachSum(column, [&](int64_t, double sum) {
    isFinite &= std::isfinite(sum);
    most = std::max(most, std::abs(sum));
  });
  if (!isFinite)
    return false;
  // The largest into [2^14, 2^15): what is 2^28 times smaller is still normal.
  double factor = 1;
  if (scale && most > 0) {
    int exponent = std::clamp(15 - (std::ilogb(most) + 1), -100, 100);
    factor = std::ldexp(1.0, exponent);
    *scale = float(std::ldexp(1.0, -exponent));
  } else if (scale) {
    *scale = 1;
  } else if (most > getLargest()) {
    return false;
  }
  forEachSum(column,
             [&](int64_t k, double sum) { store(k, column, sum * factor); });
  return true;
}

template <class T, class To>
bool PairFolder<T, To>::fold(SmallVectorImpl<float> &scales) {
  if (isScaled)
    scales.resize(columns);
  std::atomic<bool> good = true;
  llvm::parallelFor(0, llvm::divideCeil(columns, atom), [&](size_t index) {
    int64_t first = index * atom;
    for (int64_t c = first; c < std::min(first + atom, columns); ++c)
      if (!foldColumn(c, isScaled ? &scales[c] : nullptr))
        good = false;
  });
  return good;
}

FailureOr<PairWeights> fusec::foldPairWeights(ElementsAttr value,
                                              PairsOfWeights pairs, bool alongK,
                                              bool exact, StringRef name,
                                              std::string &reason) {
  FailureOr<ConstantData> from = getConstantData(value, reason);
  if (failed(from))
    return failure();
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  int64_t columns = type.getDimSize(alongK ? 0 : 1),
          slices = pairDepth(pairs.features) / pairSlice,
          width = pairColumns(columns);
  auto packed =
      exact
          ? reference::Tensor::allocate(element, {slices, pairSlice, width})
          : reference::Tensor::allocate(
                element.isF32() ? Float16Type::get(type.getContext()) : element,
                {slices, width, pairSlice});
  PairWeights result;
  auto fold = [&](auto zero, auto packedZero) {
    using T = decltype(zero);
    using To = decltype(packedZero);
    return PairFolder<T, To>(from->bytes, element, pairs, columns, alongK,
                             packed.getMutableElements<To>())
        .fold(result.scales);
  };
  bool good = exact             ? fold(float(), float())
              : element.isF32() ? fold(float(), uint16_t())
                                : fold(uint16_t(), uint16_t());
  if (!good) {
    reason = llvm::formatv("a sum of two of its weights is larger than {0} "
                           "holds, or no number",
                           element)
                 .str();
    return failure();
  }
  result.packed = packed.toConstant(name);
  return result;
}
