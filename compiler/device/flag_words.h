// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels whose blocks tell one another something, the compiler and the
// loader agree on: the flags of a session, which all its launches share.

#ifndef FUSEC_DEVICE_FLAG_WORDS_H
#define FUSEC_DEVICE_FLAG_WORDS_H

namespace fusec {

struct FlagWords {
  /// 64 flags that are zero before and after a launch, how many launches there
  /// were that told something, and how many flags there are. Words of 64 bits
  /// follow.
  static constexpr int flags = 66, launches = 64, size = 65, flagsOfWord = 2;
  /// Words of a block of a team that reduces a row together.
  static constexpr int ofTeamBlock = 2;
  /// What a bundle may ask for: 16 MiB.
  static constexpr int mostFlags = 1 << 22;
};

} // namespace fusec

#endif // FUSEC_DEVICE_FLAG_WORDS_H
