// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/WriteFile.h"
#include "compiler/PartFile.h"
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

static std::unique_ptr<PartFile> createBeside(const std::string &path) {
  llvm::Expected<std::unique_ptr<PartFile>> file = PartFile::create(path);
  if (!file)
    refuse(path, llvm::toString(file.takeError()));
  return std::move(*file);
}

/// A rename would put a file in place of a device or a pipe.
static bool isSpecial(const std::string &path) {
  return fs::exists(path) && !fs::is_regular_file(path);
}

static void write(const std::string &path,
                  llvm::function_ref<void(llvm::raw_ostream &)> print,
                  PartFile::Sync sync) {
  if (isSpecial(path)) {
    std::error_code code;
    llvm::raw_fd_ostream os(path, code);
    if (code)
      refuse(path, code.message());
    writeAll(os, path, print);
    return;
  }
  std::unique_ptr<PartFile> file = createBeside(path);
  {
    llvm::raw_fd_ostream os(file->getDescriptor(), /*shouldClose=*/false);
    writeAll(os, path, print);
  }
  if (llvm::Error error = file->keep(sync))
    refuse(path, llvm::toString(std::move(error)));
}

void fusec::writeFile(const std::string &path,
                      llvm::function_ref<void(llvm::raw_ostream &)> print) {
  write(path, print, PartFile::Sync::Yes);
}

void fusec::writeFile(const std::string &path, llvm::StringRef bytes) {
  writeFile(path, [&](llvm::raw_ostream &os) { os << bytes; });
}

void fusec::dumpFile(const std::string &path, llvm::StringRef bytes) {
  write(
      path, [&](llvm::raw_ostream &os) { os << bytes; }, PartFile::Sync::No);
}

void fusec::checkWritable(const std::string &path) {
  if (!isSpecial(path))
    createBeside(path);
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
