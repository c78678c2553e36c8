// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/bundle/KernelSet.h"
#include "compiler/codegen/Leads.h"

using namespace mlir;
using namespace fusec;

/// The text without lines of comment, which name the nodes a kernel is for:
/// equal layers of a model share their code.
static std::string withoutComments(StringRef text) {
  std::string result;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (!line.ltrim().starts_with("//"))
      result += (line + "\n").str();
    text = rest;
  }
  return result;
}

/// A name of one word may be the language's ("and") or its library's ("exp");
/// of those with an underscore only "and_eq" and its like are.
static std::string getSymbolBase(StringRef name) {
  std::string base = sanitizeIdentifier(name);
  bool isTaken =
      base.find('_') == std::string::npos || StringRef(base).ends_with("_eq");
  return isTaken ? base + "_kernel" : base;
}

FailureOr<EmittedLaunch> KernelSet::emit(StepOp step, VariantAttr variant,
                                         StringRef target) {
  std::string base = getSymbolBase(step.getName());
  for (unsigned number = 1;; ++number) {
    std::string symbol =
        number == 1 ? base : base + "_" + std::to_string(number);
    FailureOr<KernelSource> source = emitKernel(step, variant, symbol);
    if (failed(source))
      return failure();
    auto [it, isNew] =
        bySymbol.try_emplace({target.str(), symbol}, kernels.size());
    if (isNew)
      kernels.push_back({target.str(), symbol, source->text});
    else if (withoutComments(kernels[it->second].text) !=
             withoutComments(source->text))
      continue;
    source->text.clear();
    return EmittedLaunch{it->second, std::move(*source)};
  }
}

LogicalResult KernelSet::emit(ModuleOp module) {
  for (PlanOp plan : module.getOps<PlanOp>()) {
    EmittedPlan &emitted = plans.emplace_back();
    emitted.plan = plan;
    for (StepOp step : plan.getOps<StepOp>()) {
      std::vector<EmittedLaunch> &variants = emitted.steps.emplace_back();
      if (isAlwaysLed(step))
        continue;
      for (auto variant : step.getVariants().getAsRange<VariantAttr>()) {
        FailureOr<EmittedLaunch> launch =
            emit(step, variant, plan.getSymName());
        if (failed(launch))
          return failure();
        variants.push_back(std::move(*launch));
      }
    }
  }
  return success();
}

std::vector<CompileRequest>
KernelSet::getRequests(ArrayRef<std::string> options) const {
  std::vector<KernelHeader> headers;
  for (auto [name, text] : getDeviceHeaders())
    headers.push_back({name.str(), text});
  std::vector<CompileRequest> requests;
  for (const EmittedKernel &kernel : kernels)
    requests.push_back(
        {kernel.symbol, kernel.text, headers, kernel.target, options.vec()});
  return requests;
}
