// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/host/HostCheck.h"
#include "compiler/CompileError.h"
#include "ir/reference/Elements.h"
#include "ir/reference/EvaluatePlan.h"
#include "ir/reference/Inputs.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace fusec {

/// Relative to the largest element: a sum that cancels is as exact as its
/// terms.
static double getTolerance(Type type) {
  if (type.isF16())
    return 0x1p-9;
  if (type.isBF16())
    return 0x1p-6;
  return type.isF32() ? 0x1p-17 : 0x1p-46;
}

std::string compareWithReference(const reference::Tensor &expected,
                                 const reference::Tensor &got) {
  if (expected.getSizes() != got.getSizes())
    return "sizes differ";
  Type type = expected.getElementType();
  if (!isa<FloatType>(type)) {
    ArrayRef<char> wanted = expected.getBytes(), bytes = got.getBytes();
    if (wanted == bytes)
      return "";
    size_t at =
        std::mismatch(wanted.begin(), wanted.end(), bytes.begin()).first -
        wanted.begin();
    return llvm::formatv("element {0} differs",
                         at / expected.getElementBytes());
  }
  std::vector<double> wanted = reference::loadAll<double>(expected),
                      values = reference::loadAll<double>(got);
  double largest = 0;
  for (double value : wanted)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != values[i] &&
        !(std::isnan(wanted[i]) && std::isnan(values[i])) &&
        !(std::fabs(wanted[i] - values[i]) <= getTolerance(type) * largest))
      return llvm::formatv("element {0}: expected {1}, got {2}", i, wanted[i],
                           values[i]);
  return "";
}

std::string checkPlan(
    HostPlan &plan, const KernelLibrary &library,
    ArrayRef<reference::Tensor> inputs,
    llvm::function_ref<std::string(const reference::Tensors &outputs)> judge) {
  PlanOp op = plan.getPlan();
  DiagnosticCollector diagnostics(*op->getContext());
  reference::Dims dims;
  auto expected = reference::evaluate(op, inputs);
  if (failed(expected) ||
      failed(reference::bindInputs(plan.getModel(), inputs, {}, dims)))
    return llvm::toString(
        diagnostics.take(ErrorKind::Internal, "evaluation of the plan"));

  unsigned choices = 1;
  auto runRound = [&](HostPlan::Round round) -> std::string {
    std::string error;
    auto result = plan.run(library, inputs, dims, round, error);
    if (!result)
      return error;
    choices = std::max(choices, result->choices);
    for (auto [i, output] : llvm::enumerate(result->outputs)) {
      std::string difference =
          compareWithReference(expected->outputs[i], output);
      if (!difference.empty())
        return llvm::formatv("output {0} against the reference: {1}", i,
                             difference);
    }
    if ((result->faults != 0) != (expected->faults != 0))
      return llvm::formatv("expected {0} indices out of range, got {1}",
                           expected->faults, result->faults);
    return judge(result->outputs);
  };
  // Tensors of whole vectors are as aligned before the end of a page as guards
  // ask: one round does for both.
  auto isOfVectors = [](const reference::Tensor &tensor) {
    return tensor.getBytes().size() % 16 == 0;
  };
  bool isFlush = llvm::all_of(inputs, isOfVectors) &&
                 llvm::all_of(expected->outputs, isOfVectors);
  Placement placement = isFlush ? Placement::Flush : Placement::Aligned;
  for (unsigned choice = 0; choice < choices; ++choice)
    if (std::string error = runRound({placement, choice, 0xff}); !error.empty())
      return llvm::formatv("variant {0} of each step: {1}", choice, error);
  if (!isFlush)
    if (std::string error = runRound({Placement::Flush, 0, 0xa5});
        !error.empty())
      return "tensors before the end of a page: " + error;
  if (std::string error = runRound({Placement::Shifted, 0, 0xa5});
      !error.empty())
    return "tensors not aligned: " + error;
  return "";
}

} // namespace fusec
