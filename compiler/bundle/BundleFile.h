// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bundle's file while it is written: its parts come in any order, and a
// refusal of the system sticks until the end.

#ifndef FUSEC_COMPILER_BUNDLE_BUNDLEFILE_H
#define FUSEC_COMPILER_BUNDLE_BUNDLEFILE_H

#include "compiler/PartFile.h"
#include "runtime/format/Bundle.h"
#include <system_error>

namespace fusec {

class BundleFile {
public:
  /// An error where `path` is something else than a file to be, or to be
  /// replaced, or its folder takes no file.
  static llvm::Expected<std::unique_ptr<BundleFile>>
  create(llvm::StringRef path);

  /// False where the system refuses; keep() then says why.
  bool write(uint64_t offset, format::ByteSpan bytes);
  bool isRefused() const { return bool(refused); }
  /// Gives the file its name, or says why not.
  llvm::Error keep();

private:
  BundleFile(llvm::StringRef path, std::unique_ptr<PartFile> file)
      : path(path), file(std::move(file)) {}

  std::string path;
  std::unique_ptr<PartFile> file;
  std::error_code refused;
};

} // namespace fusec

#endif // FUSEC_COMPILER_BUNDLE_BUNDLEFILE_H
