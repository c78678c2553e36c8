// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of element types.

#include "runtime/format/DType.h"

namespace fusec::format {

namespace {
struct Row {
  std::string_view name;
  unsigned size;
};
constexpr Row rows[numDTypes] = {
    {"bool", 1}, {"i8", 1},  {"i16", 2}, {"i32", 4}, {"i64", 8},
    {"u8", 1},   {"u16", 2}, {"u32", 4}, {"u64", 8}, {"f16", 2},
    {"bf16", 2}, {"f32", 4}, {"f64", 8}};
} // namespace

std::string_view dtypeName(DType type) { return rows[unsigned(type)].name; }

unsigned dtypeSize(DType type) { return rows[unsigned(type)].size; }

std::optional<DType> parseDType(std::string_view name) {
  for (unsigned i = 0; i != numDTypes; ++i)
    if (rows[i].name == name)
      return DType(i);
  return std::nullopt;
}

} // namespace fusec::format
