// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The edge of the C interface: every exception ends here as a status and a
// message in the caller's buffer.

#ifndef FUSEC_RUNTIME_SRC_GUARD_H
#define FUSEC_RUNTIME_SRC_GUARD_H

#include "runtime/src/Failure.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace fusec::rt {

inline void writeMessage(char *message, size_t capacity, const char *text) {
  if (!message || capacity == 0)
    return;
  size_t length = std::min(std::strlen(text), capacity - 1);
  std::memcpy(message, text, length);
  message[length] = 0;
}

template <typename Function>
fusec_status guard(char *message, size_t capacity, Function function) noexcept {
  try {
    function();
    writeMessage(message, capacity, "");
    return FUSEC_OK;
  } catch (const Failure &failure) {
    writeMessage(message, capacity, failure.message.c_str());
    return failure.status;
  } catch (const std::bad_alloc &) {
    writeMessage(message, capacity, "out of host memory");
    return FUSEC_OUT_OF_MEMORY;
  } catch (const std::exception &failure) {
    writeMessage(message, capacity, failure.what());
    return FUSEC_INTERNAL_ERROR;
  } catch (...) {
    writeMessage(message, capacity, "unknown error");
    return FUSEC_INTERNAL_ERROR;
  }
}

inline void requireResult(const void *pointer, const char *name) {
  if (!pointer)
    fail(FUSEC_INVALID_ARGUMENT, "expected a pointer for '" +
                                     std::string(name) +
                                     "', found a null pointer");
}

// Checks a request for what is known of one of `count` things.
template <typename T>
void requireInfo(const T *info, const char *type, uint32_t index,
                 size_t count) {
  requireResult(info, "info");
  if (index >= count)
    fail(FUSEC_INVALID_ARGUMENT, "expected an index below " +
                                     std::to_string(count) + ", found " +
                                     std::to_string(index));
  if (info->struct_size < sizeof(T))
    fail(FUSEC_INVALID_ARGUMENT, std::string(type) +
                                     ": expected a struct_size of at least " +
                                     std::to_string(sizeof(T)) + ", found " +
                                     std::to_string(info->struct_size));
}

// Reads a caller's struct of `size` bytes, leaving what its version lacks zero.
// `size` must cover `least` bytes, those of the first version.
template <typename T>
T readStruct(const T *given, size_t least, const char *name) {
  T value = {};
  value.struct_size = sizeof(T);
  if (!given)
    return value;
  if (given->struct_size < least)
    fail(FUSEC_INVALID_ARGUMENT, std::string(name) +
                                     ": expected a struct_size of at least " +
                                     std::to_string(least) + ", found " +
                                     std::to_string(given->struct_size));
  std::memcpy(&value, given, std::min(given->struct_size, sizeof(T)));
  return value;
}

} // namespace fusec::rt

#endif
