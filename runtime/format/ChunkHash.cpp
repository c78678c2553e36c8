// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/format/ChunkHash.h"

#include "runtime/format/InParallel.h"

#include <atomic>
#include <mutex>

// The functions are compiled in here: programs need no library beside this one.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fusec::format {

namespace {
constexpr size_t mostHashThreads = 16;

size_t digestSize(ChunkHash kind) {
  return kind == ChunkHash::Xxh3 ? sizeof(XXH128_canonical_t) : sizeof(Digest);
}

class Sha256Hasher {
public:
  void update(const uint8_t *data, size_t size) { sha.update(data, size); }
  void finish(uint8_t *digest) {
    Digest made = sha.finish();
    std::copy(made.begin(), made.end(), digest);
  }

private:
  Sha256 sha;
};

class Xxh3Hasher {
public:
  Xxh3Hasher() { XXH3_128bits_reset(&state); }
  void update(const uint8_t *data, size_t size) {
    XXH3_128bits_update(&state, data, size);
  }
  void finish(uint8_t *digest) {
    XXH128_canonical_t made;
    XXH128_canonicalFromHash(&made, XXH3_128bits_digest(&state));
    std::copy(std::begin(made.digest), std::end(made.digest), digest);
  }

private:
  XXH3_state_t state;
};

template <typename Hasher> void hashZeros(Hasher &hasher, uint64_t count) {
  static constexpr uint8_t zeros[4096] = {};
  for (; count != 0; count -= std::min<uint64_t>(count, sizeof(zeros)))
    hasher.update(zeros, std::min<uint64_t>(count, sizeof(zeros)));
}

// Of the bytes from `begin` to `end`.
template <typename Hasher>
void hashRange(const std::vector<Piece> &pieces, uint64_t begin, uint64_t end,
               uint8_t *digest) {
  Hasher hasher;
  forEachPiece(pieces, begin, end, [&](uint64_t first, ByteSpan bytes) {
    hashZeros(hasher, first - begin);
    hasher.update(bytes.data, bytes.size);
    begin = first + bytes.size;
  });
  hashZeros(hasher, end - begin);
  hasher.finish(digest);
}
} // namespace

ChunkDigests::ChunkDigests(ChunkHash kind, uint64_t size)
    : kind(kind), size(size), digests(count() * digestSize(kind)) {}

size_t ChunkDigests::count() const {
  return size_t((size + chunkBytes(kind) - 1) / chunkBytes(kind));
}

void ChunkDigests::hash(size_t chunk, const std::vector<Piece> &pieces) {
  uint8_t *digest = digests.data() + chunk * digestSize(kind);
  if (kind == ChunkHash::Xxh3)
    hashRange<Xxh3Hasher>(pieces, begin(chunk), end(chunk), digest);
  else
    hashRange<Sha256Hasher>(pieces, begin(chunk), end(chunk), digest);
}

Digest ChunkDigests::finish() const {
  return Sha256::hash(digests.data(), digests.size());
}

Digest hashChunks(const std::vector<Piece> &pieces, uint64_t size,
                  const Hashed &hashed) {
  ChunkDigests digests(ChunkHash::Xxh3, size);
  std::atomic<size_t> next{0};
  std::mutex mutex;
  inParallel(std::min(digests.count(), mostHashThreads), [&] {
    for (size_t i = next++; i < digests.count(); i = next++) {
      digests.hash(i, pieces);
      std::lock_guard<std::mutex> lock(mutex);
      forEachPiece(pieces, digests.begin(i), digests.end(i), hashed);
    }
  });
  return digests.finish();
}

} // namespace fusec::format
