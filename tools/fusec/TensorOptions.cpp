// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/TensorOptions.h"
#include "runtime/src/Handles.h"
#include "tools/fusec/Compare.h"
#include "tools/fusec/Json.h"
#include "tools/fusec/ModelSteps.h"
#include "tools/support/Table.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace fusec {

void TensorOptions::addInputs(CLI::App &app) {
  app.add_option("--input", inputs,
                 "an input from a .npy file, or all of them from a .npz file; "
                 "bf16 as ml_dtypes.bfloat16 is saved (type 'V2')")
      ->type_name("[NAME=]FILE");
}

void TensorOptions::addOutputs(CLI::App &app) {
  app.add_option("--output", outputs,
                 "an output to a .npy file, or all of them to a .npz file")
      ->type_name("[NAME=]FILE");
}

std::vector<data::Tensor>
TensorOptions::read(const Interface &interface) const {
  NamedTensors given;
  auto add = [&](const std::string &name, data::Tensor tensor) {
    if (!given.try_emplace(name, std::move(tensor)).second)
      fail(ExitCode::Usage, fmt::format("--input: '{}' is given twice", name));
  };
  for (const std::string &text : inputs) {
    bool named = text.find('=') != std::string::npos;
    auto [name, file] =
        named ? splitPair("--input", text) : std::pair(std::string(), text);
    data::Result<std::vector<data::NamedTensor>> arrays =
        data::readTensors(file);
    if (!arrays)
      fail(ExitCode::Input, arrays.error());
    if (named) {
      if (arrays->size() != 1)
        fail(ExitCode::Input,
             fmt::format("{}: expected one array for input '{}', got {}", file,
                         name, arrays->size()));
      add(name, std::move(arrays->front().tensor));
      continue;
    }
    // A .npy file has no names.
    if (arrays->size() == 1 && arrays->front().name.empty()) {
      if (interface.inputs.size() != 1)
        fail(ExitCode::Usage,
             fmt::format("--input: expected NAME={}: the model has {} inputs\n"
                         "note: they are {}",
                         file, interface.inputs.size(),
                         listNames(interface.inputs)));
      add(interface.inputs[0].name, std::move(arrays->front().tensor));
      continue;
    }
    for (auto &[key, tensor] :
         splitSample(interface, std::move(*arrays)).inputs)
      add(key, std::move(tensor));
  }
  return matchInputs(interface, std::move(given));
}

/// Of an output's elements; no `first` where there are none.
struct Summary {
  double least = INFINITY, most = -INFINITY, mean = 0;
  std::vector<double> first;
};

static Summary summarize(const data::Tensor &output) {
  Summary summary;
  double sum = 0;
  for (uint64_t e = 0; e != output.elements(); ++e) {
    double value = getElement(output, e);
    // A NaN is what there is to see.
    summary.least =
        std::isnan(value) || value < summary.least ? value : summary.least;
    summary.most =
        std::isnan(value) || value > summary.most ? value : summary.most;
    sum += value;
    if (e < 4)
      summary.first.push_back(value);
  }
  summary.mean = sum / output.elements();
  return summary;
}

static std::string toText(double value) { return fmt::format("{:.6g}", value); }

static void printSummary(const Interface &interface,
                         const std::vector<data::Tensor> &outputs) {
  using Align = Table::Align;
  Table table({{"output"},
               {"type"},
               {"min", Align::Right},
               {"mean", Align::Right},
               {"max", Align::Right},
               {"first values"}});
  for (size_t i = 0; i != outputs.size(); ++i) {
    const data::Tensor &output = outputs[i];
    Summary summary = summarize(output);
    std::vector<std::string> row = {
        interface.outputs[i].name,
        data::tensorType(output.dtype, output.sizes)};
    for (double value : {summary.least, summary.mean, summary.most})
      row.push_back(output.elements() ? toText(value) : "");
    row.push_back(llvm::join(llvm::map_range(summary.first, toText), " "));
    table.row(std::move(row));
  }
  llvm::outs() << table.str();
}

static llvm::json::Object toJson(const std::string &name,
                                 const data::Tensor &output) {
  Summary summary = summarize(output);
  return llvm::json::Object{
      {"name", jsonText(name)},
      {"dtype", llvm::StringRef(format::dtypeName(output.dtype))},
      {"sizes", llvm::json::Array(output.sizes)},
      {"min", jsonNumber(summary.least)},
      {"mean", jsonNumber(summary.mean)},
      {"max", jsonNumber(summary.most)},
      {"first", jsonArray(summary.first, jsonNumber)}};
}

void TensorOptions::write(const Interface &interface,
                          const std::vector<data::Tensor> &results,
                          Report &report) const {
  if (report.isJson()) {
    llvm::json::Array list;
    for (size_t i = 0; i != results.size(); ++i)
      list.push_back(toJson(interface.outputs[i].name, results[i]));
    report.setResult(llvm::json::Object{{"outputs", std::move(list)}});
  } else if (outputs.empty()) {
    printSummary(interface, results);
  }
  for (const std::string &text : outputs) {
    std::optional<std::string> error;
    bool named = text.find('=') != std::string::npos;
    if (!named && llvm::StringRef(text).ends_with(".npy")) {
      if (results.size() != 1)
        fail(
            ExitCode::Usage,
            fmt::format("--output: expected NAME={}: the model has {} outputs\n"
                        "note: they are {}",
                        text, results.size(), listNames(interface.outputs)));
      error = data::writeNpy(text, results[0]);
    } else if (!named) {
      std::vector<std::pair<std::string, data::TensorView>> members;
      for (size_t i = 0; i != results.size(); ++i)
        members.emplace_back(interface.outputs[i].name, results[i]);
      error = data::writeNpz(text, members);
    } else {
      auto [name, file] = splitPair("--output", text);
      size_t index = 0;
      while (index != results.size() && interface.outputs[index].name != name)
        ++index;
      if (index == results.size())
        fail(ExitCode::Usage,
             fmt::format("--output: the model has no output '{}'\n"
                         "note: its outputs are {}",
                         name, listNames(interface.outputs)));
      error = data::writeNpy(file, results[index]);
    }
    if (error)
      fail(ExitCode::Input, *error);
  }
}

//===----------------------------------------------------------------------===//
// Models on a device
//===----------------------------------------------------------------------===//

LoadedModel::LoadedModel(const ModelOptions &options,
                         const MemoryOptions &memory, int ordinal, bool quiet,
                         Report &report) {
  std::string reason;
  std::optional<DeviceInfo> found = findDevice(ordinal, reason);
  if (!found)
    fail(ExitCode::Toolchain,
         reason +
             "\nnote: --device=reference runs an ONNX model without a GPU");
  info = *found;
  device = std::make_unique<rt::Device>(nullptr, ordinal);
  if (isBundle(options.model)) {
    options.checkForBundle();
    model = Model::load(options.model, memory.getLoadOptions(ordinal));
    checkDims(options.getDims());
    return;
  }
  CompileOptions compileOptions = options.getOptions();
  compileOptions.targets = {info.target};
  compilation = importModel(options.model, std::move(compileOptions));
  advanceModel(options.model, *compilation, Stage::Planned);
  noteTuning(options.tuning, *compilation, report);
  KernelCompiler compiler(options.getCompilerOptions());
  compileModel(options.model, *compilation, compiler, quiet, report);
  llvm::Expected<std::string> bytes =
      compilation->getBundle(getNvrtc(compiler).version);
  if (!bytes)
    failFor(options.model, bytes.takeError());
  model = Model::loadMemory(bytes->data(), bytes->size(),
                            memory.getLoadOptions(ordinal));
}

void LoadedModel::checkDims(const std::map<std::string, int64_t> &given) const {
  const format::Manifest &manifest = model->handle()->model->manifest();
  for (const auto &[name, size] : given) {
    if (llvm::is_contained(manifest.dims, name))
      continue;
    auto fixed = manifest.options.find("dim." + name);
    std::string note =
        fixed != manifest.options.end()
            ? fmt::format("it was fixed to {} when the bundle was compiled",
                          fixed->second)
        : manifest.dims.empty()
            ? "all its sizes are numbers"
            : "its dimensions are " + llvm::join(manifest.dims, ", ");
    fail(ExitCode::Usage,
         fmt::format("--dim {}: the {} has no dimension of this name\n"
                     "note: {}",
                     name, compilation ? "model" : "bundle", note));
  }
}

Interface LoadedModel::getInterface() const {
  return fusec::getInterface(model->handle()->model->manifest());
}

} // namespace fusec
