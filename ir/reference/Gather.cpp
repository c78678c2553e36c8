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

/// The columns of the result from `column` on, which are a table's. Sums are
/// kept in Sum, elements of compute type T.
template <typename T, typename Sum>
static void addBags(const Tensor &table, const Tensor &indices, double scale,
                    IndexPolicy policy, Tensor &result, int64_t column,
                    Environment &env) {
  std::vector<T> rows = loadAll<T>(table);
  std::vector<int64_t> ids = loadAll<int64_t>(indices);
  int64_t width = table.getSizes()[1], count = indices.getSizes()[1];
  std::vector<Sum> sums(width);
  for (int64_t bag = 0; bag < indices.getSizes()[0]; ++bag) {
    std::fill(sums.begin(), sums.end(), Sum(0));
    for (int64_t k = 0; k < count; ++k)
      if (auto row = resolve(ids[bag * count + k], table.getSizes()[0], policy,
                             env, width))
        for (int64_t e = 0; e < width; ++e)
          sums[e] += rows[*row * width + e];
    for (Sum &sum : sums)
      sum *= Sum(scale);
    store<Sum>(result, bag * result.getSizes()[1] + column, sums);
  }
}

TensorOr evaluateBag(BagOp op, Operands operands, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  size_t count = op.getTables().size();
  int64_t column = 0;
  for (size_t t = 0; t < count; ++t) {
    const Tensor &table = operands[t], &indices = operands[count + t];
    withComputeType(table.getElementType(), [&](auto x) {
      using T = decltype(x);
      if constexpr (std::is_floating_point_v<T>) {
        auto add = [&](auto sum) {
          addBags<T, decltype(sum)>(table, indices, op.getScales()[t],
                                    op.getPolicy(), *result, column, env);
        };
        env.options.precise ? add(double()) : add(T());
      }
    });
    column += table.getSizes()[1];
  }
  return result;
}

} // namespace fusec::reference
