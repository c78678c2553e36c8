// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that later runs of the same user trust: in folders and files that
// nobody else may have written, and with a digest of their bytes.

#ifndef FUSEC_COMPILER_CODEGEN_NVRTC_CACHEFILE_H
#define FUSEC_COMPILER_CODEGEN_NVRTC_CACHEFILE_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace fusec {

/// What of a cache is not trusted, or empty: another user owns it, or may
/// write it (a list of access rights shows in the group's).
using CacheRefusal = std::string;

/// Makes a folder of mode 0700, and those above it, where it is missing. A
/// symbolic link to a folder counts as that where this user made the link.
CacheRefusal makeCacheFolder(const std::string &path);

/// The payload of a sound file, which is marked as used; no symbolic link is
/// followed.
std::optional<std::string> readCacheFile(const std::string &path,
                                         CacheRefusal &refusal);

/// Whole or not at all; that it cannot be written is no error. What a loss of
/// power leaves, the digest tells.
void writeCacheFile(const std::string &path, llvm::StringRef payload);

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_NVRTC_CACHEFILE_H
