// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec-translate: --import-onnx reads a model into the tensor level,
// --fusec-to-cuda prints the kernels of a planned module.

#include "compiler/codegen/KernelSource.h"
#include "compiler/kernels/Family.h"
#include "compiler/kernels/Launch.h"
#include "frontends/onnx/Importer.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static OwningOpRef<Operation *> importModel(llvm::SourceMgr &sources,
                                            MLIRContext *context) {
  context->loadDialect<FusecDialect>();
  ProblemList problems;
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  auto module = onnx::importOnnx(buffer->getBuffer(), {}, *context, problems);
  for (const Problem &problem : problems)
    emitError(UnknownLoc::get(context)) << problem.str();
  if (failed(module))
    return nullptr;
  return OwningOpRef<Operation *>(module->release());
}

static LogicalResult printKernels(Operation *module, raw_ostream &os) {
  module->walk(planLaunches);
  unsigned number = 0;
  WalkResult result = module->walk([&](StepOp step) {
    for (auto [i, variant] :
         llvm::enumerate(step.getVariants().getAsRange<VariantAttr>())) {
      std::string symbol =
          fmt::format("{}_{}{}", sanitizeIdentifier(step.getName()), number,
                      i ? fmt::format("_v{}", i) : "");
      auto kernel = emitKernel(step, variant, symbol);
      if (failed(kernel))
        return WalkResult::interrupt();
      os << kernel->text << "// " << variant.getLaunch() << "\n\n";
    }
    ++number;
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

int main(int argc, char **argv) {
  TranslateToMLIRRegistration importer(
      "import-onnx", "read an ONNX model into the tensor level",
      [](llvm::SourceMgr &sources, MLIRContext *context) {
        return importModel(sources, context);
      },
      [](DialectRegistry &registry) { registry.insert<FusecDialect>(); });
  TranslateFromMLIRRegistration printer(
      "fusec-to-cuda", "print the CUDA C of a planned module",
      [](Operation *op, raw_ostream &os) { return printKernels(op, os); },
      [](DialectRegistry &registry) { registry.insert<FusecDialect>(); });
  return failed(mlirTranslateMain(argc, argv, "fusec translation driver"));
}
