// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pairs family: a call of compiler/kernels/pairs/device/pairs.h.

#include "compiler/analysis/PairIteration.h"
#include "compiler/codegen/KernelWriter.h"
#include "compiler/kernels/pairs/Pairs.h"

using namespace mlir;
using namespace fusec;

FailureOr<KernelSource> fusec::emitPairs(StepOp step, VariantAttr variant,
                                         StringRef symbol) {
  FailureOr<PairIteration> iteration = analyzePairs(step);
  if (failed(iteration))
    return step.emitOpError("is not a product of pairs");
  auto schedule = cast<PairScheduleAttr>(variant.getSchedule());
  bool isWgmma = schedule.getUnit() == PairUnit::Wgmma;
  KernelWriter writer(step, symbol, 64);
  writer.addHeader("pairs.h");
  writer.declareBuffers();
  if (variant.getLaunch().getPrefetches())
    writer.waitInTemplate();
  auto print = [&](Expr expr) { return writer.print(expr, {}); };
  std::string x = writer.pointer(iteration->x, true);
  if (!iteration->offset.isConstant(0))
    x += " + " + print(iteration->offset);
  std::string m = writer.extent(iteration->rows, "m"),
              parts = writer.extent(iteration->parts, "parts");
  std::string config = writer.uniqueName("Config");
  writer.declarations() << "struct " << config
                        << " {\n  static constexpr int tileN = "
                        << schedule.getTileN()
                        << ", stages = " << schedule.getStages()
                        << ";\n  static constexpr bool whole = "
                        << (schedule.getWhole() ? "true" : "false")
                        << ";\n};\n\n";
  writer.line(
      "fusec::" + std::string(isWgmma ? "pairProduct" : "pairProductMma") +
      "<" + config + ">(fusec::PairProblem<" +
      storageType(iteration->x.getElementType()) + ", " +
      storageType(iteration->weights.getElementType()) + ">{" + x + ", " +
      print(iteration->stride) + ", " + m + ", " +
      std::to_string(iteration->features) + ", " +
      std::to_string(iteration->columns) + ", " + parts + ",\n      " +
      writer.pointer(iteration->weights, true) + ", " +
      writer.pointer(iteration->sums, false) + "});");
  return writer.finish(variant);
}
