// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Type classes of pointwise ops, and the scalar functions by which the
// reference evaluates them.

#ifndef FUSEC_IR_POINTWISE_H
#define FUSEC_IR_POINTWISE_H

#include "mlir/IR/Types.h"
#include <cstdint>

namespace fusec {

enum class TypeClass : uint32_t { Float, Signed, Unsigned, Bool };

/// The class of an element type: i1 is Bool, signless integers are Signed.
TypeClass getTypeClass(mlir::Type elementType);

/// One function a compute type, taking the operands' array. 16-bit floats
/// compute in float and narrow integers in 64 bits; the result is then rounded
/// or wrapped to the element type. Null where the op is not defined. `test*`
/// are for ops whose result is bool whatever their operands are.
struct PointwiseReference {
  float (*f32)(const float *) = nullptr;
  double (*f64)(const double *) = nullptr;
  int64_t (*i64)(const int64_t *) = nullptr;
  uint64_t (*u64)(const uint64_t *) = nullptr;
  bool (*boolean)(const bool *) = nullptr;
  bool (*testF32)(const float *) = nullptr;
  bool (*testF64)(const double *) = nullptr;
  bool (*testI64)(const int64_t *) = nullptr;
  bool (*testU64)(const uint64_t *) = nullptr;
  bool (*testBool)(const bool *) = nullptr;
};

} // namespace fusec

#endif // FUSEC_IR_POINTWISE_H
