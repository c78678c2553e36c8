// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Compiler.h"
#include "compiler/Pipelines.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace fusec;

// Models are small next to the start of a thread pool, and kernels compile in
// threads of their own.
Compilation::Compilation(CompileOptions options)
    : options(std::move(options)), context(MLIRContext::Threading::DISABLED) {
  context.loadDialect<FusecDialect>();
}

//===----------------------------------------------------------------------===//
// Import
//===----------------------------------------------------------------------===//

llvm::Error
Compilation::import(llvm::function_ref<FailureOr<OwningOpRef<ModuleOp>>(
                        const onnx::ImportOptions &, onnx::ProblemList &)>
                        importer) {
  if (options.wantRemarks && failed(collectRemarks(context, remarks)))
    return llvm::make_error<CompileError>(ErrorKind::Internal,
                                          "remarks cannot be collected");
  onnx::ImportOptions importOptions;
  importOptions.constants = options.constants;
  importOptions.dims = options.dims;
  importOptions.gatherPolicy = options.gatherPolicy;
  DiagnosticCollector diagnostics(context);
  onnx::ProblemList problems;
  FailureOr<OwningOpRef<ModuleOp>> imported = importer(importOptions, problems);
  if (failed(imported)) {
    if (problems.empty())
      return diagnostics.take(ErrorKind::Internal, "import");
    ErrorKind kind = getErrorKind(problems);
    return llvm::make_error<CompileError>(kind, std::move(problems));
  }
  module = std::move(*imported);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Compilation>>
Compilation::importFile(StringRef path, CompileOptions options) {
  std::unique_ptr<Compilation> compilation(new Compilation(std::move(options)));
  llvm::Error error =
      compilation->import([&](const onnx::ImportOptions &importOptions,
                              onnx::ProblemList &problems) {
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
  llvm::Error error =
      compilation->import([&](const onnx::ImportOptions &importOptions,
                              onnx::ProblemList &problems) {
        return onnx::importOnnx(model, importOptions, compilation->context,
                                problems);
      });
  if (error)
    return error;
  return compilation;
}

llvm::Expected<std::unique_ptr<Compilation>>
Compilation::parse(StringRef text, CompileOptions options) {
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
  return compilation;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

llvm::Error Compilation::advance(Stage to) {
  PipelineOptions pipeline;
  pipeline.targets.assign(options.targets.begin(), options.targets.end());
  pipeline.fuse = options.fuse;
  pipeline.numerics = options.numerics;
  pipeline.precision = options.precision;
  DiagnosticCollector diagnostics(context);
  while (stage < to) {
    Stage next = static_cast<Stage>(static_cast<int>(stage) + 1);
    LogicalResult result =
        next == Stage::Tensor  ? runTensorStage(*module, pipeline)
        : next == Stage::Fused ? runFusionStage(*module, pipeline)
                               : runPlanStage(*module, pipeline);
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
  DiagnosticCollector diagnostics(context);
  if (failed(kernels.emit(*module)))
    return diagnostics.take(ErrorKind::Internal, "emission of kernels");
  emitted = true;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

std::vector<CompileRequest> Compilation::getRequests() const {
  std::vector<std::string> nvrtcOptions;
  if (options.numerics == "onnx")
    nvrtcOptions.push_back("--fmad=false");
  return kernels.getRequests(nvrtcOptions);
}

llvm::Error Compilation::setImages(std::vector<CompiledKernel> compiled) {
  images = std::move(compiled);
  for (const CompiledKernel &image : images) {
    std::string where = "kernel " + image.name + " for " + image.target + ": ";
    for (const KernelUsage &usage : image.kernels)
      if (usage.spillBytes)
        warnings.push_back(where + "spills " +
                           std::to_string(usage.spillBytes) +
                           " bytes of registers to memory");
    if (image.serializedMma)
      warnings.push_back(where + "its wgmma instructions were serialised");
  }
  if (!options.refuseSpills || warnings.empty())
    return llvm::Error::success();
  onnx::ProblemList problems;
  for (const std::string &warning : warnings) {
    onnx::Problem &problem = problems.emplace_back();
    problem.message = warning;
  }
  return llvm::make_error<CompileError>(ErrorKind::Internal,
                                        std::move(problems));
}

llvm::Error Compilation::compile(KernelCompiler &compiler,
                                 const KernelCompiler::Progress &progress) {
  if (llvm::Error error = emit())
    return error;
  llvm::Expected<std::vector<CompiledKernel>> compiled =
      compiler.compileAll(getRequests(), progress);
  if (!compiled)
    return fromNvrtcError(compiled.takeError());
  return setImages(std::move(*compiled));
}

//===----------------------------------------------------------------------===//
// The bundle
//===----------------------------------------------------------------------===//

llvm::Error Compilation::build(
    const NvrtcVersion &nvrtc,
    llvm::function_ref<bool(ManifestBuilder &, std::string &)> write) {
  DiagnosticCollector diagnostics(context);
  ManifestBuilder builder(kernels, images, nvrtc);
  if (failed(builder.build(getModel())))
    return diagnostics.take(ErrorKind::Internal, "writing the bundle");
  format::Manifest &manifest = builder.getManifest();
  manifest.compiler = "fusec " FUSEC_VERSION;
  manifest.options = {
      {"arch", llvm::join(options.targets, ",")},
      {"fusion", options.fuse ? "on" : "off"},
      {"gather", stringifyIndexPolicy(options.gatherPolicy).str()},
      {"numerics", options.numerics},
      {"precision", options.precision}};
  for (const auto &[name, size] : options.dims)
    manifest.options["dim." + name] = std::to_string(size);
  std::string error;
  if (!write(builder, error))
    return llvm::make_error<CompileError>(ErrorKind::Input, std::move(error));
  return llvm::Error::success();
}

llvm::Error Compilation::writeBundle(const std::string &path,
                                     const NvrtcVersion &nvrtc) {
  return build(nvrtc, [&](ManifestBuilder &builder, std::string &error) {
    return builder.getWriter().writeFile(builder.getManifest(), path, error);
  });
}

llvm::Expected<std::string> Compilation::getBundle(const NvrtcVersion &nvrtc) {
  std::string bytes;
  llvm::Error error = build(nvrtc, [&](ManifestBuilder &builder,
                                       std::string &message) {
    return builder.getWriter().write(
        builder.getManifest(),
        [&](format::ByteSpan span) {
          bytes.append(reinterpret_cast<const char *>(span.data), span.size);
          return true;
        },
        message);
  });
  if (error)
    return error;
  return bytes;
}
