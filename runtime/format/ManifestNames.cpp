// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spellings and sizes of the manifest's enumerations.

#include "runtime/format/AlignUp.h"
#include "runtime/format/Manifest.h"

#include <algorithm>

namespace fusec::format {

Condition Condition::compare(Kind kind, Expr lhs, Expr rhs) {
  Condition condition;
  condition.kind = kind;
  condition.lhs = std::move(lhs);
  condition.rhs = std::move(rhs);
  return condition;
}

Condition Condition::aligned(Pointer::Kind pointer, unsigned index,
                             unsigned bytes) {
  Condition condition;
  condition.kind = Kind::Aligned;
  condition.pointerKind = pointer;
  condition.pointerIndex = index;
  condition.bytes = bytes;
  return condition;
}

std::string_view pointerKindName(Pointer::Kind kind) {
  constexpr std::string_view names[] = {"buffer", "weight", "input", "output"};
  return names[unsigned(kind)];
}

std::string_view conditionName(Condition::Kind kind) {
  constexpr std::string_view names[] = {"<=", "<",  ">=",     ">",
                                        "==", "!=", "aligned"};
  return names[unsigned(kind)];
}

std::string_view mapTypeName(MapType type) {
  constexpr std::string_view names[] = {"u8",  "u16",  "u32", "i32",
                                        "u64", "i64",  "f16", "f32",
                                        "f64", "bf16", "",    "tf32"};
  return names[unsigned(type)];
}

unsigned mapTypeSize(MapType type) {
  constexpr unsigned sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 0, 4};
  return sizes[unsigned(type)];
}

std::string_view mathUnitName(MathUnit unit) {
  constexpr std::string_view names[] = {"fma", "tf32", "tf32x3", "half"};
  return names[unsigned(unit)];
}

ParamLayout paramLayout(const Param &param) {
  if (const auto *size = std::get_if<SizeParam>(&param))
    return {dtypeSize(size->type), dtypeSize(size->type)};
  if (std::holds_alternative<TensorMapParam>(param))
    return {128, 64};
  return {8, 8};
}

uint64_t paramBytes(const Launch &launch) {
  uint64_t bytes = 0;
  for (const Param &param : launch.params) {
    ParamLayout layout = paramLayout(param);
    bytes = alignUp(bytes, layout.alignment) + layout.size;
  }
  return bytes;
}

bool takesParamsOneByOne(const Launch &launch) {
  return launch.cooperative ||
         std::any_of(launch.params.begin(), launch.params.end(),
                     [](const Param &param) {
                       return std::holds_alternative<TensorMapParam>(param);
                     });
}

} // namespace fusec::format
