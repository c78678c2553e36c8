// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/codegen/nvrtc/Nvrtc.h"
#include "compiler/codegen/nvrtc/NvrtcLog.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>
#include <fmt/core.h>

using namespace llvm;

namespace fusec {

char NvrtcError::ID = 0;

// The part of NVRTC's C interface that is used; stable since CUDA 11.2.
namespace {
using Result = int;
constexpr Result success = 0;
constexpr Result errorCompilation = 6;
using Program = struct OpaqueProgram *;
} // namespace

struct Nvrtc::Library {
  std::string file;
  NvrtcIdentity identity;

  const char *(*getErrorString)(Result) = nullptr;
  Result (*version)(int *, int *) = nullptr;
  Result (*getNumSupportedArchs)(int *) = nullptr;
  Result (*getSupportedArchs)(int *) = nullptr;
  Result (*createProgram)(Program *, const char *, const char *, int,
                          const char *const *, const char *const *) = nullptr;
  Result (*destroyProgram)(Program *) = nullptr;
  Result (*compileProgram)(Program, int, const char *const *) = nullptr;
  Result (*getPtxSize)(Program, size_t *) = nullptr;
  Result (*getPtx)(Program, char *) = nullptr;
  Result (*getCubinSize)(Program, size_t *) = nullptr;
  Result (*getCubin)(Program, char *) = nullptr;
  Result (*getProgramLogSize)(Program, size_t *) = nullptr;
  Result (*getProgramLog)(Program, char *) = nullptr;

  Error resolve(void *handle);
  Error identify();
  Error failure(StringRef call, Result result) const;
  Expected<std::string> text(Program program,
                             Result (*getSize)(Program, size_t *),
                             Result (*getText)(Program, char *),
                             StringRef call) const;
  Expected<CompiledKernel> compile(const CompileRequest &request) const;
};

static Error toolchainError(NvrtcError::Kind kind, const Twine &message) {
  return make_error<NvrtcError>(kind, message.str());
}

Error Nvrtc::Library::resolve(void *handle) {
  std::string missing;
  auto bind = [&](auto &function, const char *name) {
    function =
        reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
    if (!function && missing.empty())
      missing = name;
  };
  bind(getErrorString, "nvrtcGetErrorString");
  bind(version, "nvrtcVersion");
  bind(getNumSupportedArchs, "nvrtcGetNumSupportedArchs");
  bind(getSupportedArchs, "nvrtcGetSupportedArchs");
  bind(createProgram, "nvrtcCreateProgram");
  bind(destroyProgram, "nvrtcDestroyProgram");
  bind(compileProgram, "nvrtcCompileProgram");
  bind(getPtxSize, "nvrtcGetPTXSize");
  bind(getPtx, "nvrtcGetPTX");
  bind(getCubinSize, "nvrtcGetCUBINSize");
  bind(getCubin, "nvrtcGetCUBIN");
  bind(getProgramLogSize, "nvrtcGetProgramLogSize");
  bind(getProgramLog, "nvrtcGetProgramLog");
  if (missing.empty())
    return Error::success();
  return toolchainError(
      NvrtcError::Kind::notFound,
      fmt::format("'{}' is not an NVRTC of CUDA 12.4 or newer: it lacks {}; "
                  "give another one with --nvrtc or FUSEC_NVRTC",
                  file, missing));
}

Error Nvrtc::Library::failure(StringRef call, Result result) const {
  return toolchainError(NvrtcError::Kind::internal,
                        fmt::format("NVRTC {} ('{}'): {} failed with {}",
                                    identity.version.str(), file, call,
                                    getErrorString(result)));
}

Error Nvrtc::Library::identify() {
  NvrtcVersion &v = identity.version;
  if (Result result = version(&v.major, &v.minor))
    return failure("nvrtcVersion", result);
  if (std::pair(v.major, v.minor) < std::pair(12, 4))
    return toolchainError(
        NvrtcError::Kind::notFound,
        fmt::format("'{}' is NVRTC {}, expected 12.4 or newer; give another "
                    "one with --nvrtc or FUSEC_NVRTC",
                    file, v.str()));
  int count = 0;
  if (Result result = getNumSupportedArchs(&count))
    return failure("nvrtcGetNumSupportedArchs", result);
  identity.archs.resize(count);
  if (Result result = getSupportedArchs(identity.archs.data()))
    return failure("nvrtcGetSupportedArchs", result);

  // Only the PTX it writes tells the build ("..., release 13.0, V13.0.88").
  CompileRequest empty;
  empty.name = "version";
  empty.source = "extern \"C\" __global__ void version() {}\n";
  empty.target = "ptx";
  Expected<CompiledKernel> kernel = compile(empty);
  if (!kernel)
    return kernel.takeError();
  StringRef build =
      StringRef(kernel->image).split(", V").second.take_while([](char c) {
        return isDigit(c) || c == '.';
      });
  if (build.starts_with(v.str() + "."))
    v.build = build.str();
  return Error::success();
}

Expected<std::string> Nvrtc::Library::text(Program program,
                                           Result (*getSize)(Program, size_t *),
                                           Result (*getText)(Program, char *),
                                           StringRef call) const {
  size_t size = 0;
  if (Result result = getSize(program, &size))
    return failure((call + "Size").str(), result);
  std::string buffer(size, '\0');
  if (Result result = getText(program, buffer.data()))
    return failure(call, result);
  return buffer;
}

Expected<CompiledKernel>
Nvrtc::Library::compile(const CompileRequest &request) const {
  if (Error error = checkTarget(request.target, identity))
    return error;

  CompiledKernel kernel;
  kernel.name = request.name;
  kernel.target = request.target;
  kernel.isPtx = request.target == "ptx";

  std::vector<std::string> headerTexts;
  std::vector<const char *> texts, names, options;
  std::vector<KernelHeader> headers =
      collectHeaders(request.source, request.headers);
  headerTexts.reserve(headers.size());
  for (const KernelHeader &header : headers) {
    headerTexts.push_back(header.text.str()); // NVRTC wants a NUL at the end.
    texts.push_back(headerTexts.back().c_str());
    names.push_back(header.name.c_str());
  }
  std::vector<std::string> optionTexts = nvrtcOptions(request);
  // NVRTC 13 keeps a cache of its own, whose hits print no statistics; ours is
  // in front of it.
  if (identity.version.major >= 13)
    options.push_back("--no-cache");
  for (const std::string &option : optionTexts)
    options.push_back(option.c_str());

  Program program = nullptr;
  std::string fileName = request.name + ".cu";
  if (Result result =
          createProgram(&program, request.source.c_str(), fileName.c_str(),
                        headers.size(), texts.data(), names.data()))
    return failure("nvrtcCreateProgram", result);
  struct Destroy {
    const Library &library;
    Program program;
    ~Destroy() { library.destroyProgram(&program); }
  } destroy{*this, program};

  Result result = compileProgram(program, options.size(), options.data());
  Expected<std::string> log =
      text(program, getProgramLogSize, getProgramLog, "nvrtcGetProgramLog");
  if (!log)
    return log.takeError();
  kernel.log = stableLog(*log);
  if (result) {
    bool inSource = result == errorCompilation;
    return toolchainError(
        inSource ? NvrtcError::Kind::compilation : NvrtcError::Kind::internal,
        fmt::format("kernel '{}' does not compile for {} (NVRTC {}, {}):\n"
                    "{}",
                    request.name, request.target, identity.version.str(),
                    getErrorString(result),
                    explainErrors(kernel.log, request)));
  }

  Expected<std::string> image =
      kernel.isPtx ? text(program, getPtxSize, getPtx, "nvrtcGetPTX")
                   : text(program, getCubinSize, getCubin, "nvrtcGetCUBIN");
  if (!image)
    return image.takeError();
  kernel.image = std::move(*image);
  if (kernel.isPtx && !kernel.image.empty() && kernel.image.back() == '\0')
    kernel.image.pop_back();
  kernel.kernels =
      kernel.isPtx ? parsePtxEntries(kernel.image) : parseUsage(kernel.log);
  kernel.serializedMma = reportsSerializedMma(kernel.log);
  if (kernel.kernels.empty())
    return toolchainError(
        NvrtcError::Kind::internal,
        fmt::format("kernel '{}' for {}: expected the resources of at least "
                    "one __global__ function in the log of NVRTC {}, found:\n"
                    "{}",
                    request.name, request.target, identity.version.str(),
                    kernel.log));
  return kernel;
}

std::string NvrtcVersion::str() const {
  return build.empty() ? fmt::format("{}.{}", major, minor) : build;
}

const KernelUsage *CompiledKernel::find(StringRef symbol) const {
  for (const KernelUsage &kernel : kernels)
    if (kernel.symbol == symbol)
      return &kernel;
  return nullptr;
}

bool CompiledKernel::spills() const {
  return any_of(
      kernels, [](const KernelUsage &kernel) { return kernel.spillBytes > 0; });
}

Nvrtc::Nvrtc(std::unique_ptr<Library> library) : library(std::move(library)) {}
Nvrtc::~Nvrtc() = default;

Expected<std::unique_ptr<Nvrtc>> Nvrtc::load(StringRef file) {
  auto library = std::make_unique<Library>();
  library->file = file.str();
  // Never unloaded: running its destructors before the process ends gains
  // nothing, and a second Nvrtc shares the handle.
  void *handle = dlopen(library->file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return toolchainError(NvrtcError::Kind::notFound,
                          fmt::format("cannot load NVRTC: {}; give another one "
                                      "with --nvrtc or FUSEC_NVRTC",
                                      reason ? reason : "unknown reason"));
  }
  if (Error error = library->resolve(handle))
    return error;
  if (Error error = library->identify())
    return error;
  return std::unique_ptr<Nvrtc>(new Nvrtc(std::move(library)));
}

const std::string &Nvrtc::getFile() const { return library->file; }
const NvrtcIdentity &Nvrtc::getIdentity() const { return library->identity; }
Expected<CompiledKernel> Nvrtc::compile(const CompileRequest &request) const {
  return library->compile(request);
}

} // namespace fusec
