// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/host/KernelLibrary.h"
#include "compiler/codegen/KernelSource.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>
#include <numeric>
#include <set>

using namespace llvm;

namespace fusec {

/// The headers take as long as thirty kernels; files are few enough for a batch
/// to keep all jobs busy.
constexpr size_t kernelsPerUnit = 64;

/// Division of kernels by templates makes optimising dearer than running: the
/// cases are small. Accesses that are not as aligned as their type says would
/// pass unseen on this machine; they trap.
static const StringRef flags[] = {"-std=c++17",
                                  "-O0",
                                  "-g0",
                                  "-w",
                                  "-fPIC",
                                  "-shared",
                                  "-ffp-contract=off",
                                  "-DFUSEC_HOST",
                                  "-fsanitize=alignment",
                                  "-fsanitize-undefined-trap-on-error"};

/// GCC shares the static members of templates among libraries, unless told not
/// to; clang takes the system's linker, which is slow.
static ArrayRef<StringRef> getOwnFlags(StringRef compiler) {
  static const StringRef gcc[] = {"-fno-gnu-unique"};
  static const StringRef clang[] = {"-fuse-ld=lld"};
  return sys::path::filename(compiler).contains("clang") ? ArrayRef(clang)
                                                         : ArrayRef(gcc);
}

static std::string hash(StringRef text) {
  return toHex(ArrayRef<uint8_t>(SHA256::hash(arrayRefFromStringRef(text)))
                   .take_front(12),
               true);
}

static bool writeFile(const std::string &path, StringRef text) {
  std::error_code code;
  raw_fd_ostream os(path, code);
  os << text;
  os.close();
  return !code && !os.has_error();
}

KernelLibrary::KernelLibrary(std::string compiler, std::string folder,
                             unsigned jobs)
    : compiler(std::move(compiler)), folder(std::move(folder)),
      jobs(std::max(jobs, 1u)) {}

bool KernelLibrary::prepare(std::string &error) {
  if (ErrorOr<std::string> found = sys::findProgramByName(compiler)) {
    compiler = *found;
  } else {
    error = "no C++ compiler '" + compiler + "': " + found.getError().message();
    return false;
  }
  std::string headers = folder + "/include", all = compiler;
  if (std::error_code code = sys::fs::create_directories(headers)) {
    error = headers + ": " + code.message();
    return false;
  }
  for (StringRef flag : flags)
    all += (" " + flag).str();
  for (auto [name, text] : getDeviceHeaders()) {
    all += (name + "\n" + text).str();
    if (!writeFile(headers + "/" + name.str(), text)) {
      error = headers + "/" + name.str() + ": cannot be written";
      return false;
    }
  }
  headerHash = hash(all);
  return true;
}

unsigned KernelLibrary::add(StringRef text) {
  std::string code;
  for (StringRef line : split(text, '\n'))
    if (!line.ltrim().starts_with("//"))
      code += (line + "\n").str();
  auto [it, isNew] = byText.try_emplace(code, kernels.size());
  if (isNew)
    kernels.push_back({code, nullptr, ""});
  return it->second;
}

static std::string getSymbol(unsigned kernel) {
  return "kernel_" + std::to_string(kernel);
}

KernelLibrary::Unit KernelLibrary::write(std::vector<unsigned> members) const {
  std::set<StringRef> includes;
  std::string body;
  for (unsigned number : members) {
    std::string name = getSymbol(number);
    body += "namespace space_" + name + " {\n";
    StringRef text = kernels[number].text;
    for (StringRef line : split(text, '\n')) {
      if (line.starts_with("#include")) {
        includes.insert(line);
        continue;
      }
      for (size_t at; (at = line.find(symbol)) != StringRef::npos;
           line = line.drop_front(at + symbol.size()))
        body += (line.take_front(at) + name).str();
      body += (line + "\n").str();
    }
    body += "FUSEC_HOST_ENTRY(" + name + ")\n}\n";
  }
  std::string text;
  for (StringRef include : includes)
    text += (include + "\n").str();
  text += body;
  Unit unit{std::move(members), folder + "/" + hash(headerHash + text), false};
  unit.isCompiled = sys::fs::exists(unit.base + ".so");
  if (!unit.isCompiled)
    writeFile(unit.base + ".cpp", text);
  return unit;
}

void KernelLibrary::compile(std::vector<Unit> &units) const {
  std::vector<std::pair<Unit *, sys::ProcessInfo>> running;
  // The oldest is waited for; files of one batch take about equally long.
  auto finishOne = [&] {
    auto [unit, process] = running.front();
    running.erase(running.begin());
    sys::ProcessInfo result = sys::Wait(process, std::nullopt);
    unit->isCompiled =
        result.ReturnCode == 0 &&
        !sys::fs::rename(unit->base + ".tmp", unit->base + ".so");
  };
  for (Unit &unit : units) {
    if (unit.isCompiled)
      continue;
    std::string source = unit.base + ".cpp", object = unit.base + ".tmp",
                log = unit.base + ".log", include = folder + "/include";
    SmallVector<StringRef> arguments = {StringRef(compiler)};
    arguments.append(std::begin(flags), std::end(flags));
    llvm::append_range(arguments, getOwnFlags(compiler));
    arguments.append({"-I", include, source, "-o", object});
    std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                            StringRef(log)};
    running.push_back({&unit, sys::ExecuteNoWait(compiler, arguments,
                                                 std::nullopt, redirects)});
    if (running.size() == jobs)
      finishOne();
  }
  while (!running.empty())
    finishOne();
}

std::string KernelLibrary::getLog(const Unit &unit) const {
  auto log = MemoryBuffer::getFile(unit.base + ".log");
  std::string message = unit.base + ".cpp does not compile";
  if (!log)
    return message;
  for (StringRef line : split((*log)->getBuffer(), '\n'))
    if (line.contains("error"))
      return message + ": " + line.str();
  return message;
}

void KernelLibrary::load(const Unit &unit) {
  void *library = dlopen((unit.base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  for (unsigned number : unit.kernels) {
    Kernel &kernel = kernels[number];
    if (library)
      kernel.entry = reinterpret_cast<Entry>(
          dlsym(library, (getSymbol(number) + "_host").c_str()));
    if (!kernel.entry)
      kernel.error = dlerror();
  }
}

void KernelLibrary::build() {
  std::vector<Unit> units;
  while (built < kernels.size()) {
    std::vector<unsigned> members(
        std::min(kernelsPerUnit, kernels.size() - built));
    std::iota(members.begin(), members.end(), built);
    built += members.size();
    units.push_back(write(std::move(members)));
  }
  compile(units);
  // Who is to blame for a file that does not compile shows when each of its
  // kernels is compiled alone.
  std::vector<Unit> single;
  for (const Unit &unit : units)
    if (!unit.isCompiled)
      for (unsigned number : unit.kernels)
        single.push_back(write({number}));
  compile(single);
  units.insert(units.end(), single.begin(), single.end());
  for (const Unit &unit : units) {
    if (unit.isCompiled)
      load(unit);
    else if (unit.kernels.size() == 1)
      kernels[unit.kernels.front()].error = getLog(unit);
  }
}

} // namespace fusec
