// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise ops: the scalar functions of the ODS records over all elements.

#include "ir/reference/Elements.h"
#include "ir/reference/Families.h"
#include <cstring>

using namespace mlir;

namespace fusec::reference {

/// Elements that are loaded at a time.
constexpr int64_t chunk = 1024;
constexpr size_t maxOperands = 3;

/// result[i] = function(operands[0][i], operands[1][i], ...).
template <typename T, typename Result>
static void apply(Operands operands, Tensor &result,
                  Result (*function)(const T *)) {
  T in[maxOperands][chunk];
  Result out[chunk];
  int64_t total = result.getElementCount();
  for (int64_t start = 0; start < total; start += chunk) {
    size_t count = std::min(chunk, total - start);
    for (auto [i, operand] : llvm::enumerate(operands))
      load<T>(operand, start, {in[i], count});
    for (size_t i = 0; i < count; ++i) {
      T x[maxOperands] = {};
      for (size_t k = 0; k < operands.size(); ++k)
        x[k] = in[k][i];
      out[i] = function(x);
    }
    store<Result>(result, start, ArrayRef<Result>(out, count));
  }
}

/// Picks the function of the class, and that for tests where there is one.
template <typename T>
static bool applyEither(Operands operands, Tensor &result,
                        T (*function)(const T *), bool (*test)(const T *)) {
  if (test)
    apply(operands, result, test);
  else if (function)
    apply(operands, result, function);
  return test || function;
}

static bool applyReference(const PointwiseReference &reference,
                           Operands operands, Tensor &result) {
  Type type = operands[0].getElementType();
  switch (getTypeClass(type)) {
  case TypeClass::Float:
    return type.isF64()
               ? applyEither(operands, result, reference.f64, reference.testF64)
               : applyEither(operands, result, reference.f32,
                             reference.testF32);
  case TypeClass::Signed:
    return applyEither(operands, result, reference.i64, reference.testI64);
  case TypeClass::Unsigned:
    return applyEither(operands, result, reference.u64, reference.testU64);
  case TypeClass::Bool:
    return applyEither(operands, result, reference.boolean, reference.testBool);
  }
  return false;
}

static void select(Operands operands, Tensor &result) {
  size_t width = result.getElementBytes();
  ArrayRef<char> condition = operands[0].getBytes();
  for (size_t i = 0; i < condition.size(); ++i)
    std::memcpy(result.getMutableData() + i * width,
                operands[condition[i] ? 1 : 2].getBytes().data() + i * width,
                width);
}

TensorOr evaluatePointwise(Operation *op, Operands operands, Environment &env) {
  auto result = env.allocate(op->getResult(0));
  if (failed(result))
    return failure();
  if (isa<CastOp>(op))
    return convert(operands[0], result->getElementType());
  if (isa<SelectOp>(op)) {
    select(operands, *result);
    return result;
  }
  if (operands.empty() || operands.size() > maxOperands ||
      !applyReference(cast<PointwiseOpInterface>(op).getReference(), operands,
                      *result))
    return op->emitOpError("has no reference for elements of type ")
           << getElementType(op->getOperand(0));
  return result;
}

} // namespace fusec::reference
