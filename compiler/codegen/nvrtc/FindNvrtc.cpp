// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where NVRTC lies. The search only looks at directories: it neither loads a
// library nor runs Python, so that a build answered by the kernel cache stays
// free of both.

#include "compiler/codegen/nvrtc/Nvrtc.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <fmt/core.h>
#include <optional>

using namespace llvm;

namespace fusec {

static constexpr StringLiteral sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

static std::string childPath(StringRef directory, const Twine &a,
                             const Twine &b = {}, const Twine &c = {}) {
  SmallString<256> path(directory);
  sys::path::append(path, a, b, c);
  return std::string(path);
}

static StringRef environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// The sorted entries of `directory` whose name begins with `prefix`.
static std::vector<std::string> entries(const Twine &directory,
                                        StringRef prefix) {
  std::vector<std::string> result;
  std::error_code code;
  for (sys::fs::directory_iterator it(directory, code), end; it != end && !code;
       it.increment(code))
    if (sys::path::filename(it->path()).starts_with(prefix))
      result.push_back(it->path());
  llvm::sort(result);
  return result;
}

static std::optional<std::string> regularFile(const Twine &path) {
  SmallString<256> real;
  if (!sys::fs::is_regular_file(path) || sys::fs::real_path(path, real))
    return std::nullopt;
  return std::string(real);
}

static std::optional<std::string> inFolder(StringRef folder,
                                           ArrayRef<StringLiteral> names) {
  for (StringLiteral name : names)
    if (std::optional<std::string> file = regularFile(childPath(folder, name)))
      return file;
  return std::nullopt;
}

/// A file or folder that the user named; a wrong one is an error, since
/// another NVRTC could write other code.
static Expected<std::string> named(StringRef path, StringRef option) {
  if (std::optional<std::string> file = regularFile(path))
    return *file;
  if (sys::fs::is_directory(path)) {
    if (std::optional<std::string> file = inFolder(path, sonames))
      return *file;
    if (std::optional<std::string> file =
            regularFile(childPath(path, "libnvrtc.so")))
      return *file;
    return make_error<NvrtcError>(
        NvrtcError::Kind::notFound,
        fmt::format("{}: expected libnvrtc.so.13 or libnvrtc.so.12 in folder "
                    "'{}', found neither",
                    option, path));
  }
  return make_error<NvrtcError>(
      NvrtcError::Kind::notFound,
      fmt::format("{}: expected the file of libnvrtc.so or its folder, found "
                  "nothing at '{}'",
                  option, path));
}

/// The site-packages of the environments that `python3` could mean.
static std::vector<std::string> sitePackages() {
  std::vector<std::string> prefixes, result;
  if (StringRef environmentPath = environment("VIRTUAL_ENV");
      !environmentPath.empty())
    prefixes.push_back(environmentPath.str());
  SmallVector<StringRef, 16> directories;
  environment("PATH").split(directories, ':', -1, false);
  for (StringRef directory : directories)
    if (sys::fs::can_execute(childPath(directory, "python3")) ||
        sys::fs::can_execute(childPath(directory, "python")))
      prefixes.push_back(sys::path::parent_path(directory.rtrim('/')).str());
  for (const std::string &prefix : prefixes)
    for (StringRef lib : {"lib", "lib64", "local/lib"})
      for (const std::string &python :
           entries(childPath(prefix, lib), "python3"))
        for (StringRef packages : {"site-packages", "dist-packages"})
          result.push_back(childPath(python, packages));
  return result;
}

/// The directories of the dynamic loader, from its configuration's text.
static std::vector<std::string> loaderDirectories() {
  std::vector<std::string> result;
  SmallVector<StringRef, 8> path;
  environment("LD_LIBRARY_PATH").split(path, ':', -1, false);
  for (StringRef directory : path)
    result.push_back(directory.str());
  for (const std::string &file : entries("/etc/ld.so.conf.d", "")) {
    ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(file);
    if (!buffer || !StringRef(file).ends_with(".conf"))
      continue;
    SmallVector<StringRef, 8> lines;
    (*buffer)->getBuffer().split(lines, '\n', -1, false);
    for (StringRef line : lines)
      if (line = line.split('#').first.trim(); line.starts_with("/"))
        result.push_back(line.str());
  }
  for (StringRef directory :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
        "/usr/lib64", "/lib", "/usr/lib"})
    result.push_back(directory.str());
  // /usr/local/cuda is the administrator's choice; of the others the newest.
  std::vector<std::string> toolkits = entries("/usr/local", "cuda-");
  std::reverse(toolkits.begin(), toolkits.end());
  toolkits.insert(toolkits.begin(), "/usr/local/cuda");
  for (const std::string &toolkit : toolkits)
    result.push_back(childPath(toolkit, "lib64"));
  return result;
}

Expected<std::string> findNvrtc(StringRef path) {
  if (!path.empty())
    return named(path, "--nvrtc");
  if (StringRef variable = environment("FUSEC_NVRTC"); !variable.empty())
    return named(variable, "FUSEC_NVRTC");

  std::vector<std::string> packages = sitePackages();
  for (const std::string &folder : packages)
    for (StringRef wheel : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})
      if (std::optional<std::string> file =
              inFolder(childPath(folder, wheel), sonames))
        return *file;

  std::vector<std::string> directories = loaderDirectories();
  for (StringLiteral name : sonames)
    for (const std::string &directory : directories)
      if (std::optional<std::string> file = inFolder(directory, name))
        return *file;

  std::string message;
  raw_string_ostream os(message);
  os << "NVRTC not found: looked for libnvrtc.so.13 and libnvrtc.so.12 at "
        "--nvrtc and FUSEC_NVRTC (not given), "
        "in the wheels nvidia/cu13 and nvidia/cuda_nvrtc of "
     << packages.size() << " Python package folders, and in "
     << llvm::join(directories, ", ")
     << "; install a CUDA toolkit (12.4 or newer) or 'pip install "
        "nvidia-cuda-nvrtc', or give its path with --nvrtc";
  return make_error<NvrtcError>(NvrtcError::Kind::notFound, message);
}

} // namespace fusec
