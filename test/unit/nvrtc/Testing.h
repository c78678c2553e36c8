// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the NVRTC tests share: a folder of their own, and requests.

#ifndef FUSEC_TEST_UNIT_NVRTC_TESTING_H
#define FUSEC_TEST_UNIT_NVRTC_TESTING_H

#include "compiler/codegen/nvrtc/KernelCache.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace fusec::test {

/// A temporary folder that disappears with the object.
class Folder {
public:
  Folder() { llvm::sys::fs::createUniqueDirectory("fusec-nvrtc", root); }
  ~Folder() { llvm::sys::fs::remove_directories(root); }
  std::string path(const llvm::Twine &name = "") const {
    llvm::SmallString<256> result(root);
    llvm::sys::path::append(result, name);
    return std::string(result);
  }
  /// Creates the folders above, too.
  std::string write(const llvm::Twine &name, llvm::StringRef text) const {
    std::string file = path(name);
    llvm::sys::fs::create_directories(llvm::sys::path::parent_path(file));
    std::error_code code;
    llvm::raw_fd_ostream os(file, code);
    os << text;
    EXPECT_FALSE(code) << code.message();
    return file;
  }
  /// Regular files at any depth, with their bytes.
  std::vector<std::string> files() const {
    std::vector<std::string> result;
    std::error_code code;
    for (llvm::sys::fs::recursive_directory_iterator it(root, code), end;
         it != end && !code; it.increment(code))
      if (llvm::sys::fs::is_regular_file(it->path()))
        result.push_back(it->path());
    std::sort(result.begin(), result.end());
    return result;
  }

private:
  llvm::SmallString<256> root;
};

/// Sets an environment variable, or removes it, until the end of the scope.
class Environment {
public:
  Environment(const char *name, std::optional<std::string> value) : name(name) {
    if (const char *old = std::getenv(name))
      before = old;
    set(value);
  }
  ~Environment() { set(before); }

private:
  void set(const std::optional<std::string> &value) {
    if (value)
      setenv(name, value->c_str(), 1);
    else
      unsetenv(name);
  }
  const char *name;
  std::optional<std::string> before;
};

inline CompileRequest request(std::string name, std::string body,
                              std::string target = "sm_80") {
  CompileRequest result;
  result.source = "extern \"C\" __global__ void " + name + "(float *x) {\n" +
                  body + "\n}\n";
  result.name = std::move(name);
  result.target = std::move(target);
  return result;
}

/// A kernel that no compiler made, and of which one.
inline const NvrtcVersion version = {13, 0, "13.0.88"};
inline CompiledKernel sample(size_t size = 1000) {
  CompiledKernel kernel;
  kernel.name = "gate";
  kernel.target = "sm_90a";
  kernel.image.assign(size, '\x5a');
  kernel.log = "log";
  kernel.kernels = {{"gate", 40, 1, 2, 3}, {"up", 32, 0, 0, 0}};
  kernel.serializedMma = true;
  return kernel;
}

inline std::string contentOf(const std::string &file) {
  return (*llvm::MemoryBuffer::getFile(file, false, false))->getBuffer().str();
}

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_NVRTC_TESTING_H
