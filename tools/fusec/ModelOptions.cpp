// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/ModelOptions.h"
#include "compiler/schedule/Targets.h"
#include "tools/fusec/Arguments.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <fmt/core.h>
#include <fstream>

namespace fusec {

void ModelOptions::addArch(CLI::App &app) {
  app.add_option("--arch", arch, "targets: " + getTargetNames())
      ->delimiter(',')
      ->type_name("T,...");
}

void ModelOptions::addTuning(CLI::App &app) {
  app.add_option(
         "--tuning", tuning,
         "schedules that `fusec tune` measured, before the cost model's")
      ->type_name("FILE");
}

void ModelOptions::addReplaceable(CLI::App &app) {
  app.add_option("--replaceable", replaceable,
                 "weights that sessions can replace, by the names of "
                 "initializers; * and ? stand for any characters")
      ->type_name("GLOB");
  app.add_option("--updatable", updatable,
                 "weights, such as tables, whose rows can be changed in place "
                 "in the loaded model, named likewise")
      ->type_name("GLOB");
  app.add_option("--adapter", adapters,
                 "a low-rank update that sessions can replace, by its two "
                 "weights; 'fusec explain' lists them")
      ->type_name("NAME=A,B[,SCALE]");
  app.add_option("--max-rank", maxRank,
                 "the highest rank of adapters, rounded up to 32 bytes; "
                 "default: that of the model's weights")
      ->check(CLI::Range(1, 4096))
      ->type_name("R");
}

/// NAME=A,B or NAME=A,B,SCALE.
std::vector<AdapterRequest> ModelOptions::getAdapters() const {
  std::vector<AdapterRequest> requests;
  for (const std::string &text : adapters) {
    auto [name, rest] = llvm::StringRef(text).split('=');
    llvm::SmallVector<llvm::StringRef> parts;
    rest.split(parts, ',');
    bool good = !name.empty() && (parts.size() == 2 || parts.size() == 3) &&
                llvm::none_of(parts, [](auto part) { return part.empty(); });
    if (!good)
      fail(ExitCode::Usage,
           fmt::format(
               "--adapter: expected NAME=A,B or NAME=A,B,SCALE, got '{}'",
               text));
    requests.push_back({name.str(), parts[0].str(), parts[1].str(),
                        parts.size() == 3 ? parts[2].str() : ""});
  }
  if (maxRank && requests.empty())
    fail(ExitCode::Usage, "--max-rank: expected an --adapter with it");
  return requests;
}

void ModelOptions::addTo(CLI::App &app, bool compilesKernels) {
  app.add_option("model", model, "the model, an ONNX file")
      ->required()
      ->type_name("FILE");
  app.add_option("--const", constants,
                 "an input that is known when compiling, from a .npy file")
      ->type_name("NAME=FILE");
  app.add_option("--dim", dims, "a fixed size for a named dimension")
      ->type_name("NAME=N");
  app.add_flag("--no-fusion", noFusion,
               "every operation is a kernel of its own");
  app.add_option("--numerics", numerics,
                 "default; onnx: each 16-bit operation rounds, fp32 "
                 "products are FMA's")
      ->check(CLI::IsMember({"default", "onnx"}));
  app.add_option("--precision", precision,
                 "how fp32 products multiply: ieee, tf32, fp16 or bf16")
      ->check(CLI::IsMember({"ieee", "tf32", "fp16", "bf16"}));
  app.add_option("--gather", gather,
                 "what an index out of range reads: flag, clamp or zero")
      ->check(CLI::IsMember({"flag", "clamp", "zero"}));
  app.add_option("--table-type", tableType,
                 "what tables of rows that are looked up are kept as: model, "
                 "as they are, int8 or int4")
      ->check(CLI::IsMember({"model", "int8", "int4"}));
  if (!compilesKernels)
    return;
  app.add_option("--werror", errors, "what ends the compilation: spill")
      ->check(CLI::IsMember({"spill"}));
  app.add_option("--nvrtc", nvrtc, "the NVRTC library, or its folder")
      ->type_name("PATH");
  app.add_flag("--no-cache", noCache, "compile every kernel anew");
}

std::pair<std::string, std::string> splitPair(const std::string &option,
                                              const std::string &text) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    fail(ExitCode::Usage,
         fmt::format("{}: expected NAME=VALUE, got '{}'", option, text));
  return {text.substr(0, at), text.substr(at + 1)};
}

static int64_t parseSize(const std::string &name, llvm::StringRef text) {
  int64_t size;
  if (text.getAsInteger(10, size) || size < 0)
    fail(ExitCode::Usage,
         fmt::format("--dim {}: expected a size, got '{}'", name, text));
  return size;
}

std::map<std::string, int64_t>
parseDims(const std::vector<std::string> &texts) {
  std::map<std::string, int64_t> result;
  for (const std::string &text : texts) {
    auto [name, value] = splitPair("--dim", text);
    int64_t size = parseSize(name, value);
    if (!result.try_emplace(name, size).second)
      fail(ExitCode::Usage, fmt::format("--dim {}: is given twice", name));
  }
  return result;
}

std::map<std::string, int64_t> ModelOptions::getDims() const {
  return parseDims(dims);
}

std::vector<SizeList> ModelOptions::takeSizeLists() {
  std::vector<SizeList> lists;
  std::vector<std::string> others;
  for (const std::string &text : dims) {
    auto [name, value] = splitPair("--dim", text);
    if (!llvm::StringRef(value).contains(',')) {
      others.push_back(text);
      continue;
    }
    SizeList list{name, {}};
    for (llvm::StringRef part : llvm::split(value, ',')) {
      int64_t size = parseSize(name, part);
      if (llvm::is_contained(list.sizes, size))
        fail(ExitCode::Usage,
             fmt::format("--dim {}: lists {} twice", name, part));
      list.sizes.push_back(size);
    }
    lists.push_back(std::move(list));
  }
  std::map<std::string, int64_t> single = parseDims(others);
  for (size_t i = 0; i != lists.size(); ++i)
    if (single.count(lists[i].name) ||
        llvm::any_of(llvm::ArrayRef(lists).take_front(i),
                     [&](auto &one) { return one.name == lists[i].name; }))
      fail(ExitCode::Usage,
           fmt::format("--dim {}: is given twice", lists[i].name));
  dims = std::move(others);
  return lists;
}

std::vector<std::string> ModelOptions::getFiles() const {
  std::vector<std::string> files = {model};
  if (!tuning.empty())
    files.push_back(tuning);
  for (const std::string &text : constants)
    files.push_back(splitPair("--const", text).second);
  return files;
}

ModelOptions ModelOptions::forBundle(std::string file) const {
  ModelOptions other;
  other.model = std::move(file);
  other.dims = dims;
  return other;
}

void ModelOptions::checkForBundle() const {
  const std::pair<const char *, bool> given[] = {
      {"--const", !constants.empty()},
      {"--no-fusion", noFusion},
      {"--numerics", numerics != "default"},
      {"--precision", precision != "ieee"},
      {"--gather", gather != "flag"},
      {"--table-type", tableType != "model"},
      {"--arch", !arch.empty()},
      {"--tuning", !tuning.empty()}};
  for (auto [option, isGiven] : given)
    if (isGiven)
      fail(ExitCode::Usage,
           fmt::format("{}: '{}' is a bundle, which was compiled with or "
                       "without it; expected a model",
                       option, model));
}

std::string getTargetNames() {
  std::string names;
  for (const Target &entry : getTargets())
    names += (names.empty() ? "" : ", ") + entry.name.str();
  return names;
}

void checkArch(const std::string &target) {
  if (findTarget(target))
    return;
  std::string meant = target + "a";
  fail(ExitCode::Usage,
       fmt::format("--arch: expected targets among {}, got '{}'{}",
                   getTargetNames(), target,
                   findTarget(meant)
                       ? fmt::format("\nnote: did you mean '{}'?", meant)
                       : ""));
}

CompileOptions ModelOptions::getOptions() const {
  CompileOptions options;
  if (!arch.empty())
    options.targets = arch;
  llvm::StringSet<> seen;
  for (const std::string &target : options.targets) {
    checkArch(target);
    if (!seen.insert(target).second)
      fail(ExitCode::Usage, fmt::format("--arch: '{}' is given twice", target));
  }
  options.fuse = !noFusion;
  options.numerics = *symbolizeNumerics(numerics);
  options.precision = *symbolizePrecision(precision);
  options.gatherPolicy = *symbolizeIndexPolicy(gather);
  options.tableType = *symbolizeTableType(tableType);
  options.refuseSpills = !errors.empty();
  options.dims = parseDims(dims);
  if (!tuning.empty())
    options.tuning = std::make_shared<TuningFile>(readTuning(tuning));
  options.adapters = getAdapters();
  options.maxRank = maxRank;
  options.replaceable = replaceable;
  options.updatable = updatable;
  for (const std::string &text : constants) {
    auto [name, file] = splitPair("--const", text);
    data::Result<data::Tensor> tensor = data::readNpy(file);
    if (!tensor)
      fail(ExitCode::Input, tensor.error());
    options.constants.push_back(getConstantInput(name, *tensor));
  }
  return options;
}

/// Opening anything else may wait for ever, and reading takes bytes away from
/// whoever reads next.
static void checkIsFile(const std::string &path, const std::string &content) {
  using Type = llvm::sys::fs::file_type;
  const char *found = nullptr;
  switch (llvm::sys::fs::get_file_type(path)) {
  case Type::directory_file:
    found = "a folder";
    break;
  case Type::fifo_file:
    found = "a pipe";
    break;
  case Type::socket_file:
    found = "a socket";
    break;
  case Type::character_file:
  case Type::block_file:
    found = "a device";
    break;
  default:
    return;
  }
  failUnreadable(fmt::format("{}: expected a file with {}, found {}", path,
                             content, found));
}

TuningFile readTuning(const std::string &path) {
  checkIsFile(path, "measured schedules");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    failUnreadable(path + ": cannot be read: " + buffer.getError().message());
  llvm::Expected<TuningFile> file = TuningFile::parse((*buffer)->getBuffer());
  if (!file)
    failMalformed(path + ": " + llvm::toString(file.takeError()));
  return std::move(*file);
}

void noteTuning(const std::string &path, Compilation &compilation,
                Report &report) {
  if (!compilation.getOptions().tuning)
    return;
  auto note = [&](const TuningDevice &device, const std::string &text) {
    report.note(fmt::format("{}: times of {} for {} {}", path, device.name,
                            device.target, text));
  };
  for (const TuningDevice &device : compilation.getOptions().tuning->devices) {
    if (device.keyVersion != tuningKeyVersion) {
      note(device, fmt::format("are ignored: expected keys of version {}, got "
                               "{}; run `fusec tune` again",
                               tuningKeyVersion, device.keyVersion));
      continue;
    }
    bool isTarget = false, isUsed = false;
    for (PlanOp plan : compilation.getModule().getOps<PlanOp>()) {
      if (plan.getSymName() != device.target)
        continue;
      isTarget = true;
      for (StepOp step : plan.getOps<StepOp>())
        for (auto variant : step.getVariants().getAsRange<VariantAttr>())
          isUsed |= variant.getMeasured() != 0;
    }
    if (!isTarget)
      note(device, "are ignored: it is not a target of this compilation");
    else if (!isUsed)
      note(device, "fit no kernel of this model");
  }
}

KernelCompilerOptions ModelOptions::getCompilerOptions() const {
  KernelCompilerOptions options;
  options.nvrtcPath = nvrtc;
  options.useCache = !noCache;
  return options;
}

bool isBundle(const std::string &path) {
  checkIsFile(path, "a model or a bundle");
  char magic[8] = {};
  std::ifstream file(path, std::ios::binary);
  if (!file)
    failUnreadable(path +
                   ": expected a model or a bundle, but it cannot be read");
  file.read(magic, sizeof(magic));
  return llvm::StringRef(magic, sizeof(magic)) == "FUSECBDL";
}

} // namespace fusec
