// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/bundle/KernelSet.h"
#include "compiler/analysis/Leads.h"
#include "compiler/kernels/Family.h"
#include "ir/PlanBuffers.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

/// The text without comments and line breaks, and with the names that it
/// declares numbered as they appear: the same for kernels that differ in names
/// alone, as those of equal layers do.
static std::string getForm(const KernelSource &source) {
  std::string form;
  llvm::StringMap<size_t> numbers;
  StringRef text = source.text;
  while (!text.empty()) {
    if (text.starts_with("//")) {
      text = text.drop_until([](char c) { return c == '\n'; });
      continue;
    }
    if (llvm::isSpace(text.front())) {
      text = text.ltrim();
      if (!StringRef(form).ends_with(" "))
        form += ' ';
      continue;
    }
    StringRef word =
        text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (word.empty())
      form += text.front();
    else if (!source.names.contains(word))
      form += word;
    else
      form += fmt::format(
          "${}", numbers.try_emplace(word, numbers.size()).first->second);
    text = text.drop_front(std::max<size_t>(word.size(), 1));
  }
  return form;
}

/// A step is named by its ops. One alone may be a word of the language ("and")
/// or its library's ("exp").
static std::string getSymbolBase(StringRef name) {
  std::string base = sanitizeIdentifier(name);
  return StringRef(base).contains('_') ? base : base + "_kernel";
}

/// What trigonometric functions need of the stack, with CUDA 12 and 13: the
/// product of a large argument, of 10^5 and more, and 2 / pi is an array of
/// words, of which its size says which are needed.
static unsigned getStackBytes(StepOp step) {
  unsigned ofFloat = 0, ofDouble = 0;
  step.walk([&](Operation *op) {
    if (isa<SinOp, CosOp, TanOp>(op))
      (getElementType(op->getResult(0)).isF64() ? ofDouble = 40 : ofFloat = 32);
  });
  return ofFloat + ofDouble;
}

FailureOr<EmittedLaunch> KernelSet::emit(StepOp step, VariantAttr variant,
                                         StringRef target) {
  std::string base = getSymbolBase(step.getName());
  FailureOr<KernelSource> source = emitKernel(step, variant, base);
  if (failed(source))
    return failure();
  auto [it, isNew] =
      byForm.try_emplace({target.str(), getForm(*source)}, kernels.size());
  if (isNew) {
    std::string symbol = symbols[target.str()].add(base);
    if (symbol != base)
      source = emitKernel(step, variant, symbol);
    unsigned stackBytes = getStackBytes(step);
    if (StepOp leading = hasLead(variant) ? findLeadingStep(step) : StepOp())
      stackBytes += getStackBytes(leading);
    kernels.push_back(
        {target.str(), symbol, std::move(source->text), 0, stackBytes});
  }
  source->text.clear();
  source->names.clear();
  return EmittedLaunch{it->second, std::move(*source)};
}

LogicalResult KernelSet::emit(ModuleOp module) {
  for (PlanOp plan : module.getOps<PlanOp>()) {
    EmittedPlan &emitted = plans.emplace_back();
    emitted.plan = plan;
    PlanBuffers buffers(plan);
    Leads leads(plan);
    for (StepOp step : plan.getOps<StepOp>()) {
      std::vector<EmittedLaunch> &variants = emitted.steps.emplace_back();
      if (leads.isAlwaysLed(step))
        continue;
      for (auto variant : step.getVariants().getAsRange<VariantAttr>()) {
        FailureOr<EmittedLaunch> launch =
            emit(step, variant, plan.getSymName());
        if (failed(launch))
          return failure();
        variants.push_back(std::move(*launch));
      }
      std::set<size_t> launched;
      for (const EmittedLaunch &launch : variants)
        if (launched.insert(launch.kernel).second)
          ++kernels[launch.kernel].steps;
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
