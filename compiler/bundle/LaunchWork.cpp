// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/bundle/LaunchWork.h"
#include "compiler/analysis/StepBytes.h"

using namespace mlir;
using namespace fusec;

/// Well within what a manifest may have: 4096 terms, nested 48 deep.
static constexpr unsigned maxTerms = 1024, maxDepth = 32;

static format::MathUnit getUnit(StepOp step, VariantAttr variant) {
  if (auto pairs = dyn_cast<PairScheduleAttr>(variant.getSchedule()))
    return pairs.getUnit() == PairUnit::Fma ? format::MathUnit::Fma
                                            : format::MathUnit::Half;
  auto schedule = dyn_cast<GemmScheduleAttr>(variant.getSchedule());
  GemmMath math = schedule ? schedule.getMath() : GemmMath::Fma;
  if (math == GemmMath::Fma)
    return format::MathUnit::Fma;
  if (math == GemmMath::Tf32x3)
    return format::MathUnit::Tf32x3;
  bool isWide = false;
  step.getBody().walk([&](ContractionOp root) {
    isWide |= getElementType(root.getLhs()[0]).isF32();
  });
  return isWide ? format::MathUnit::Tf32 : format::MathUnit::Half;
}

/// Counts terms; false where there are too many, or they are nested too deep.
static bool isShort(const format::Expr &expr, unsigned depth, unsigned &terms) {
  if (depth > maxDepth || ++terms > maxTerms)
    return false;
  return llvm::all_of(expr.operands, [&](const format::Expr &operand) {
    return isShort(operand, depth + 1, terms);
  });
}

std::optional<format::Work> fusec::getLaunchWork(StepOp step,
                                                 VariantAttr variant,
                                                 StepOp leading,
                                                 ExprConverter &exprs) {
  StepWork all = getStepWork(step);
  if (leading) {
    StepWork first = getStepWork(leading);
    all = {all.read + first.read, all.written + first.written,
           all.operations + first.operations};
  }
  format::Work work;
  for (auto [to, from] :
       {std::pair(&work.read, all.read), std::pair(&work.written, all.written),
        std::pair(&work.operations, all.operations)}) {
    FailureOr<format::Expr> converted = exprs.convert(from);
    unsigned terms = 0;
    if (failed(converted) || !isShort(*converted, 1, terms))
      return std::nullopt;
    *to = std::move(*converted);
  }
  work.unit = getUnit(step, variant);
  if (EstimateAttr estimate = variant.getEstimate()) {
    work.nanoseconds = std::max<int64_t>(estimate.getNanoseconds(), 1);
    work.predictedDim = std::max<int64_t>(estimate.getDim(), 0);
  }
  return work;
}
