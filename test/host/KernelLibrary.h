// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emitted kernels, compiled for the host. Texts that differ only in comments
// are compiled once; several dozen share a file, each in a namespace of its
// own, since what a file costs is mostly its headers. What was compiled before
// from the same text, by the same headers and flags, is loaded again.

#ifndef FUSEC_TEST_HOST_KERNELLIBRARY_H
#define FUSEC_TEST_HOST_KERNELLIBRARY_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace fusec {

class KernelLibrary {
public:
  /// The symbol that texts give their kernel.
  static constexpr llvm::StringLiteral symbol = "fusec_host_kernel";
  /// What FUSEC_HOST_ENTRY defines.
  using Entry = void (*)(void **params, const int *grid, long long first,
                         long long last);

  KernelLibrary(std::string compiler, std::string folder, unsigned jobs);

  /// Writes the device headers; says why where it cannot.
  bool prepare(std::string &error);
  /// The number of the kernel with this text.
  unsigned add(llvm::StringRef text);
  /// Compiles and loads what was added since. A kernel that does not compile
  /// has no entry, but an error.
  void build();

  Entry getEntry(unsigned kernel) const { return kernels[kernel].entry; }
  const std::string &getError(unsigned kernel) const {
    return kernels[kernel].error;
  }
  size_t size() const { return kernels.size(); }

private:
  struct Kernel {
    std::string text;
    Entry entry = nullptr;
    std::string error;
  };
  /// Kernels that share a file.
  struct Unit {
    std::vector<unsigned> kernels;
    std::string base; // path without its extension
    bool isCompiled = false;
  };

  Unit write(std::vector<unsigned> members) const;
  void compile(std::vector<Unit> &units) const;
  void load(const Unit &unit);
  std::string getLog(const Unit &unit) const;

  std::string compiler, folder;
  unsigned jobs;
  std::string headerHash;
  std::vector<Kernel> kernels;
  std::map<std::string, unsigned> byText;
  size_t built = 0;
};

} // namespace fusec

#endif // FUSEC_TEST_HOST_KERNELLIBRARY_H
