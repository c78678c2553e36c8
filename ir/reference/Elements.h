// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between elements as they are stored and the types in which the
// reference computes: float for fp16, bf16 and fp32, double for fp64, 64-bit
// integers for integers, bool for bool.

#ifndef FUSEC_IR_REFERENCE_ELEMENTS_H
#define FUSEC_IR_REFERENCE_ELEMENTS_H

#include "ir/Pointwise.h"
#include "ir/reference/Tensor.h"

namespace fusec::reference {

/// The IEEE-like bits of `value` with the given field widths, rounded once to
/// nearest even; overflow gives infinity, NaN stays quiet.
uint16_t roundToBits(double value, unsigned exponentBits,
                     unsigned mantissaBits);
double expandBits(uint16_t bits, unsigned exponentBits, unsigned mantissaBits);

inline uint16_t toHalf(double value) { return roundToBits(value, 5, 10); }
inline uint16_t toBFloat(double value) { return roundToBits(value, 8, 7); }
inline double fromHalf(uint16_t bits) { return expandBits(bits, 5, 10); }
inline double fromBFloat(uint16_t bits) { return expandBits(bits, 8, 7); }

/// A double that rounds to fp32, fp16 and bf16 as the integer itself would.
double toDoubleForRounding(int64_t value);
double toDoubleForRounding(uint64_t value);

/// The elements from `start` on, as many as `values` takes, in the compute type
/// T of the tensor's class: float, double, int64_t, uint64_t or bool.
template <typename T>
void load(const Tensor &tensor, int64_t start, llvm::MutableArrayRef<T> values);
/// Stores computed values: floats round, integers wrap.
template <typename T>
void store(Tensor &tensor, int64_t start, llvm::ArrayRef<T> values);

/// All elements in the compute type.
template <typename T> std::vector<T> loadAll(const Tensor &tensor);

/// What `fusec.cast` computes.
Tensor convert(const Tensor &tensor, mlir::Type elementType);

/// Calls `function` with a value of the compute type of the element type.
template <typename Function>
auto withComputeType(mlir::Type elementType, Function function) {
  switch (getTypeClass(elementType)) {
  case TypeClass::Float:
    return elementType.isF64() ? function(double()) : function(float());
  case TypeClass::Signed:
    return function(int64_t());
  case TypeClass::Unsigned:
    return function(uint64_t());
  case TypeClass::Bool:
    break;
  }
  return function(bool());
}

} // namespace fusec::reference

#endif // FUSEC_IR_REFERENCE_ELEMENTS_H
