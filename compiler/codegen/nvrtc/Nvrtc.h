// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVRTC, loaded at run time: the one place that knows how CUDA C text becomes
// a cubin or PTX. Neither a CUDA header nor a GPU is needed to build or to use
// it. KernelCache.h puts a cache and a thread pool in front.

#ifndef FUSEC_COMPILER_CODEGEN_NVRTC_NVRTC_H
#define FUSEC_COMPILER_CODEGEN_NVRTC_NVRTC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fusec {

/// A release of NVRTC. `build` is the full release ("13.0.88") where the
/// library reveals it, else empty.
struct NvrtcVersion {
  int major = 0, minor = 0;
  std::string build;

  /// "13.0.88" or "13.0": for the user, the manifest and cache keys.
  std::string str() const;
};

/// A header that a kernel includes by `name`; the text outlives the request.
struct KernelHeader {
  std::string name;
  llvm::StringRef text;
};

/// One NVRTC program: usually one kernel.
struct CompileRequest {
  /// Names the kernel in messages; the log calls the source `name`.cu.
  std::string name;
  std::string source;
  /// May hold more than the source includes: only what it reaches by
  /// `#include "..."` is compiled and enters the cache key.
  std::vector<KernelHeader> headers;
  /// "sm_80", "sm_90a", ...: a cubin. "ptx": PTX for compute_80.
  std::string target;
  /// Further NVRTC options, such as "--fmad=false". The architecture, the
  /// language standard and ptxas' verbosity are set by the driver.
  std::vector<std::string> options;
};

/// What ptxas says of one `__global__` function.
struct KernelUsage {
  std::string symbol;
  unsigned registers = 0;
  /// Bytes of spill stores and loads together, and of the stack frame (local
  /// arrays count there, even without spills).
  unsigned spillBytes = 0;
  unsigned stackBytes = 0;
  /// Static shared memory.
  unsigned sharedBytes = 0;
};

struct CompiledKernel {
  std::string name;
  std::string target;
  /// A cubin (ELF), or PTX text without a trailing NUL.
  std::string image;
  bool isPtx = false;
  /// The compiler's log: warnings, ptxas' statistics.
  std::string log;
  /// One per `__global__` function, sorted by symbol. For PTX the resources
  /// are those that the driver will choose, and are left at zero.
  std::vector<KernelUsage> kernels;
  /// ptxas serialised wgmma instructions (messages C7505 to C7519): correct,
  /// but an order of magnitude slower.
  bool serializedMma = false;
  /// Taken from the cache; no compiler ran.
  bool fromCache = false;

  /// The entry called `symbol`, or null.
  const KernelUsage *find(llvm::StringRef symbol) const;
  /// Whether any kernel of the program spills registers.
  bool spills() const;
};

/// Failures of NVRTC itself are the toolchain's; a source that does not
/// compile is fusec's own error.
class NvrtcError : public llvm::ErrorInfo<NvrtcError> {
public:
  enum class Kind { notFound, unsupportedTarget, compilation, internal };
  static char ID;

  NvrtcError(Kind kind, std::string text) : kind(kind), text(std::move(text)) {}
  Kind getKind() const { return kind; }
  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  Kind kind;
  std::string text;
};

/// What a library file is known to be: recorded beside the kernel cache, so
/// that a compilation answered by the cache need not load 100 MB of NVRTC.
struct NvrtcIdentity {
  NvrtcVersion version;
  /// Numbers of the architectures it compiles for: 80, 90, 120, ...
  std::vector<int> archs;
};

/// The file that would be loaded, in this order: `path`; FUSEC_NVRTC; a PyPI
/// wheel of the Python environment in VIRTUAL_ENV or PATH; libnvrtc.so.13 and
/// .12 of the loader's directories and of /usr/local/cuda*. A `path` may be a
/// file or the folder that holds it. Errors list what was tried.
llvm::Expected<std::string> findNvrtc(llvm::StringRef path = {});

/// A loaded NVRTC; const functions may be called from several threads.
class Nvrtc {
public:
  /// Loads the library at `file`, as found by findNvrtc().
  static llvm::Expected<std::unique_ptr<Nvrtc>> load(llvm::StringRef file);
  ~Nvrtc();

  const std::string &getFile() const;
  const NvrtcIdentity &getIdentity() const;

  /// Compiles one program. Its bytes depend on the request and the version
  /// alone.
  llvm::Expected<CompiledKernel> compile(const CompileRequest &request) const;

private:
  struct Library;
  explicit Nvrtc(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library;
};

/// Checks that `identity` can compile for `target` ("sm_90a", "ptx", ...); the
/// error names the NVRTC that can.
llvm::Error checkTarget(llvm::StringRef target, const NvrtcIdentity &identity);

/// The headers that `source` reaches through `#include "..."`, sorted by name.
/// An include that is not a plain literal reaches all of them.
std::vector<KernelHeader> collectHeaders(llvm::StringRef source,
                                         llvm::ArrayRef<KernelHeader> headers);

/// The options passed to NVRTC for a request, in order.
std::vector<std::string> nvrtcOptions(const CompileRequest &request);

} // namespace fusec

#endif // FUSEC_COMPILER_CODEGEN_NVRTC_NVRTC_H
