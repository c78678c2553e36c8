// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One of several processes that share a suite's tests.

#ifndef FUSEC_TEST_GPU_SHARD_H
#define FUSEC_TEST_GPU_SHARD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/xxhash.h"

#include <optional>

namespace fusec {

struct Shard {
  unsigned index = 0, count = 1;

  /// Of "I/N": of N processes the I-th, from 0.
  static std::optional<Shard> parse(llvm::StringRef text) {
    Shard shard;
    if (text.consumeInteger(10, shard.index) || !text.consume_front("/") ||
        text.getAsInteger(10, shard.count) || shard.index >= shard.count)
      return std::nullopt;
    return shard;
  }
  bool has(llvm::StringRef test) const {
    return llvm::xxh3_64bits(test) % count == index;
  }
};

} // namespace fusec

#endif // FUSEC_TEST_GPU_SHARD_H
