// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes of sections. Weights can be large: their chunks are hashed on a few
// threads.

#include "runtime/format/Bundle.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace fusec::format {

namespace {
constexpr unsigned maxHashThreads = 16;

void hashZeros(Sha256 &sha, uint64_t count) {
  static constexpr uint8_t zeros[4096] = {};
  for (; count != 0; count -= std::min<uint64_t>(count, sizeof(zeros)))
    sha.update(zeros, std::min<uint64_t>(count, sizeof(zeros)));
}

// The first piece that ends behind `begin`.
auto findPiece(const std::vector<Piece> &pieces, uint64_t begin) {
  return std::partition_point(
      pieces.begin(), pieces.end(), [&](const Piece &before) {
        return before.offset + before.bytes.size <= begin;
      });
}

// Of the bytes from `begin` to `end`.
Digest hashRange(const std::vector<Piece> &pieces, uint64_t begin,
                 uint64_t end) {
  Sha256 sha;
  auto piece = findPiece(pieces, begin);
  for (; piece != pieces.end() && piece->offset < end; ++piece) {
    uint64_t first = std::max(begin, piece->offset);
    uint64_t last = std::min(end, piece->offset + piece->bytes.size);
    hashZeros(sha, first - begin);
    sha.update(piece->bytes.data + (first - piece->offset), last - first);
    begin = last;
  }
  hashZeros(sha, end - begin);
  return sha.finish();
}

// The bytes from `begin` to `end`, piece by piece.
void visit(const std::vector<Piece> &pieces, uint64_t begin, uint64_t end,
           const Hashed &hashed) {
  if (!hashed)
    return;
  auto piece = findPiece(pieces, begin);
  for (; piece != pieces.end() && piece->offset < end; ++piece) {
    uint64_t first = std::max(begin, piece->offset);
    uint64_t last = std::min(end, piece->offset + piece->bytes.size);
    hashed(first,
           {piece->bytes.data + (first - piece->offset), size_t(last - first)});
  }
}

// The bytes from `begin` to `end` where they lie in one piece, else null.
const uint8_t *findBytes(const std::vector<Piece> &pieces, uint64_t begin,
                         uint64_t end) {
  auto piece = findPiece(pieces, begin);
  bool isWithin = piece != pieces.end() && piece->offset <= begin &&
                  end <= piece->offset + piece->bytes.size;
  return isWithin ? piece->bytes.data + (begin - piece->offset) : nullptr;
}

// Of one chunk or of two neighbours.
void hashChunks(const std::vector<Piece> &pieces, uint64_t size, size_t first,
                size_t end, Digest *digests) {
  uint64_t begin = first * weightsChunk;
  if (end - first == 2)
    if (const uint8_t *bytes = findBytes(pieces, begin, end * weightsChunk)) {
      auto [one, other] =
          Sha256::hashTwo(bytes, bytes + weightsChunk, weightsChunk);
      digests[first] = one;
      digests[first + 1] = other;
      return;
    }
  for (size_t i = first; i != end; ++i)
    digests[i] = hashRange(pieces, i * weightsChunk,
                           std::min((i + 1) * weightsChunk, size));
}
} // namespace

Digest hashSection(SectionKind kind, const std::vector<Piece> &pieces,
                   uint64_t size, const Hashed &hashed) {
  if (kind != SectionKind::Weights) {
    visit(pieces, 0, size, hashed);
    return hashRange(pieces, 0, size);
  }
  size_t count = (size + weightsChunk - 1) / weightsChunk;
  std::vector<Digest> digests(count);
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::vector<std::thread> threads;
  size_t helpers = std::min<size_t>(
      {count, maxHashThreads, std::thread::hardware_concurrency()});
  // By two where all threads have two.
  size_t step = count >= 2 * helpers ? 2 : 1;
  auto work = [&] {
    for (size_t i = next.fetch_add(step); i < count; i = next.fetch_add(step)) {
      size_t end = std::min(i + step, count);
      hashChunks(pieces, size, i, end, digests.data());
      std::lock_guard<std::mutex> lock(mutex);
      visit(pieces, i * weightsChunk, std::min(end * weightsChunk, size),
            hashed);
    }
  };
  try {
    threads.reserve(helpers);
    for (size_t i = 1; i < helpers; ++i)
      threads.emplace_back(work);
  } catch (const std::exception &) {
    // No more threads, or no memory for one: those there are, and this one, do
    // the work.
  }
  work();
  for (std::thread &thread : threads)
    thread.join();
  return Sha256::hash(digests.data(), count * sizeof(Digest));
}

} // namespace fusec::format
