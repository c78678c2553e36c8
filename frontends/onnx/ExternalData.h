// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files beside the model that hold its weights. A model is untrusted: a path
// must stay inside the folder, name a regular file and pass no symbolic link,
// which is checked while walking it, not on the text alone.

#ifndef FUSEC_FRONTENDS_ONNX_EXTERNALDATA_H
#define FUSEC_FRONTENDS_ONNX_EXTERNALDATA_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <string>

namespace fusec::onnx {

/// A read-only mapping, released with its last user.
class MappedFile {
public:
  ~MappedFile();
  llvm::ArrayRef<char> getBytes() const { return {data, size}; }
  /// Gives memory back in which some of the bytes lie, if they are the file's:
  /// the next access reads them again.
  void release(const char *begin, size_t count) const;

private:
  friend class ExternalData;
  MappedFile(const char *data, size_t size) : data(data), size(size) {}
  const char *data;
  size_t size;
};

class ExternalData {
public:
  explicit ExternalData(std::string folder) : folder(std::move(folder)) {}

  /// The file at `location` (relative, forward slashes); on failure `error`
  /// says what is wrong with it.
  std::shared_ptr<MappedFile> open(llvm::StringRef location,
                                   std::string &error);
  /// Of all that were opened.
  std::vector<std::string> getPaths() const;
  std::vector<std::shared_ptr<const MappedFile>> getFiles() const;

private:
  std::string folder;
  llvm::StringMap<std::shared_ptr<MappedFile>> files;
};

} // namespace fusec::onnx

#endif // FUSEC_FRONTENDS_ONNX_EXTERNALDATA_H
