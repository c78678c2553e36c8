// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes of the chunks of a weights section.

#ifndef FUSEC_RUNTIME_FORMAT_CHUNKHASH_H
#define FUSEC_RUNTIME_FORMAT_CHUNKHASH_H

#include "runtime/format/Pieces.h"
#include "runtime/format/Sha256.h"

#include <functional>

namespace fusec::format {

// XXH3 (128 bits, canonical form) finds damage at the speed of memory. Files up
// to format 0.8 have SHA-256, which takes five times as long.
enum class ChunkHash : uint8_t { Sha256, Xxh3 };

inline ChunkHash chunkHashOf(unsigned minor) {
  return minor >= 9 ? ChunkHash::Xxh3 : ChunkHash::Sha256;
}

// What is hashed by one thread: what a core's second-level cache keeps for
// whoever copies it next.
constexpr uint64_t chunkBytes(ChunkHash kind) {
  return uint64_t(kind == ChunkHash::Xxh3 ? 1 : 4) << 20;
}

// The hashes of the chunks of `size` bytes, one behind the other. Threads may
// make them at once, each chunk's by one of them.
class ChunkDigests {
public:
  ChunkDigests(ChunkHash kind, uint64_t size);

  size_t count() const;
  uint64_t begin(size_t chunk) const { return chunk * chunkBytes(kind); }
  uint64_t end(size_t chunk) const { return std::min(begin(chunk + 1), size); }
  // The pieces are those of the section.
  void hash(size_t chunk, const std::vector<Piece> &pieces);
  // Once all are made.
  Digest finish() const;

private:
  ChunkHash kind;
  uint64_t size;
  std::vector<uint8_t> digests;
};

// Takes bytes at an offset once they were hashed; called by one thread at a
// time, in any order.
using Hashed = std::function<void(uint64_t offset, ByteSpan bytes)>;

// The hash of a weights section that is written, by several threads.
Digest hashChunks(const std::vector<Piece> &pieces, uint64_t size,
                  const Hashed &hashed);

} // namespace fusec::format

#endif
