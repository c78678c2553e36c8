// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/bundle/BundleFile.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"

#include <unistd.h>

using namespace fusec;
namespace fs = llvm::sys::fs;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<std::unique_ptr<BundleFile>>
BundleFile::create(llvm::StringRef path) {
  // Its rename would put a file in place of a device.
  if (fs::exists(path) && !fs::is_regular_file(path))
    return makeError(path + ": cannot be written: not a regular file");
  llvm::Expected<std::unique_ptr<PartFile>> file = PartFile::create(path);
  if (!file)
    return makeError(
        path + ": cannot be created: " + llvm::toString(file.takeError()));
  return std::unique_ptr<BundleFile>(new BundleFile(path, std::move(*file)));
}

bool BundleFile::write(uint64_t offset, format::ByteSpan bytes) {
  while (!refused && bytes.size != 0) {
    ssize_t written = llvm::sys::RetryAfterSignal(-1, [&] {
      return ::pwrite(file->getDescriptor(), bytes.data, bytes.size,
                      off_t(offset));
    });
    if (written < 0) {
      refused = std::error_code(errno, std::generic_category());
    } else {
      offset += uint64_t(written);
      bytes = {bytes.data + written, bytes.size - size_t(written)};
    }
  }
  return !refused;
}

llvm::Error BundleFile::keep() {
  if (!refused)
    if (llvm::Error error = file->keep())
      return makeError(
          path + ": cannot be written: " + llvm::toString(std::move(error)));
  if (refused)
    return makeError(path + ": cannot be written: " + refused.message());
  return llvm::Error::success();
}
