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
inline void requireInfo(const void *info, uint32_t index, size_t count) {
  requireResult(info, "info");
  if (index >= count)
    fail(FUSEC_INVALID_ARGUMENT, "expected an index below " +
                                     std::to_string(count) + ", found " +
                                     std::to_string(index));
}

} // namespace fusec::rt

#endif
