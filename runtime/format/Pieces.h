// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes that are put together of pieces.

#ifndef FUSEC_RUNTIME_FORMAT_PIECES_H
#define FUSEC_RUNTIME_FORMAT_PIECES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fusec::format {

struct ByteSpan {
  const uint8_t *data = nullptr;
  size_t size = 0;
};

// Bytes at an offset of a whole; what lies between pieces is zero.
struct Piece {
  uint64_t offset;
  ByteSpan bytes;
};

// Calls visit(offset, bytes) for what pieces have between two offsets. The
// pieces are in ascending order and do not overlap.
template <typename Visit>
void forEachPiece(const std::vector<Piece> &pieces, uint64_t begin,
                  uint64_t end, Visit visit) {
  auto piece = std::partition_point(
      pieces.begin(), pieces.end(), [&](const Piece &before) {
        return before.offset + before.bytes.size <= begin;
      });
  for (; piece != pieces.end() && piece->offset < end; ++piece) {
    uint64_t first = std::max(begin, piece->offset);
    uint64_t last = std::min(end, piece->offset + piece->bytes.size);
    visit(first, ByteSpan{piece->bytes.data + (first - piece->offset),
                          size_t(last - first)});
  }
}

} // namespace fusec::format

#endif
