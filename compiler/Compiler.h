// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler as a library: one model, taken from stage to stage. What stops
// early (a look at the IR or at the kernels) and what compiles many models at
// once use the same steps as `fusec compile`.

#ifndef FUSEC_COMPILER_COMPILER_H
#define FUSEC_COMPILER_COMPILER_H

#include "compiler/CompileError.h"
#include "compiler/Options.h"
#include "compiler/Remarks.h"
#include "compiler/bundle/BundleBuilder.h"
#include "compiler/bundle/BundleFile.h"
#include "compiler/codegen/nvrtc/KernelCache.h"
#include "compiler/schedule/TuningFile.h"
#include "compiler/transforms/adapters/MarkAdapters.h"
#include "frontends/onnx/Importer.h"

namespace fusec {

struct CompileOptions : PipelineOptions {
  IndexPolicy gatherPolicy = IndexPolicy::Flag;
  /// Inputs that are known when compiling, and fixed dimensions.
  std::vector<onnx::ConstantInput> constants;
  std::map<std::string, int64_t> dims;
  /// Low-rank updates that sessions can replace, up to a rank (0: their own).
  std::vector<AdapterRequest> adapters;
  int64_t maxRank = 0;
  /// Patterns of names of weights that sessions can replace.
  std::vector<std::string> replaceable;
  /// And of those whose rows can be changed in place.
  std::vector<std::string> updatable;
  /// Whether a schedule whose kernel spills registers, or has another fault, is
  /// an error; else the next one is taken.
  bool refuseSpills = false;
  /// Keeps the remarks of all passes, for getRemarks().
  bool wantRemarks = false;
};

enum class Stage { Imported, Tensor, Products, Fused, Planned };

class Compilation {
public:
  static llvm::Expected<std::unique_ptr<Compilation>>
  importFile(llvm::StringRef path, CompileOptions options);
  static llvm::Expected<std::unique_ptr<Compilation>>
  importBytes(llvm::StringRef model, CompileOptions options);
  /// A model as text, of the level that it has after `stage`.
  static llvm::Expected<std::unique_ptr<Compilation>>
  parse(llvm::StringRef text, CompileOptions options,
        Stage stage = Stage::Imported);

  /// Runs the passes up to a stage; earlier stages are not run again.
  llvm::Error advance(Stage to);
  /// After it the module has a plan for each target and kernels their text.
  llvm::Error emit();

  const CompileOptions &getOptions() const { return options; }
  mlir::MLIRContext &getContext() { return context; }
  mlir::ModuleOp getModule() { return *module; }
  /// The model as it was after `Stage::Tensor`.
  ModelOp getModel();
  llvm::ArrayRef<CollectedRemark> getRemarks() const { return remarks; }
  const KernelSet &getKernels() const { return kernels; }
  /// What NVRTC is still to be asked for.
  std::vector<CompileRequest> getRequests() const;

  /// Takes what NVRTC answered to all of getRequests(). Where a kernel has a
  /// fault its variants take their next schedule, if they have one; then there
  /// are requests again.
  llvm::Error addImages(std::vector<CompiledKernel> answers);
  /// One for each of the kernels.
  std::vector<const CompiledKernel *> getImages() const;
  /// Why a compiled kernel should not run, or nothing: it spills registers, has
  /// a stack frame that no function needs which it calls, or ptxas serialised
  /// its wgmma instructions.
  std::string getFault(size_t kernel) const;
  /// Emits, if that is still to be done, and compiles.
  llvm::Error compile(KernelCompiler &compiler,
                      const KernelCompiler::Progress &progress = nullptr);
  /// What import took for granted, constants that were too much to compute,
  /// schedules that were given up, and kernels that have a fault and no other
  /// schedule.
  llvm::ArrayRef<std::string> getWarnings() const { return warnings; }
  /// The files beside the model that hold its weights.
  llvm::ArrayRef<std::string> getDataFiles() const { return dataFiles; }

  /// Starts to write the bundle's weights to a file beside `path`, which may
  /// take as long as kernels take to compile. What was begun before goes.
  llvm::Error beginBundle(llvm::StringRef path);
  /// Writes the rest of what was begun, once everything is compiled.
  llvm::Error finishBundle(const NvrtcVersion &nvrtc);
  /// The whole bundle of what was compiled.
  llvm::Expected<std::string> getBundle(const NvrtcVersion &nvrtc);

private:
  explicit Compilation(CompileOptions options);
  llvm::Error
  import(llvm::function_ref<mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>(
             const onnx::ImportOptions &, ProblemList &)>
             importer);
  llvm::Error markAdapters();
  llvm::Error emitKernels();
  llvm::Error finish(BundleBuilder &builder, const NvrtcVersion &nvrtc);

  CompileOptions options;
  mlir::MLIRContext context;
  std::vector<CollectedRemark> remarks;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Stage stage = Stage::Imported;
  bool emitted = false;
  KernelSet kernels;
  /// By target and text: emitting again finds what it had.
  std::map<std::pair<std::string, std::string>, CompiledKernel> images;
  std::vector<std::string> warnings;
  std::vector<std::string> dataFiles, updatable;
  std::vector<std::shared_ptr<const onnx::MappedFile>> mappedFiles;
  /// The builder ends before the file that it writes to.
  std::unique_ptr<BundleFile> bundleFile;
  std::unique_ptr<BundleBuilder> bundle;
};

} // namespace fusec

#endif // FUSEC_COMPILER_COMPILER_H
