// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of tensors as a bundle names them.

#ifndef FUSEC_RUNTIME_FORMAT_DTYPE_H
#define FUSEC_RUNTIME_FORMAT_DTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusec::format {

// The numeric values are part of the C ABI (fusec_dtype) and never change.
enum class DType : uint8_t {
  Bool = 0,
  I8 = 1,
  I16 = 2,
  I32 = 3,
  I64 = 4,
  U8 = 5,
  U16 = 6,
  U32 = 7,
  U64 = 8,
  F16 = 9,
  BF16 = 10,
  F32 = 11,
  F64 = 12
};
inline constexpr unsigned numDTypes = 13;

// "bool", "i8", ..., "bf16", "f32", "f64".
std::string_view dtypeName(DType type);
std::optional<DType> parseDType(std::string_view name);
// Bytes of one element in memory.
unsigned dtypeSize(DType type);

} // namespace fusec::format

#endif
