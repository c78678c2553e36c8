// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/WriteFile.h"
#include "tools/fusec/Failure.h"
#include "llvm/Support/FileSystem.h"

using namespace fusec;
namespace fs = llvm::sys::fs;

[[noreturn]] static void refuse(const std::string &path,
                                const std::string &reason) {
  failUnreadable(path + ": cannot be written: " + reason);
}

static void writeAll(llvm::raw_fd_ostream &os, const std::string &path,
                     llvm::function_ref<void(llvm::raw_ostream &)> print) {
  print(os);
  os.flush();
  if (!os.has_error())
    return;
  std::string reason = os.error().message();
  os.clear_error();
  refuse(path, reason);
}

void fusec::makeFolder(const std::string &path) {
  if (std::error_code code = fs::create_directories(path))
    failUnreadable(path + ": cannot be made: " + code.message());
}

/// A file beside the one that it becomes.
static fs::TempFile createBeside(const std::string &path) {
  llvm::Expected<fs::TempFile> file = fs::TempFile::create(
      path + ".part%%%%%%%%", fs::all_read | fs::all_write);
  if (!file)
    refuse(path, llvm::toString(file.takeError()));
  return std::move(*file);
}

/// A rename would put a file in place of a device or a pipe.
static bool isSpecial(const std::string &path) {
  return fs::exists(path) && !fs::is_regular_file(path);
}

void fusec::writeFile(const std::string &path,
                      llvm::function_ref<void(llvm::raw_ostream &)> print) {
  if (isSpecial(path)) {
    std::error_code code;
    llvm::raw_fd_ostream os(path, code);
    if (code)
      refuse(path, code.message());
    writeAll(os, path, print);
    return;
  }
  fs::TempFile file = createBeside(path);
  try {
    llvm::raw_fd_ostream os(file.FD, /*shouldClose=*/false);
    writeAll(os, path, print);
  } catch (...) {
    llvm::consumeError(file.discard());
    throw;
  }
  if (llvm::Error error = file.keep(path))
    refuse(path, llvm::toString(std::move(error)));
}

void fusec::writeFile(const std::string &path, llvm::StringRef bytes) {
  writeFile(path, [&](llvm::raw_ostream &os) { os << bytes; });
}

void fusec::checkWritable(const std::string &path) {
  if (!isSpecial(path))
    llvm::consumeError(createBeside(path).discard());
}

bool fusec::flushOutput() {
  llvm::raw_fd_ostream &os = llvm::outs();
  os.flush();
  if (!os.has_error())
    return true;
  llvm::errs() << "error: stdout: cannot be written: " << os.error().message()
               << "\n";
  os.clear_error();
  return false;
}
