// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bundle's file while it is written: beside its place, under a name of its
// own, until it is whole. Nobody sees half a bundle, and nothing is left where
// one is not finished, be it by a signal.

#ifndef FUSEC_COMPILER_BUNDLE_BUNDLEFILE_H
#define FUSEC_COMPILER_BUNDLE_BUNDLEFILE_H

#include "runtime/format/Bundle.h"
#include "llvm/Support/FileSystem.h"
#include <memory>

namespace fusec {

class BundleFile {
public:
  /// An error where `path` is something else than a file to be, or to be
  /// replaced, or its folder takes no file.
  static llvm::Expected<std::unique_ptr<BundleFile>>
  create(llvm::StringRef path);
  ~BundleFile();

  /// False where the system refuses; keep() then says why.
  bool write(uint64_t offset, format::ByteSpan bytes);
  bool isRefused() const { return bool(refused); }
  /// Gives the file its name, or says why not.
  llvm::Error keep();

private:
  BundleFile(llvm::StringRef path, llvm::sys::fs::TempFile file)
      : path(path), file(std::move(file)) {}

  std::string path;
  llvm::sys::fs::TempFile file;
  std::error_code refused;
};

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_BUNDLEFILE_H
