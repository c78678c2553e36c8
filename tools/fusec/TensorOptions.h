// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --input and --output, and the device that runs: shared by commands that run
// models.

#ifndef FUSEC_TOOLS_FUSEC_TENSOROPTIONS_H
#define FUSEC_TOOLS_FUSEC_TENSOROPTIONS_H

#include "tools/fusec/DeviceRun.h"
#include "tools/fusec/MemoryOptions.h"
#include "tools/fusec/ModelOptions.h"

namespace fusec {

class TensorOptions {
public:
  void addInputs(CLI::App &app);
  void addOutputs(CLI::App &app);

  bool any() const { return !inputs.empty(); }
  /// Inputs in the model's order; throws Failure.
  std::vector<data::Tensor> read(const Interface &interface) const;
  /// Writes what --output asks for; prints a summary of all outputs where it
  /// asks for nothing, or reports it with --json.
  void write(const Interface &interface,
             const std::vector<data::Tensor> &outputs, Report &report) const;

private:
  std::vector<std::string> inputs, outputs;
};

/// The device with its model: a bundle as it is, an ONNX model compiled in
/// memory. Throws Failure where there is no device.
class LoadedModel {
public:
  LoadedModel(const ModelOptions &options, const MemoryOptions &memory,
              int ordinal, bool quiet, Report &report);

  const rt::Device &getDevice() const { return *device; }
  const Model &getModel() const { return *model; }
  const std::string &getDescription() const { return info.text; }
  /// What is compiled for the device.
  const std::string &getTarget() const { return info.target; }
  /// Where it was compiled here; else null.
  Compilation *getCompilation() const { return compilation.get(); }
  Interface getInterface() const;
  /// Throws Failure where the model has no dimension of a given name.
  void checkDims(const std::map<std::string, int64_t> &given) const;

private:
  DeviceInfo info;
  std::unique_ptr<rt::Device> device;
  std::unique_ptr<Compilation> compilation;
  std::optional<Model> model;
};

} // namespace fusec

#endif // FUSEC_TOOLS_FUSEC_TENSOROPTIONS_H
