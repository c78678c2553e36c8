// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec run: a bundle or a model on inputs from files.

#include "tools/fusec/ModelSteps.h"
#include "tools/fusec/ReferenceRun.h"
#include "tools/fusec/TensorOptions.h"

#include <cmath>
#include <fmt/core.h>

using namespace fusec;

namespace {
struct RunCommand {
  ModelOptions options;
  TensorOptions tensors;
  MemoryOptions memory;
  std::vector<std::string> adapters;
  std::string device = "auto";
  int ordinal = 0;
  bool quiet = false;

  void addTo(CLI::App &app);
  void run(Report &report);

private:
  std::string chooseDevice() const;
  std::vector<UpdateFile> getAdapters() const;
  void runOnReference(Report &report);
  void runOnDevice(const std::vector<UpdateFile> &files, Report &report);
};
} // namespace

void RunCommand::addTo(CLI::App &app) {
  options.addTo(app, /*compilesKernels=*/true);
  options.addTuning(app);
  app.get_option("model")->description("a bundle, or an ONNX model");
  tensors.addInputs(app);
  tensors.addOutputs(app);
  app.add_option("--device", device,
                 "auto, cuda or reference (on the CPU; ONNX models only)")
      ->check(CLI::IsMember({"auto", "cuda", "reference"}));
  app.add_option("--adapter", adapters,
                 "values for an adapter of the bundle, from a safetensors file "
                 "with lora_A and lora_B of one layer; others are then zero")
      ->type_name("NAME=FILE[,SCALE]");
  app.add_option("--gpu", ordinal, "which device")->type_name("N");
  memory.addTo(app);
  app.add_flag("-q,--quiet", quiet, "nothing on stderr but errors");
}

std::string RunCommand::chooseDevice() const {
  bool bundle = isBundle(options.model);
  if (device == "reference" && bundle)
    fail(ExitCode::Usage,
         options.model +
             ": expected an ONNX model for --device=reference, got a "
             "bundle, which holds code for GPUs alone");
  if (device != "auto" || bundle)
    return device == "auto" ? "cuda" : device;
  std::string reason;
  if (findDevice(ordinal, reason))
    return "cuda";
  if (!quiet)
    llvm::errs() << reason << "; the reference evaluator runs the model\n";
  return "reference";
}

std::vector<UpdateFile> RunCommand::getAdapters() const {
  std::vector<UpdateFile> files;
  for (const std::string &text : adapters) {
    auto [name, rest] = llvm::StringRef(text).split('=');
    auto [file, scaleText] = rest.rsplit(',');
    UpdateFile update;
    // A file's name may have a comma of its own.
    if (scaleText.empty() || scaleText.getAsDouble(update.scale))
      file = rest;
    if (name.empty() || file.empty())
      fail(ExitCode::Usage,
           fmt::format(
               "--adapter: expected NAME=FILE or NAME=FILE,SCALE, got '{}'",
               text));
    if (!std::isfinite(update.scale))
      fail(ExitCode::Usage,
           fmt::format("--adapter {}: expected a finite scale, got '{}'", name,
                       scaleText));
    update.name = name.str();
    update.path = file.str();
    files.push_back(std::move(update));
  }
  if (!files.empty() && !isBundle(options.model))
    fail(ExitCode::Usage, options.model +
                              ": expected a bundle for --adapter, got a model; "
                              "compile it with --adapter=NAME=A,B first");
  return files;
}

/// Throws Failure where the bundle has no adapter of a given name.
static void checkAdapters(const std::vector<UpdateFile> &files,
                          const Model &model) {
  std::vector<std::string> names;
  for (const AdapterInfo &info : model.adapters())
    names.push_back(info.name);
  for (const UpdateFile &file : files)
    if (!llvm::is_contained(names, file.name))
      fail(ExitCode::Usage,
           fmt::format("--adapter {}: the bundle has no adapter of this name\n"
                       "note: {}",
                       file.name,
                       names.empty()
                           ? "it has none; 'fusec compile --adapter' makes "
                             "them"
                           : "its adapters are " + llvm::join(names, ", ")));
}

void RunCommand::runOnReference(Report &report) {
  std::unique_ptr<Compilation> compilation =
      importModel(options.model, options.getOptions());
  advanceForReference(options.model, *compilation);
  reportWarnings(*compilation, report);
  ModelOp model = compilation->getModel();
  Interface interface = getInterface(model);
  int64_t outside = 0;
  std::vector<data::Tensor> outputs = runReference(
      model, tensors.read(interface), {}, options.getDims(), &outside);
  if (outside)
    report.warn(
        fmt::format("indices were out of range, and {} elements {}", outside,
                    compilation->getOptions().gatherPolicy == IndexPolicy::Clamp
                        ? "are of the nearest row"
                        : "read as zeros"));
  tensors.write(interface, outputs, report);
}

void RunCommand::runOnDevice(const std::vector<UpdateFile> &files,
                             Report &report) {
  LoadedModel loaded(options, memory, ordinal, quiet, report);
  checkAdapters(files, loaded.getModel());
  Interface interface = loaded.getInterface();
  std::vector<data::Tensor> inputs = tensors.read(interface);
  DeviceRun deviceRun(loaded.getModel(), loaded.getDevice());
  if (!files.empty())
    deviceRun.setAdapter(Adapter::load(loaded.getModel(), files));
  Dims dims;
  if (!loaded.getCompilation())
    for (const auto &[name, size] : options.getDims())
      dims.emplace_back(name, size);
  std::vector<data::Tensor> outputs = deviceRun.run(inputs, dims);
  if (!quiet)
    llvm::errs() << loaded.getDescription() << ", plan "
                 << loaded.getModel().target() << ": "
                 << deviceRun.getLaunches() << " kernels\n";
  if (uint64_t faults = deviceRun.getFaults())
    report.warn(
        fmt::format("{} indices were out of range and read zeros", faults));
  tensors.write(interface, outputs, report);
}

void RunCommand::run(Report &report) {
  std::vector<UpdateFile> files = getAdapters();
  if (chooseDevice() == "cuda")
    runOnDevice(files, report);
  else
    runOnReference(report);
}

void fusec::addRun(CLI::App &tool, Report &report) {
  addCommand<RunCommand>(
      tool, report, "run", "Runs a bundle or a model.",
      "  fusec run model.fusec --input dense=d.npy --output prob=p.npy\n"
      "  fusec run model.fusec --adapter up=lora.safetensors,0.5 --input "
      "x=x.npy\n"
      "  fusec run model.fusec --device-memory=15G --input all.npz\n"
      "  fusec run model.onnx --device=reference --input all.npz\n");
}
