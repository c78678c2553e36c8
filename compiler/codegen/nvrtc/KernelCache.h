// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled kernels on disk, keyed by everything that decides their bytes. A
// hit needs no NVRTC; a damaged entry counts as a miss; losing a race or the
// disk costs time, never a wrong kernel. What another user may have written is
// not trusted.

#ifndef FUSEC_COMPILER_CODEGEN_NVRTC_KERNELCACHE_H
#define FUSEC_COMPILER_CODEGEN_NVRTC_KERNELCACHE_H

#include "compiler/codegen/nvrtc/Nvrtc.h"

#include <functional>
#include <optional>

namespace fusec {

/// $FUSEC_CACHE_DIR, else $XDG_CACHE_HOME/fusec, else ~/.cache/fusec; empty
/// where none of them is known.
std::string defaultCacheDirectory();

/// A directory of entries `<first 2 hex digits>/<64 hex digits>`, made with
/// mode 0700.
/// All functions may be called from several threads and processes at once.
class KernelCache {
public:
  /// `limit` bounds the directory's size in bytes.
  explicit KernelCache(std::string directory, uint64_t limit = uint64_t(1)
                                                               << 30);

  /// Why nothing is looked up or stored, and how to go on, where another user
  /// owns the directory or may write it; else empty.
  const std::string &getRefusal() const { return refusal; }

  /// SHA-256, in hex, of the source, the headers it reaches, the options, the
  /// target and the NVRTC version.
  static std::string key(const CompileRequest &request,
                         const NvrtcVersion &version);

  /// The entry, if there is a sound one; marks it as recently used. `warning`
  /// says why one that there is is not trusted.
  std::optional<CompiledKernel> lookup(llvm::StringRef key,
                                       std::string *warning = nullptr) const;
  /// Failing to write is not an error: the cache is an optimisation.
  void store(llvm::StringRef key, const CompiledKernel &kernel) const;
  /// Removes the least recently used entries above the limit.
  void trim() const;

  /// What the library at `file` was when last loaded; none where it changed.
  std::optional<NvrtcIdentity>
  lookupIdentity(llvm::StringRef file, std::string *warning = nullptr) const;
  void storeIdentity(llvm::StringRef file, const NvrtcIdentity &identity) const;

private:
  std::optional<std::string> read(const std::string &path,
                                  std::string *warning) const;

  std::string directory;
  uint64_t limit;
  std::string refusal;
};

struct KernelCompilerOptions {
  /// As for findNvrtc().
  std::string nvrtcPath;
  bool useCache = true;
  /// Empty: defaultCacheDirectory().
  std::string cacheDirectory;
  uint64_t cacheLimit = uint64_t(1) << 30;
  /// 0: one per core.
  unsigned threads = 0;
};

/// NVRTC behind the cache. The library is loaded by the first miss only.
class KernelCompiler {
public:
  /// Called after each kernel, by one thread at a time (not always the same).
  using Progress =
      std::function<void(size_t done, size_t total, const CompiledKernel &)>;

  explicit KernelCompiler(KernelCompilerOptions options);
  ~KernelCompiler();

  /// The version and architectures, loading the library only where the cache
  /// does not know them.
  llvm::Expected<const NvrtcIdentity &> getIdentity();
  /// The library's file.
  llvm::Expected<std::string> getFile();

  /// Results in the order of `requests`. Every request is compiled; failures
  /// come back joined, in that order.
  llvm::Expected<std::vector<CompiledKernel>>
  compileAll(llvm::ArrayRef<CompileRequest> requests,
             const Progress &progress = nullptr);
  llvm::Expected<CompiledKernel> compile(const CompileRequest &request);

  /// What of the cache is not trusted: at most one warning of the folder, and
  /// one of its first such file. Each is returned once.
  std::vector<std::string> takeWarnings();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_NVRTC_KERNELCACHE_H
