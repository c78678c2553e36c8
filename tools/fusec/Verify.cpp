// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec verify: the GPU against the reference, both against expected outputs
// where there are any.

#include "compiler/analysis/IndexRanges.h"
#include "compiler/analysis/StepBytes.h"
#include "ir/reference/Dims.h"
#include "tools/fusec/Compare.h"
#include "tools/fusec/Json.h"
#include "tools/fusec/ModelSteps.h"
#include "tools/fusec/RandomIds.h"
#include "tools/fusec/ReferenceRun.h"
#include "tools/fusec/TensorOptions.h"
#include "tools/support/Table.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include <fmt/core.h>

using namespace fusec;

namespace {
struct VerifyCommand {
  ModelOptions options;
  TensorOptions tensors;
  MemoryOptions memory;
  std::string dataFile, device = "auto";
  std::optional<double> tolerance;
  bool everyTensor = false, quiet = false;
  int ordinal = 0;
  RandomIds ids;

  void addTo(CLI::App &app);
  void run(Report &report);

private:
  /// Of one tensor from two places: "GPU", "reference" or "expected".
  struct Check {
    std::string tensor, got, expected;
    Difference difference;
    double bound;

    bool isGood() const {
      return difference.mismatch.empty() && difference.norm <= bound &&
             difference.notFinite == 0;
    }
  };
  std::vector<data::Tensor> getInputs(Compilation &compilation,
                                      NamedTensors &expected) const;
  std::vector<data::Tensor> runOnDevice(Compilation &compilation,
                                        const DeviceInfo &info,
                                        const std::vector<data::Tensor> &inputs,
                                        Report &report) const;
  void print(llvm::ArrayRef<Check> checks) const;
  llvm::json::Object toJson(llvm::ArrayRef<Check> checks,
                            const std::optional<DeviceInfo> &info) const;
  /// Empty where inputs are given.
  std::string getIds() const {
    return dataFile.empty() && !tensors.any() ? ids.getText() : "";
  }

  TouchedRows touched;
};
} // namespace

void VerifyCommand::addTo(CLI::App &app) {
  options.addTo(app, /*compilesKernels=*/true);
  options.addReplaceable(app);
  tensors.addInputs(app);
  app.add_option("--data", dataFile, "inputs and expected outputs, by name")
      ->type_name("FILE.npz");
  app.add_flag(
      "--every-tensor", everyTensor,
      "compares every intermediate tensor: compiled as further outputs");
  app.add_option("--tolerance", tolerance,
                 "bound on |got - expected| / |expected| of a tensor; default "
                 "by the types it is computed in and --precision")
      ->type_name("X");
  app.add_option("--device", device,
                 "auto, cuda or reference (with --data, without a GPU)")
      ->check(CLI::IsMember({"auto", "cuda", "reference"}));
  app.add_option("--gpu", ordinal, "which device")->type_name("N");
  ids.addTo(app);
  memory.addTo(app);
  app.add_flag("-q,--quiet", quiet, "no progress");
}

/// Relative to the tensor's norm: some units in the last place, as rounding
/// errors of long sums grow; of fp32 those of the operands of its products.
static double getTolerance(mlir::Type element, Precision precision) {
  if (element.isF64())
    return 1e-12;
  if (element.isF32())
    return precision == Precision::Ieee   ? 1e-5
           : precision == Precision::Bf16 ? 2e-2
                                          : 2e-3;
  if (element.isF16())
    return 4e-3;
  return element.isBF16() ? 3e-2 : 0;
}

/// That of the coarsest type that the value was computed in: logits in fp16 do
/// not get better by a cast.
static double getTolerance(mlir::Value value, Precision precision) {
  double tolerance = 0;
  llvm::SetVector<mlir::Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    mlir::Operation *op = reached[i].getDefiningOp();
    if (!op || op->hasTrait<mlir::OpTrait::ConstantLike>())
      continue;
    tolerance = std::max(tolerance,
                         getTolerance(getElementType(reached[i]), precision));
    reached.insert(op->operand_begin(), op->operand_end());
  }
  return tolerance;
}

std::vector<data::Tensor>
VerifyCommand::getInputs(Compilation &compilation,
                         NamedTensors &expected) const {
  ModelOp model = compilation.getModel();
  Interface interface = getInterface(model);
  if (!dataFile.empty()) {
    data::Result<std::vector<data::NamedTensor>> arrays =
        data::readNpz(dataFile);
    if (!arrays)
      fail(ExitCode::Input, arrays.error());
    Sample sample = splitSample(interface, std::move(*arrays));
    expected = std::move(sample.outputs);
    return matchInputs(interface, std::move(sample.inputs));
  }
  if (tensors.any())
    return tensors.read(interface);
  std::vector<std::string> names = getDimNames(model);
  if (!names.empty())
    fail(ExitCode::Usage, fmt::format("expected --input, --data, or a size for "
                                      "every dimension for random inputs\n"
                                      "note: --dim {}=N is missing",
                                      names.front()));
  std::vector<data::Tensor> inputs;
  std::vector<std::vector<format::IndexRange>> ranges = findIndexRanges(model);
  for (auto [type, own] : llvm::zip_equal(interface.inputs, ranges))
    inputs.push_back(ids.draw(type.dtype, type.sizes, inputs.size() + 1, own));
  return inputs;
}

/// Adds the result of each computation to the model's outputs.
static void exposeTensors(ModelOp model) {
  mlir::Block &body = model.getBody().front();
  mlir::Operation *output = body.getTerminator();
  llvm::SmallVector<mlir::Value> values(output->getOperands());
  llvm::SmallVector<mlir::Attribute> names(model.getOutputNames().getValue());
  llvm::StringSet<> used;
  for (mlir::Attribute name : names)
    used.insert(llvm::cast<mlir::StringAttr>(name).getValue());
  for (mlir::Operation &op : body.without_terminator()) {
    auto indexed = llvm::dyn_cast<IndexedOpInterface>(op);
    bool computes = indexed ? indexed.getFusionKind() != FusionKind::View &&
                                  indexed.getFusionKind() != FusionKind::None
                            : llvm::isa<PointwiseOpInterface>(op);
    if (!computes)
      continue;
    for (mlir::Value result : op.getResults()) {
      if (llvm::is_contained(values, result))
        continue;
      std::vector<std::string> sources = getSourceNames(op.getLoc());
      std::string base = (sources.empty() ? "" : sources.front() + ":") +
                         op.getName().stripDialect().str();
      std::string name = base;
      for (unsigned i = 2; !used.insert(name).second; ++i)
        name = fmt::format("{}_{}", base, i);
      values.push_back(result);
      names.push_back(mlir::StringAttr::get(model.getContext(), name));
    }
  }
  output->setOperands(values);
  model.setOutputNamesAttr(mlir::ArrayAttr::get(model.getContext(), names));
}

std::vector<data::Tensor>
VerifyCommand::runOnDevice(Compilation &compilation, const DeviceInfo &info,
                           const std::vector<data::Tensor> &inputs,
                           Report &report) const {
  KernelCompiler compiler(options.getCompilerOptions());
  compileModel(options.model, compilation, compiler, quiet, report);
  llvm::Expected<std::string> bytes =
      compilation.getBundle(getNvrtc(compiler).version);
  if (!bytes)
    failFor(options.model, bytes.takeError());
  rt::Device rtDevice(nullptr, ordinal);
  DeviceRun deviceRun(Model::loadMemory(bytes->data(), bytes->size(),
                                        memory.getLoadOptions(ordinal)),
                      rtDevice);
  std::vector<data::Tensor> outputs = deviceRun.run(inputs);
  if (!quiet)
    llvm::errs() << info.text << ": " << deviceRun.getLaunches()
                 << " kernels\n";
  return outputs;
}

void VerifyCommand::print(llvm::ArrayRef<Check> checks) const {
  using Align = Table::Align;
  Table table({{"tensor"},
               {"compared"},
               {"error", Align::Right},
               {"bound", Align::Right},
               {""}});
  for (const Check &check : checks) {
    const Difference &difference = check.difference;
    std::string remark = check.isGood() ? "" : "FAILED";
    if (!difference.mismatch.empty())
      remark += ": " + difference.mismatch;
    if (difference.notFinite)
      remark += fmt::format(": {} elements differ in being finite",
                            difference.notFinite);
    table.row({check.tensor, check.got + ", " + check.expected,
               fmt::format("{:.1e}", difference.norm),
               fmt::format("{:.1e}", check.bound), remark});
  }
  llvm::outs() << table.str();
  if (touched.all)
    llvm::outs() << describeIds(getIds(), touched) << "\n";
}

llvm::json::Object
VerifyCommand::toJson(llvm::ArrayRef<Check> checks,
                      const std::optional<DeviceInfo> &info) const {
  return llvm::json::Object{
      {"passed", llvm::all_of(checks, std::mem_fn(&Check::isGood))},
      {"device", info ? llvm::json::Value(info->text) : nullptr},
      {"ids", idsJson(getIds(), touched)},
      {"comparisons", jsonArray(checks, [](const Check &check) {
         const Difference &difference = check.difference;
         return llvm::json::Object{
             {"tensor", jsonText(check.tensor)},
             {"got", llvm::StringRef(check.got).lower()},
             {"against", check.expected},
             {"passed", check.isGood()},
             {"error", jsonNumber(difference.norm)},
             {"bound", jsonNumber(check.bound)},
             {"largest_difference", jsonNumber(difference.largest)},
             {"largest_at", difference.where},
             {"not_finite", difference.notFinite},
             {"mismatch", jsonText(difference.mismatch)}};
       })}};
}

[[noreturn]] static void failWithoutOutputs(const Interface &interface) {
  auto list = [](const std::vector<TensorType> &types) {
    return llvm::join(
        llvm::map_range(types,
                        [](const TensorType &type) { return type.name; }),
        ", ");
  };
  fail(ExitCode::Usage,
       fmt::format(
           "--data: expected at least one output, found inputs only: {}\n"
           "note: outputs of the model are {}; without any the reference is "
           "only compared with a GPU",
           list(interface.inputs), list(interface.outputs)));
}

void VerifyCommand::run(Report &report) {
  if (tolerance && !(*tolerance >= 0))
    fail(ExitCode::Usage, "--tolerance: expected 0 or more, got " +
                              fmt::format("{:.2f}", *tolerance));
  std::string reason;
  std::optional<DeviceInfo> info;
  if (device != "reference") {
    info = findDevice(ordinal, reason);
    if (!info)
      fail(ExitCode::Toolchain,
           reason +
               "\nnote: --device=reference compares the reference with --data");
  } else if (dataFile.empty()) {
    fail(ExitCode::Usage,
         "--device=reference: expected --data with outputs to compare with");
  } else if (everyTensor) {
    fail(ExitCode::Usage, "--every-tensor: compares the GPU's tensors with the "
                          "reference's; expected a GPU, got "
                          "--device=reference");
  }
  CompileOptions compileOptions = options.getOptions();
  if (info)
    compileOptions.targets = {info->target};
  std::unique_ptr<Compilation> compilation =
      importModel(options.model, compileOptions);
  NamedTensors expected;
  std::vector<data::Tensor> inputs = getInputs(*compilation, expected);
  touched = countTouched(inputs, findIndexRanges(compilation->getModel()));
  if (!info && expected.empty())
    failWithoutOutputs(getInterface(compilation->getModel()));
  if (everyTensor) {
    advanceModel(options.model, *compilation, Stage::Tensor);
    exposeTensors(compilation->getModel());
  }
  advanceForReference(options.model, *compilation);
  Interface interface = getInterface(compilation->getModel());
  std::vector<data::Tensor> reference =
      runReference(compilation->getModel(), inputs);
  std::vector<double> bounds;
  for (mlir::Value output :
       compilation->getModel().getBody().front().getTerminator()->getOperands())
    bounds.push_back(tolerance ? *tolerance
                               : getTolerance(output, options.getPrecision()));
  std::vector<data::Tensor> results;
  if (info)
    results = runOnDevice(*compilation, *info, inputs, report);
  std::vector<Check> checks;
  for (size_t i = 0; i != reference.size(); ++i) {
    auto add = [&](const char *got, const data::Tensor &gotTensor,
                   const char *expected, const data::Tensor &expectedTensor) {
      checks.push_back({interface.outputs[i].name, got, expected,
                        compare(gotTensor, expectedTensor), bounds[i]});
    };
    if (info)
      add("GPU", results[i], "reference", reference[i]);
    auto it = expected.find(interface.outputs[i].name);
    if (it == expected.end())
      continue;
    if (info)
      add("GPU", results[i], "expected", it->second);
    add("reference", reference[i], "expected", it->second);
  }
  if (report.isJson())
    report.setResult(toJson(checks, info));
  else
    print(checks);
  size_t passed = llvm::count_if(checks, std::mem_fn(&Check::isGood));
  if (passed != checks.size())
    fail(ExitCode::VerificationFailed,
         fmt::format("{} of {} comparisons are out of bounds",
                     checks.size() - passed, checks.size()));
}

void fusec::addVerify(CLI::App &tool, Report &report) {
  addCommand<VerifyCommand>(
      tool, report, "verify",
      "Compares the GPU's results with the reference's, and with expected "
      "ones.",
      "  fusec verify model.onnx --data in_out.npz --every-tensor\n"
      "  fusec verify model.onnx --dim batch=128\n"
      "  fusec verify model.onnx --device=reference --data in_out.npz\n");
}
