// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of cumulative sums and the compiler share.

#ifndef FUSEC_KERNELS_SCAN_CONFIG_H
#define FUSEC_KERNELS_SCAN_CONFIG_H

#include "flag_words.h"

#ifndef FUSEC_DEVICE
#define FUSEC_DEVICE inline
#define FUSEC_DEVICE_PLAIN
#endif

namespace fusec {

/// Vectors of a thread that are on their way together.
constexpr int scanSteps = 4;

/// How blocks tell that they have summed their part of an axis: parts share the
/// words of a launch's flags, each of which has fields that count the strips
/// whose part has been summed. Parts of one field tell in turn.
struct ScanFields {
  /// Of the flags; two others count blocks.
  static constexpr int words = 62;
  int turns, bits, perWord;

  /// With as few turns as fields allow that hold what they count: of the
  /// narrowest that do there are most.
  constexpr FUSEC_DEVICE ScanFields(long long strips, int parts)
      : turns(0), bits(0), perWord(0) {
    do {
      ++bits;
      perWord = 32 / bits;
      turns = (parts + words * perWord - 1) / (words * perWord);
    } while (bits < 32 && strips * turns >> bits);
  }
  constexpr FUSEC_DEVICE unsigned mask() const {
    return bits == 32 ? ~0u : (1u << bits) - 1;
  }
};

/// Words of 64 bits behind a launch's flags, in which blocks tell sums of 32
/// bits: parts of a strip follow one another, then come, for each group of
/// parts, the sums of all groups up to it.
struct ScanWords : FlagWords {
  /// Parts of a group: of strips of columns, and of a few columns, whose groups
  /// follow one another as those of a row.
  static constexpr int ofColumns = 16, ofRun = 512;
  /// Of a row: each thread asks for one word. Blocks of 512 that asked for two,
  /// in groups of 1024, took 4% longer for 2^24 floats, and those of 128 12%
  /// where each asked for one only: groups wait for one another.
  static constexpr FUSEC_DEVICE int ofRow(int threads) {
    return threads < 256 ? 256 : threads;
  }
};

} // namespace fusec

#ifdef FUSEC_DEVICE_PLAIN
#undef FUSEC_DEVICE
#undef FUSEC_DEVICE_PLAIN
#endif

#endif // FUSEC_KERNELS_SCAN_CONFIG_H
