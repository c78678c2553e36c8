// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads at indices that tensors hold.

#include "ir/reference/Elements.h"
#include "ir/reference/Families.h"
#include <cstring>

using namespace mlir;

namespace fusec::reference {

/// The index that is read in a dimension of this size; nothing where what
/// depends on it, so many elements, reads as zero.
static std::optional<int64_t> resolve(int64_t index, int64_t size,
                                      IndexPolicy policy, Environment &env,
                                      int64_t elements = 1) {
  if (index < 0)
    index += size;
  if (index >= 0 && index < size)
    return index;
  env.outside += elements;
  if (policy == IndexPolicy::Clamp && size > 0)
    return index < 0 ? 0 : size - 1;
  if (policy == IndexPolicy::Flag)
    ++env.faults;
  return std::nullopt;
}

TensorOr evaluateGather(GatherOp op, Operands operands, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  const Tensor &source = operands[0];
  std::vector<std::vector<int64_t>> indices;
  for (const Tensor &tensor : operands.drop_front())
    indices.push_back(loadAll<int64_t>(tensor));
  SmallVector<int64_t> strides = getDenseStrides(source.getSizes());

  // Where a dimension of the result addresses the source directly.
  SmallVector<int64_t> direct(result->getRank(), 0);
  for (auto [d, position] : llvm::enumerate(op.getPositions()))
    if (position >= 0)
      direct[position] += strides[d];

  size_t width = result->getElementBytes();
  int64_t element = 0;
  forEachOffset(result->getSizes(), direct, 0, [&](int64_t offset) {
    bool inside = source.getElementCount() != 0;
    for (auto [d, position] : llvm::enumerate(op.getPositions())) {
      if (position >= 0)
        continue;
      auto index = resolve(indices[-1 - position][element],
                           source.getSizes()[d], op.getPolicy(), env);
      inside &= index.has_value();
      offset += index.value_or(0) * strides[d];
    }
    if (inside)
      std::memcpy(result->getMutableData() + element * width,
                  source.getBytes().data() + offset * width, width);
    ++element;
  });
  return result;
}

TensorOr evaluateLookup(LookupOp op, Operands operands, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  auto tables = operands.drop_back();
  std::vector<int64_t> indices = loadAll<int64_t>(operands.back());
  int64_t width = result->getSizes()[2];
  size_t rowBytes = width * result->getElementBytes();
  if (rowBytes == 0)
    return result;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor &table = tables[i % tables.size()];
    if (auto row = resolve(indices[i], table.getSizes()[0], op.getPolicy(), env,
                           width))
      std::memcpy(result->getMutableData() + i * rowBytes,
                  table.getBytes().data() + *row * rowBytes, rowBytes);
  }
  return result;
}

namespace {
/// A table's bags, and where they go: the columns of the result from `column`
/// on.
struct TableBags {
  BagOp op;
  unsigned table;
  const Tensor &rows;
  int64_t column, width, perBag;
  std::vector<int64_t> ids, offsets, lengths;
  std::vector<double> weights, factors, zeros;

  /// A table's elements, dequantised where they have factors.
  template <typename T> std::vector<T> loadRows() {
    if (factors.empty())
      return loadAll<T>(rows);
    std::vector<int64_t> narrow = loadAll<int64_t>(rows);
    if (op.getPacked())
      narrow = unpack(narrow);
    std::vector<T> values(narrow.size());
    size_t block = narrow.size() / factors.size();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = (T(narrow[i]) - T(zeros.empty() ? 0 : zeros[i / block])) *
                  T(factors[i / block]);
    return values;
  }

  /// Columns of 4 bits, the first of a byte's two in its low half.
  std::vector<int64_t> unpack(ArrayRef<int64_t> bytes) const {
    int64_t perRow = rows.getSizes()[1];
    bool isSigned = !rows.getElementType().isUnsignedInteger();
    std::vector<int64_t> values;
    values.reserve(rows.getSizes()[0] * width);
    for (int64_t row = 0; row < rows.getSizes()[0]; ++row)
      for (int64_t column = 0; column < width; ++column) {
        int64_t bits = bytes[row * perRow + column / 2] >> column % 2 * 4 & 15;
        values.push_back(isSigned && bits > 7 ? bits - 16 : bits);
      }
    return values;
  }

  /// How many indices a bag has by its length.
  int64_t getCount(int64_t bag) const {
    return lengths.empty() ? perBag
                           : std::clamp<int64_t>(lengths[bag], 0, perBag);
  }

  /// The places of a bag's indices among all.
  std::pair<int64_t, int64_t> getPlaces(int64_t bag) {
    if (op.getOffsets().empty())
      return {bag * perBag, bag * perBag + getCount(bag)};
    int64_t count = ids.size();
    auto at = [&](int64_t i) {
      return i < int64_t(offsets.size())
                 ? std::clamp<int64_t>(offsets[i], 0, count)
                 : count;
    };
    return {at(bag), at(bag + 1)};
  }
};
} // namespace

/// In compute type T.
template <typename T>
static void reduceBags(TableBags &bags, Tensor &result, Environment &env) {
  BagOp op = bags.op;
  BagMode mode = op.getModeOf(bags.table);
  bool isMax = mode == BagMode::Max;
  int64_t width = bags.width;
  std::vector<T> rows = bags.loadRows<T>();
  std::vector<T> sums(width);
  for (int64_t bag = 0; bag < result.getSizes()[0]; ++bag) {
    std::fill(sums.begin(), sums.end(), T(0));
    int64_t count = 0;
    auto [first, end] = bags.getPlaces(bag);
    for (int64_t k = first; k < end; ++k) {
      auto row = resolve(bags.ids[k], bags.rows.getSizes()[0], op.getPolicy(),
                         env, width);
      if (op.leavesOut(bags.table, bags.ids[k], row))
        continue;
      T weight = bags.weights.empty() ? T(1) : T(bags.weights[k]);
      for (int64_t e = 0; e < width; ++e) {
        T value = row ? rows[*row * width + e] * weight : T(0);
        if (!isMax)
          sums[e] += value;
        else if (count == 0 || value > sums[e] || std::isnan(value))
          sums[e] = value;
      }
      ++count;
    }
    T scale = op.getScales()[bags.table];
    bool isMeasured = !bags.lengths.empty();
    if (isMeasured && mode == BagMode::Mean && op.getLeast())
      scale /=
          std::max(T(bags.lengths[bag]), T(op.getLeast()->convertToDouble()));
    else if (mode == BagMode::Mean && count)
      scale /= T(count);
    if (isMeasured && isMax && op.getFill() && bags.getCount(bag) < bags.perBag)
      for (T &sum : sums)
        sum = std::isnan(sum) ||
                      (count && sum > T(op.getFill()->convertToDouble()))
                  ? sum
                  : T(op.getFill()->convertToDouble());
    for (T &sum : sums)
      sum *= scale;
    store<T>(result, bag * result.getSizes()[1] + bags.column, sums);
  }
}

TensorOr evaluateBag(BagOp op, Operands operands, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  size_t count = op.getTables().size();
  unsigned indices = count, offsets = indices + count,
           weights = offsets + op.getOffsets().size(),
           lengths = weights + op.getWeights().size(),
           factors = lengths + op.getLengths().size(),
           zeros = factors + op.getFactors().size();
  int64_t column = 0;
  for (size_t t = 0; t < count; ++t) {
    const Tensor &table = operands[t], &ids = operands[indices + t];
    TableBags bags{op,
                   unsigned(t),
                   table,
                   column,
                   op.getWidthOf(t).getValue(),
                   ids.getSizes()[1],
                   loadAll<int64_t>(ids),
                   {},
                   {},
                   {},
                   {},
                   {}};
    if (!op.getOffsets().empty())
      bags.offsets = loadAll<int64_t>(operands[offsets + t]);
    if (!op.getWeights().empty())
      bags.weights = loadAll<double>(operands[weights + t]);
    if (int64_t measure = op.getMeasureOf(t); measure >= 0)
      bags.lengths = loadAll<int64_t>(operands[lengths + measure]);
    if (!op.getFactors().empty())
      bags.factors = loadAll<double>(operands[factors + t]);
    if (!op.getZeros().empty())
      bags.zeros = loadAll<double>(operands[zeros + t]);
    table.getElementType().isF64() || env.options.precise
        ? reduceBags<double>(bags, *result, env)
        : reduceBags<float>(bags, *result, env);
    column += bags.width;
  }
  return result;
}

} // namespace fusec::reference
