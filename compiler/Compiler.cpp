// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compiler.h"
#include "compiler/Pipelines.h"
#include "compiler/kernels/Launch.h"
#include "compiler/kernels/gemm/Gemm.h"
#include "frontends/onnx/ExternalData.h"
#include "ir/reference/FoldConstants.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

// Models are small next to the start of a thread pool, and kernels compile in
// threads of their own.
Compilation::Compilation(CompileOptions options)
    : options(std::move(options)), context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<FusecDialect>();
  this->options.foldBudget = std::make_shared<reference::FoldBudget>();
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

llvm::Error
Compilation::import(llvm::function_ref<FailureOr<OwningOpRef<ModuleOp>>(
                        const onnx::ImportOptions &, ProblemList &)>
                        importer) {
  if (options.wantRemarks && failed(collectRemarks(context, remarks)))
    return llvm::make_error<CompileError>(ErrorKind::Internal,
                                          "remarks cannot be collected");
  onnx::ImportOptions importOptions;
  importOptions.constants = options.constants;
  importOptions.replaceable = options.replaceable;
  importOptions.updatable = options.updatable;
  importOptions.updatableNames = &updatable;
  importOptions.dims = options.dims;
  importOptions.gatherPolicy = options.gatherPolicy;
  importOptions.dataFiles = &dataFiles;
  importOptions.mappedFiles = &mappedFiles;
  WarningCollector collectWarnings(context, warnings);
  DiagnosticCollector diagnostics(context);
  ProblemList problems;
  FailureOr<OwningOpRef<ModuleOp>> imported = importer(importOptions, problems);
  if (failed(imported)) {
    if (problems.empty())
      return diagnostics.take(ErrorKind::Internal, "import");
    ErrorKind kind = getErrorKind(problems);
    return llvm::make_error<CompileError>(kind, std::move(problems));
  }
  module = std::move(*imported);
  return markAdapters();
}

/// Before any pass: afterwards constants of equal values are one, and some have
/// become others.
llvm::Error Compilation::markAdapters() {
  ProblemList problems;
  for (AdapterProblem &found :
       fusec::markAdapters(getModel(), options.adapters, options.maxRank)) {
    Problem &problem = problems.emplace_back();
    problem.kind = ProblemKind::Option;
    problem.message = std::move(found.message);
    problem.note = std::move(found.note);
  }
  if (problems.empty())
    return llvm::Error::success();
  return llvm::make_error<CompileError>(ErrorKind::Usage, std::move(problems));
}

llvm::Expected<std::unique_ptr<Compilation>>
Compilation::importFile(StringRef path, CompileOptions options) {
  std::unique_ptr<Compilation> compilation(new Compilation(std::move(options)));
  llvm::Error error = compilation->import(
      [&](const onnx::ImportOptions &importOptions, ProblemList &problems) {
        return onnx::importOnnxFile(path, importOptions, compilation->context,
                                    problems);
      });
  if (error)
    return error;
  return compilation;
}

llvm::Expected<std::unique_ptr<Compilation>>
Compilation::importBytes(StringRef model, CompileOptions options) {
  std::unique_ptr<Compilation> compilation(new Compilation(std::move(options)));
  llvm::Error error = compilation->import(
      [&](const onnx::ImportOptions &importOptions, ProblemList &problems) {
        return onnx::importOnnx(model, importOptions, compilation->context,
                                problems);
      });
  if (error)
    return error;
  return compilation;
}

llvm::Expected<std::unique_ptr<Compilation>>
Compilation::parse(StringRef text, CompileOptions options, Stage stage) {
  std::unique_ptr<Compilation> compilation(new Compilation(std::move(options)));
  DiagnosticCollector diagnostics(compilation->context);
  compilation->module =
      parseSourceString<ModuleOp>(text, &compilation->context);
  if (!compilation->module)
    return diagnostics.take(ErrorKind::Input, "parsing");
  auto models = compilation->module->getOps<ModelOp>();
  if (std::distance(models.begin(), models.end()) != 1)
    return llvm::make_error<CompileError>(ErrorKind::Input,
                                          "expected one fusec.model");
  compilation->stage = stage;
  if (llvm::Error error = compilation->markAdapters())
    return error;
  return compilation;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

llvm::Error Compilation::advance(Stage to) {
  WarningCollector collectWarnings(context, warnings);
  DiagnosticCollector diagnostics(context);
  while (stage < to) {
    Stage next = static_cast<Stage>(static_cast<int>(stage) + 1);
    LogicalResult result =
        next == Stage::Tensor     ? runTensorStage(*module, options)
        : next == Stage::Products ? runProductStage(*module, options)
        : next == Stage::Fused    ? runFusionStage(*module, options)
                                  : runPlanStage(*module, options);
    if (failed(result))
      return diagnostics.take(ErrorKind::Internal, "compilation");
    stage = next;
  }
  return llvm::Error::success();
}

ModelOp Compilation::getModel() { return *module->getOps<ModelOp>().begin(); }

llvm::Error Compilation::emit() {
  if (llvm::Error error = advance(Stage::Planned))
    return error;
  if (emitted)
    return llvm::Error::success();
  emitted = true;
  return emitKernels();
}

llvm::Error Compilation::emitKernels() {
  DiagnosticCollector diagnostics(context);
  kernels = KernelSet();
  // Some variants have taken other schedules since.
  for (PlanOp plan : module->getOps<PlanOp>())
    planLaunches(plan);
  if (failed(checkExtents(*module)))
    return diagnostics.take(ErrorKind::Unsupported, "emission of kernels");
  if (failed(kernels.emit(*module)))
    return diagnostics.take(ErrorKind::Internal, "emission of kernels");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

std::vector<CompileRequest> Compilation::getRequests() const {
  std::vector<std::string> nvrtcOptions;
  if (options.numerics == Numerics::Onnx)
    nvrtcOptions.push_back("--fmad=false");
  std::vector<CompileRequest> requests = kernels.getRequests(nvrtcOptions);
  llvm::erase_if(requests, [&](const CompileRequest &request) {
    return images.count({request.target, request.source});
  });
  return requests;
}

std::string Compilation::getFault(size_t kernel) const {
  const EmittedKernel &emitted = kernels.getKernels()[kernel];
  auto it = images.find({emitted.target, emitted.text});
  if (it == images.end())
    return "";
  for (const KernelUsage &usage : it->second.kernels) {
    if (usage.spillBytes)
      return fmt::format("it spills {} bytes of registers to memory",
                         usage.spillBytes);
    if (usage.stackBytes > emitted.stackBytes)
      return fmt::format("it has a stack frame of {} bytes, of which it needs "
                         "{}",
                         usage.stackBytes, emitted.stackBytes);
  }
  return it->second.serializedMma ? "its wgmma instructions were serialised"
                                  : "";
}

/// The step's variants without the schedules whose kernels `isFaulty` tells;
/// null where none of them can be replaced.
static ArrayAttr takeNextSchedules(StepOp step,
                                   llvm::function_ref<bool(size_t)> isFaulty) {
  SmallVector<Attribute> variants;
  bool changed = false;
  for (auto [i, variant] :
       llvm::enumerate(step.getVariants().getAsRange<VariantAttr>())) {
    VariantAttr kept = variant;
    if (isFaulty(i)) {
      VariantAttr next = variant.getNext();
      bool isLast = i + 1 == step.getVariants().size();
      // Without an alternative its case falls to the variants behind.
      changed |= next || !isLast;
      kept = next || !isLast ? next : variant;
    }
    if (kept)
      variants.push_back(kept);
  }
  return changed ? ArrayAttr::get(step.getContext(), variants) : nullptr;
}

llvm::Error Compilation::addImages(std::vector<CompiledKernel> answers) {
  std::vector<CompileRequest> requests = getRequests();
  if (answers.size() != requests.size())
    return llvm::make_error<CompileError>(
        ErrorKind::Internal, "expected an image for each requested kernel");
  std::set<std::pair<std::string, std::string>> answered;
  for (auto [request, image] : llvm::zip_equal(requests, answers)) {
    answered.insert({request.target, request.source});
    images[{request.target, request.source}] = std::move(image);
  }
  ProblemList refused;
  for (auto [i, kernel] : llvm::enumerate(kernels.getKernels())) {
    std::string fault = getFault(i);
    if (fault.empty() || !answered.count({kernel.target, kernel.text}))
      continue;
    std::string text = fmt::format("kernel {} for {}: {}", kernel.symbol,
                                   kernel.target, fault);
    warnings.push_back(text);
    Problem &problem = refused.emplace_back();
    problem.kind = ProblemKind::Unsupported;
    problem.message = text;
    problem.note = "without --werror=spill the next schedule is taken";
  }
  if (refused.empty())
    return llvm::Error::success();
  if (options.refuseSpills)
    return llvm::make_error<CompileError>(ErrorKind::Unsupported,
                                          std::move(refused));
  bool changed = false;
  for (const EmittedPlan &emitted : kernels.getPlans())
    for (auto [step, launches] : llvm::zip_equal(
             PlanOp(emitted.plan).getOps<StepOp>(), emitted.steps)) {
      ArrayAttr next =
          takeNextSchedules(step, [&, &launches = launches](size_t i) {
            return i < launches.size() && !getFault(launches[i].kernel).empty();
          });
      if (!next)
        continue;
      remarkMissed(remarks::spills, step.getLoc())
          << "the kernel of '" << step.getName().str()
          << "' cannot be held in registers; the next schedule is taken";
      step.setVariantsAttr(next);
      changed = true;
    }
  return changed ? emitKernels() : llvm::Error::success();
}

std::vector<const CompiledKernel *> Compilation::getImages() const {
  std::vector<const CompiledKernel *> result;
  for (const EmittedKernel &kernel : kernels.getKernels()) {
    auto it = images.find({kernel.target, kernel.text});
    result.push_back(it == images.end() ? nullptr : &it->second);
  }
  return result;
}

llvm::Error Compilation::compile(KernelCompiler &compiler,
                                 const KernelCompiler::Progress &progress) {
  if (llvm::Error error = emit())
    return error;
  for (std::vector<CompileRequest> requests = getRequests(); !requests.empty();
       requests = getRequests()) {
    llvm::Expected<std::vector<CompiledKernel>> compiled =
        compiler.compileAll(requests, progress);
    if (!compiled)
      return fromNvrtcError(compiled.takeError());
    if (llvm::Error error = addImages(std::move(*compiled)))
      return error;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The bundle
//===----------------------------------------------------------------------===//

llvm::Error Compilation::beginBundle(StringRef path) {
  if (llvm::Error error = advance(Stage::Planned))
    return error;
  llvm::Expected<std::unique_ptr<BundleFile>> file = BundleFile::create(path);
  if (!file)
    return llvm::make_error<CompileError>(ErrorKind::Input,
                                          llvm::toString(file.takeError()));
  bundle.reset();
  bundleFile = std::move(*file);
  bundle = std::make_unique<BundleBuilder>(
      [this, to = bundleFile.get()](uint64_t offset, format::ByteSpan bytes) {
        bool isWritten = to->write(offset, bytes);
        // Tables may be larger than memory.
        for (const auto &file : mappedFiles)
          file->release(reinterpret_cast<const char *>(bytes.data), bytes.size);
        return isWritten;
      });
  DiagnosticCollector diagnostics(context);
  if (failed(bundle->begin(*module)))
    return diagnostics.take(ErrorKind::Internal, "writing the bundle");
  return llvm::Error::success();
}

llvm::Error Compilation::finish(BundleBuilder &builder,
                                const NvrtcVersion &nvrtc) {
  format::Manifest manifest;
  manifest.compiler = "fusec " FUSEC_VERSION;
  manifest.options = {
      {"arch", llvm::join(options.targets, ",")},
      {"fusion", options.fuse ? "on" : "off"},
      {"gather", stringifyIndexPolicy(options.gatherPolicy).str()},
      {"numerics", stringify(options.numerics).str()},
      {"precision", stringify(options.precision).str()}};
  if (options.tableType != TableType::Model)
    manifest.options["table-type"] = stringify(options.tableType).str();
  if (options.tuning)
    manifest.options["tuning"] = options.tuning->digest;
  for (const auto &[name, size] : options.dims)
    manifest.options["dim." + name] = std::to_string(size);
  if (!options.replaceable.empty())
    manifest.options["replaceable"] = llvm::join(options.replaceable, ",");
  if (!options.updatable.empty())
    manifest.options["updatable"] = llvm::join(options.updatable, ",");
  for (const AdapterRequest &adapter : options.adapters)
    manifest.options["adapter." + adapter.name] =
        adapter.a + "," + adapter.b +
        (adapter.scale.empty() ? "" : "," + adapter.scale);
  if (options.maxRank)
    manifest.options["max-rank"] = std::to_string(options.maxRank);
  DiagnosticCollector diagnostics(context);
  std::string error;
  LogicalResult finished =
      builder.finish(getModel(), kernels, getImages(), updatable, nvrtc,
                     std::move(manifest), error);
  if (!error.empty())
    return llvm::make_error<CompileError>(ErrorKind::Input, std::move(error));
  if (failed(finished))
    return diagnostics.take(ErrorKind::Internal, "writing the bundle");
  return llvm::Error::success();
}

llvm::Error Compilation::finishBundle(const NvrtcVersion &nvrtc) {
  if (llvm::Error error = finish(*bundle, nvrtc)) {
    if (!bundleFile->isRefused())
      return error;
    // Why the system refused says more than that it did.
    llvm::consumeError(std::move(error));
  }
  if (llvm::Error error = bundleFile->keep())
    return llvm::make_error<CompileError>(ErrorKind::Input,
                                          llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Expected<std::string> Compilation::getBundle(const NvrtcVersion &nvrtc) {
  std::string bytes;
  BundleBuilder builder([&](uint64_t offset, format::ByteSpan span) {
    bytes.resize(std::max<size_t>(bytes.size(), offset + span.size));
    std::copy_n(span.data, span.size, bytes.begin() + ptrdiff_t(offset));
    return true;
  });
  DiagnosticCollector diagnostics(context);
  if (failed(builder.begin(*module)))
    return diagnostics.take(ErrorKind::Internal, "writing the bundle");
  if (llvm::Error error = finish(builder, nvrtc))
    return error;
  return bytes;
}
