// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec-opt: IR in, passes, IR out.

#include "compiler/Passes.h"
#include "compiler/Pipelines.h"
#include "ir/FusecDialect.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<fusec::FusecDialect>();
  fusec::registerFusecPasses();
  fusec::registerFusecPipelines();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "fusec pass driver\n", registry));
}
