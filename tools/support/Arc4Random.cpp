// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// glibc has arc4random from 2.36 on, and LLVM's support library uses it where
// it was built against such a glibc. This definition keeps the tools loadable
// by 2.35.

#include <cstdint>
#include <sys/random.h>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  // Four bytes are never cut short; a signal may only arrive before the
  // kernel's pool is first filled.
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}
