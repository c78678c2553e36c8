// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structs of the C interface, of which a caller may have an older or a newer
// version than this library: each begins as the one before it, and its
// struct_size says where it ends.

#ifndef FUSEC_RUNTIME_SRC_CALLERSTRUCT_H
#define FUSEC_RUNTIME_SRC_CALLERSTRUCT_H

#include "runtime/src/Failure.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace fusec::rt {

// Bytes of a struct's first version, up to its last member then.
template <typename T> inline constexpr size_t firstBytes = 0;
#define FUSEC_FIRST_VERSION(type, last)                                        \
  template <>                                                                  \
  inline constexpr size_t firstBytes<type> =                                   \
      offsetof(type, last) + sizeof(type::last);
FUSEC_FIRST_VERSION(fusec_tensor, byte_offset)
FUSEC_FIRST_VERSION(fusec_load_options, driver)
FUSEC_FIRST_VERSION(fusec_prepare_options, arena_size)
FUSEC_FIRST_VERSION(fusec_tensor_info, expressions)
FUSEC_FIRST_VERSION(fusec_table_info, device_rows)
FUSEC_FIRST_VERSION(fusec_adapter_info, n)
FUSEC_FIRST_VERSION(fusec_update, transposed)
FUSEC_FIRST_VERSION(fusec_update_file, scale)
FUSEC_FIRST_VERSION(fusec_profile_options, cupti)
FUSEC_FIRST_VERSION(fusec_profile_summary, sum_us)
FUSEC_FIRST_VERSION(fusec_step_profile, predicted_dim)
FUSEC_FIRST_VERSION(fusec_run_profile, enqueue_end_ns)
FUSEC_FIRST_VERSION(fusec_kernel_time, reserved)
#undef FUSEC_FIRST_VERSION

// Bytes that the caller's version and ours have.
template <typename T>
size_t commonBytes(const T &given, const std::string &name) {
  static_assert(firstBytes<T> != 0);
  if (given.struct_size < firstBytes<T>)
    fail(FUSEC_INVALID_ARGUMENT,
         name + ": expected a struct_size of at least " +
             std::to_string(firstBytes<T>) + ", found " +
             std::to_string(given.struct_size));
  return std::min(given.struct_size, sizeof(T));
}

// What the caller's version lacks is zero; so is all of a null pointer.
template <typename T> T readStruct(const T *given, const std::string &name) {
  T value = {};
  if (given)
    std::memcpy(&value, given, commonBytes(*given, name));
  return value;
}

// Writes the members that the caller's version has, and leaves its size.
template <typename T>
void writeStruct(T value, const std::string &name, T *to) {
  size_t bytes = commonBytes(*to, name);
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, bytes);
}

} // namespace fusec::rt

#endif
