// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offsets and sizes of a bundle's header and section table. Private to the
// reader and the writer.

#ifndef FUSEC_RUNTIME_FORMAT_BUNDLELAYOUT_H
#define FUSEC_RUNTIME_FORMAT_BUNDLELAYOUT_H

#include "runtime/format/Bundle.h"

namespace fusec::format {

inline constexpr char magic[9] = "FUSECBDL";
// magic 0, major 8, minor 12, file size 16, section count 24, zero 28, digest
// 32 of the 32 bytes before it and the table behind it.
inline constexpr size_t headerSize = 64;
inline constexpr size_t digestOffset = 32;
// kind 0, flags 4, offset 8, size 16, digest 24.
inline constexpr size_t entrySize = 56;
inline constexpr uint32_t maxSections = 65536;

template <typename T> T loadLittle(const uint8_t *bytes) {
  T value = 0;
  for (size_t i = 0; i != sizeof(T); ++i)
    value |= T(bytes[i]) << (8 * i);
  return value;
}

template <typename T> void storeLittle(uint8_t *bytes, T value) {
  for (size_t i = 0; i != sizeof(T); ++i)
    bytes[i] = uint8_t(value >> (8 * i));
}

inline Digest headerDigest(const uint8_t *header, const uint8_t *table,
                           size_t tableSize) {
  Sha256 sha;
  sha.update(header, digestOffset);
  sha.update(table, tableSize);
  return sha.finish();
}

} // namespace fusec::format

#endif
