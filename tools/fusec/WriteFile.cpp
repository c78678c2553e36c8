// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/WriteFile.h"
#include "tools/fusec/Failure.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;

void fusec::makeFolder(const std::string &path) {
  if (std::error_code code = llvm::sys::fs::create_directories(path))
    fail(ExitCode::Input, path + ": cannot be made: " + code.message());
}

void fusec::writeFile(const std::string &path, llvm::StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (!code) {
    os << bytes;
    os.close();
    code = os.error();
    os.clear_error();
  }
  if (code)
    fail(ExitCode::Input, path + ": cannot be written: " + code.message());
}
