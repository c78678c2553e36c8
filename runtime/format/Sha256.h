// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 (FIPS 180-4), incremental; uses the processor's SHA instructions
// where there are any.

#ifndef FUSEC_RUNTIME_FORMAT_SHA256_H
#define FUSEC_RUNTIME_FORMAT_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace fusec::format {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
public:
  Sha256();
  void update(const void *data, size_t size);
  // Ends the message; the object must not be updated afterwards.
  Digest finish();

  static Digest hash(const void *data, size_t size);

private:
  void compress(const uint8_t *blocks, size_t count);

  std::array<uint32_t, 8> state;
  std::array<uint8_t, 64> tail;
  uint64_t length = 0;
};

// 64 lower-case hexadecimal digits.
std::string toHex(const Digest &digest);

} // namespace fusec::format

#endif
