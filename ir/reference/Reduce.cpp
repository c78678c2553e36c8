// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions visit the operand once, in row-major order, which fixes the order
// in which each result accumulates.

#include "ir/reference/Elements.h"
#include "ir/reference/Families.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <memory>

using namespace mlir;

namespace fusec::reference {

template <typename T> static bool isNan(T value) { return value != value; }

template <typename T> static T getLowest(Type type) {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else if constexpr (std::is_same_v<T, int64_t>)
    return llvm::minIntN(type.getIntOrFloatBitWidth());
  else
    return 0;
}
template <typename T> static T getHighest(Type type) {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else if constexpr (std::is_same_v<T, int64_t>)
    return llvm::maxIntN(type.getIntOrFloatBitWidth());
  else if constexpr (std::is_same_v<T, uint64_t>)
    return llvm::maxUIntN(type.getIntOrFloatBitWidth());
  else
    return true;
}

template <typename T> static T getIdentity(ReduceKind kind, Type type) {
  switch (kind) {
  case ReduceKind::Sum:
    return T(0);
  case ReduceKind::Prod:
    return T(1);
  case ReduceKind::Max:
    return getLowest<T>(type);
  case ReduceKind::Min:
    break;
  }
  return getHighest<T>(type);
}

template <typename T> static T combine(ReduceKind kind, T a, T b) {
  // Signed integers wrap.
  using Wrapping = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;
  switch (kind) {
  case ReduceKind::Sum:
    return static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
  case ReduceKind::Prod:
    return static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
  case ReduceKind::Max:
    return isNan(a) || a > b ? a : b;
  case ReduceKind::Min:
    break;
  }
  return isNan(a) || a < b ? a : b;
}

/// Where an element of the operand is added: `kept` results for each of what is
/// reduced, in its order, of which every `length` are one part.
struct Places {
  SmallVector<int64_t> strides; // by dimension of the operand
  int64_t kept, length;

  int64_t getResult(int64_t offset) const {
    return offset / kept / length * kept + offset % kept;
  }
};
static Places getPlaces(const Tensor &operand, ArrayRef<int64_t> axes,
                        int64_t length) {
  Places places{SmallVector<int64_t>(operand.getRank()), 1, length};
  auto walk = [&](bool reduced, int64_t stride) {
    for (int64_t d = operand.getRank(); d-- > 0;)
      if (llvm::is_contained(axes, d) == reduced) {
        places.strides[d] = stride;
        stride *= operand.getSizes()[d];
      }
    return stride;
  };
  places.kept = walk(false, 1);
  walk(true, places.kept);
  return places;
}

/// Accumulates in Sum what elements of compute type T hold.
template <typename T, typename Sum>
static void reduce(const Tensor &operand, Tensor &result, ReduceKind kind,
                   const Places &places) {
  // Not a std::vector, which packs bools.
  size_t inCount = operand.getElementCount(),
         outCount = result.getElementCount();
  std::unique_ptr<T[]> in(new T[inCount]);
  std::unique_ptr<Sum[]> sums(new Sum[outCount]);
  load<T>(operand, 0, {in.get(), inCount});
  std::fill_n(sums.get(), outCount,
              getIdentity<Sum>(kind, operand.getElementType()));
  const T *next = in.get();
  forEachOffset(operand.getSizes(), places.strides, 0, [&](int64_t offset) {
    Sum &sum = sums[places.getResult(offset)];
    sum = combine<Sum>(kind, sum, *next++);
  });
  store<Sum>(result, 0, ArrayRef<Sum>(sums.get(), outCount));
}

TensorOr evaluateReduce(ReduceOp op, const Tensor &operand, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  // Sizes that are too large have been refused with the operand's.
  int64_t length = env.dims.evaluate(op.getLength()).value_or(INT64_MAX);
  Places places =
      getPlaces(operand, op.getAxes(), std::max<int64_t>(length, 1));
  withComputeType(operand.getElementType(), [&](auto x) {
    using T = decltype(x);
    if (std::is_same_v<T, float> && env.options.precise)
      return reduce<T, std::conditional_t<std::is_same_v<T, float>, double, T>>(
          operand, *result, op.getKind(), places);
    reduce<T, T>(operand, *result, op.getKind(), places);
  });
  return result;
}

/// Sums in Sum what elements of compute type T hold. One after another, a
/// quarter of a million floats would err by more than kernels do, which sum by
/// parts: they are summed as doubles.
template <typename T, typename Sum>
static void cumulate(CumSumOp op, const Tensor &operand, Tensor &result) {
  int64_t axis = op.getAxis(), size = operand.getSizes()[axis];
  SmallVector<int64_t> strides = getDenseStrides(operand.getSizes()),
                       outer = llvm::to_vector(operand.getSizes());
  outer.erase(outer.begin() + axis);
  int64_t stride = strides[axis];
  strides.erase(strides.begin() + axis);
  size_t count = operand.getElementCount();
  std::unique_ptr<T[]> in(new T[count]);
  std::unique_ptr<Sum[]> sums(new Sum[count]);
  load<T>(operand, 0, {in.get(), count});
  using Wide = std::conditional_t<std::is_same_v<Sum, float>, double, Sum>;
  forEachOffset(outer, strides, 0, [&](int64_t offset) {
    Wide sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      int64_t at = offset + (op.getReverse() ? size - 1 - i : i) * stride;
      Wide next = combine<Wide>(ReduceKind::Sum, sum, in[at]);
      sums[at] = Sum(op.getExclusive() ? sum : next);
      sum = next;
    }
  });
  store<Sum>(result, 0, ArrayRef<Sum>(sums.get(), count));
}

TensorOr evaluateCumSum(CumSumOp op, const Tensor &operand, Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  withComputeType(operand.getElementType(), [&](auto x) {
    using T = decltype(x);
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
    if (env.options.precise)
      return cumulate<T, Wide>(op, operand, *result);
    cumulate<T, T>(op, operand, *result);
  });
  return result;
}

/// Whether `candidate`, which comes later, takes the place of `best`. A NaN is
/// more extreme than every number.
template <typename T>
static bool isBetter(ArgKind kind, bool last, T best, T candidate) {
  if (isNan(best) || isNan(candidate))
    return isNan(candidate) && (last || !isNan(best));
  if (best == candidate)
    return last;
  return kind == ArgKind::Max ? best < candidate : candidate < best;
}

TensorOr evaluateArgReduce(ArgReduceOp op, const Tensor &operand,
                           Environment &env) {
  auto result = env.allocate(op->getOpResult(0));
  if (failed(result))
    return failure();
  int64_t axis = op.getAxis(), size = operand.getSizes()[axis],
          length = std::max<int64_t>(
              env.dims.evaluate(op.getLength()).value_or(INT64_MAX), 1);
  SmallVector<int64_t> strides = getDenseStrides(operand.getSizes()), outer,
                       kept;
  for (int64_t d = 0; d < operand.getRank(); ++d)
    if (d != axis) {
      outer.push_back(operand.getSizes()[d]);
      kept.push_back(strides[d]);
    }
  // Over nothing the result is 0, the identity of its zeroed memory.
  if (size == 0)
    return result;
  withComputeType(operand.getElementType(), [&](auto x) {
    using T = decltype(x);
    size_t count = operand.getElementCount();
    std::unique_ptr<T[]> in(new T[count]);
    load<T>(operand, 0, {in.get(), count});
    int64_t *to = result->getMutableElements<int64_t>().data();
    for (int64_t part = 0, parts = op.getParts().value_or(1); part < parts;
         ++part)
      forEachOffset(outer, kept, 0, [&](int64_t offset) {
        int64_t begin = part * length, best = begin;
        for (int64_t i = begin + 1; i < size && i - begin < length; ++i)
          if (isBetter<T>(op.getKind(), op.getLast(),
                          in[offset + best * strides[axis]],
                          in[offset + i * strides[axis]]))
            best = i;
        *to++ = best - begin;
      });
  });
  return result;
}

} // namespace fusec::reference
