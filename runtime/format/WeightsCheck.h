// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a bundle's weights have the hashes that its table says.

#ifndef FUSEC_RUNTIME_FORMAT_WEIGHTSCHECK_H
#define FUSEC_RUNTIME_FORMAT_WEIGHTSCHECK_H

#include "runtime/format/Bundle.h"
#include "runtime/format/ChunkHash.h"

#include <atomic>
#include <string>
#include <vector>

namespace fusec::format {

// Chunks are hashed by whoever reads them, while they are in its caches: memory
// is what all wait for. hash() and hashRest() may run at once.
class WeightsCheck {
public:
  // Of a bundle that outlives it; of no weights if the mode leaves them out.
  WeightsCheck(const Bundle &bundle, HashWeights mode);

  // Hashes what is in the chunks that hold these bytes of the bundle, but for
  // chunks that have been taken.
  void hash(ByteSpan bytes);
  // Hashes what has not been taken, from the end of the file, by at most so
  // many threads.
  void hashRest(size_t mostThreads);
  // Once both have returned everywhere, and hashRest() once. False with `error`
  // set where a section is damaged.
  bool finish(std::string &error) const;

private:
  struct Checked {
    size_t section; // its index
    std::vector<Piece> pieces;
    ChunkDigests digests;
  };
  struct Chunk {
    ByteSpan bytes;
    size_t checked, index;
  };
  void take(size_t chunk);

  const Bundle &bundle;
  std::vector<Checked> all;
  std::vector<Chunk> chunks; // in the order of their addresses
  std::vector<std::atomic<bool>> taken;
};

} // namespace fusec::format

#endif
