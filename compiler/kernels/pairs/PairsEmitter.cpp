// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pairs family: a call of compiler/kernels/pairs/device/pairs.h.

#include "compiler/analysis/PairIteration.h"
#include "compiler/codegen/KernelText.h"
#include "compiler/codegen/KernelWriter.h"
#include "compiler/kernels/pairs/Pairs.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

FailureOr<KernelSource> fusec::emitPairs(StepOp step, VariantAttr variant,
                                         StringRef symbol) {
  FailureOr<PairIteration> iteration = analyzePairs(step);
  if (failed(iteration))
    return step.emitOpError("is not a product of pairs");
  auto schedule = cast<PairScheduleAttr>(variant.getSchedule());
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
  writer.declarations() << fmt::format(
      "struct {} {{\n"
      "  static constexpr int tileN = {}, stages = {};\n"
      "  static constexpr bool whole = {};\n"
      "}};\n\n",
      config, schedule.getTileN(), schedule.getStages(), schedule.getWhole());
  std::string stride = print(iteration->stride),
              weights = writer.pointer(iteration->weights, true),
              sums = writer.pointer(iteration->sums, false);
  std::string problem = fmt::format("{}, {}, {}, {}, {}, {},\n      {}, {}", x,
                                    stride, m, iteration->features,
                                    iteration->columns, parts, weights, sums);
  // In the order of PairUnit.
  constexpr StringLiteral functions[] = {"pairProductMma", "pairProduct",
                                         "pairProductFma"};
  StringRef function = functions[unsigned(schedule.getUnit())];
  writer.line("fusec::{}<{}>(fusec::PairProblem<{}, {}>{});", function, config,
              storageType(iteration->x.getElementType()),
              storageType(iteration->weights.getElementType()),
              braced({problem}));
  return writer.finish(variant);
}
