// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Explanation.h"
#include "compiler/analysis/Leads.h"
#include "ir/PlanBuffers.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/Json.h"

#include <fmt/core.h>
#include <set>

using namespace fusec;

static PlanOp getPlan(const Compilation &compilation) {
  return compilation.getKernels().getPlans().front().plan;
}

Explanation::Total fusec::getTotal(const Compilation &compilation) {
  PlanOp plan = getPlan(compilation);
  Leads leads(plan);
  unsigned most = llvm::count_if(plan.getOps<StepOp>(), [&](StepOp step) {
    return !leads.isAlwaysLed(step);
  });
  return {countKernels(plan), most, getPlanBytes(plan, {})};
}

/// As the user binds it; other buffers have names of their kernels'.
static std::string getTensorName(mlir::FlatSymbolRefAttr ref,
                                 const PlanBuffers &buffers, ModelOp model) {
  BufferOp buffer = buffers.lookup(ref);
  mlir::ArrayAttr names =
      buffer.getKind() == BufferKind::Input    ? model.getInputNames()
      : buffer.getKind() == BufferKind::Output ? model.getOutputNames()
                                               : mlir::ArrayAttr();
  return (names ? llvm::cast<mlir::StringAttr>(names[buffer.getIndex()])
                      .getValue()
                : ref.getValue())
      .str();
}

static std::string getGuardText(GuardAttr guard, const PlanBuffers &buffers,
                                ModelOp model) {
  if (guard.getKind() == GuardKind::Aligned)
    return getTensorName(guard.getBuffer(), buffers, model) +
           " is aligned to " + Expr(guard.getRhs()).str();
  return fmt::format("{} {} {}", Expr(guard.getLhs()).str(),
                     stringifyGuardKind(guard.getKind()),
                     Expr(guard.getRhs()).str());
}

static Explanation::Schedule explainSchedule(VariantAttr variant,
                                             const PlanBuffers &buffers,
                                             ModelOp model) {
  Explanation::Schedule schedule;
  schedule.text = getScheduleText(variant.getSchedule());
  for (GuardAttr guard : variant.getGuards())
    schedule.guards.push_back(getGuardText(guard, buffers, model));
  schedule.measuredMicroseconds = double(variant.getMeasured()) / 1000;
  if (EstimateAttr estimate = variant.getEstimate())
    schedule.estimate = {double(estimate.getNanoseconds()) / 1000,
                         estimate.getDim(),
                         stringifyTimeBound(estimate.getBound()).str()};
  return schedule;
}

std::vector<Explanation::Kernel>
fusec::explainKernels(Compilation &compilation) {
  PlanOp plan = getPlan(compilation);
  PlanBuffers buffers(plan);
  Leads leads(plan);
  std::vector<Explanation::Kernel> kernels;
  for (StepOp step : plan.getOps<StepOp>()) {
    Explanation::Kernel &kernel = kernels.emplace_back();
    kernel.name = step.getName().str();
    kernel.family = stringifyFamily(step.getFamily()).str();
    kernel.bytes = getStepBytes(step, {});
    for (auto source : step.getSources().getAsRange<mlir::StringAttr>())
      kernel.nodes.push_back(source.str());
    kernel.variants = step.getVariants().size();
    if (StepOp led = leads.findLedStep(step)) {
      kernel.ledBy = led.getName().str();
      kernel.isAlwaysLed = leads.isAlwaysLed(step);
    }
    if (kernel.isAlwaysLed)
      continue;
    for (auto variant : step.getVariants().getAsRange<VariantAttr>())
      kernel.schedules.push_back(
          explainSchedule(variant, buffers, compilation.getModel()));
  }
  return kernels;
}

std::vector<Explanation::Remark>
fusec::explainRemarks(const Compilation &compilation) {
  std::vector<Explanation::Remark> remarks;
  // One for each of several edges between the same two, say.
  std::set<std::tuple<std::string, bool, std::string, std::string,
                      std::vector<std::string>>>
      seen;
  for (const CollectedRemark &remark : compilation.getRemarks()) {
    std::vector<std::string> nodes = getSourceNames(remark.loc);
    if (seen.emplace(remark.topic, remark.passed, remark.name, remark.message,
                     nodes)
            .second)
      remarks.push_back({remark.topic, remark.name, remark.message,
                         remark.passed, std::move(nodes)});
  }
  return remarks;
}

std::vector<Explanation::Update> fusec::explainUpdates(ModelOp imported) {
  std::vector<Explanation::Update> updates;
  std::vector<std::string> names;
  for (const LowRankUpdate &update : findLowRankUpdates(imported)) {
    names.push_back(suggestAdapterName(update, names));
    updates.push_back({names.back(), std::string(update.a.getName()),
                       std::string(update.b.getName()), update.getRank(),
                       update.a.getRows(), update.b.getColumns(),
                       update.scales.empty()
                           ? std::nullopt
                           : std::optional<double>(update.scale)});
  }
  return updates;
}

/// Names alone do not tell steps apart. A step has the nodes of what it
/// computes first ahead of its own.
static bool isStepOf(const MeasuredStep &step,
                     const Explanation::Kernel &kernel) {
  llvm::ArrayRef<std::string> nodes = step.nodes;
  return step.step == jsonText(kernel.name) &&
         nodes.size() >= kernel.nodes.size() &&
         std::equal(kernel.nodes.begin(), kernel.nodes.end(),
                    nodes.take_back(kernel.nodes.size()).begin(),
                    [](llvm::StringRef own, llvm::StringRef measured) {
                      return jsonText(own) == measured;
                    });
}

void fusec::addMeasured(Explanation &explanation,
                        llvm::ArrayRef<MeasuredStep> steps,
                        const std::string &file) {
  std::vector<std::string> unknown;
  for (const MeasuredStep &step : steps) {
    auto kernel = llvm::find_if(explanation.kernels,
                                [&](const Explanation::Kernel &kernel) {
                                  return isStepOf(step, kernel);
                                });
    if (kernel == explanation.kernels.end())
      unknown.push_back(step.step);
    else if (kernel->measured) // a step may launch more than once
      kernel->measured->microseconds += step.median;
    else
      kernel->measured = {step.median, step.predicted};
  }
  if (unknown.empty())
    return;
  std::string names = llvm::join(llvm::ArrayRef(unknown).take_front(5), ", ") +
                      (unknown.size() > 5 ? ", ..." : "");
  fail(ExitCode::Usage,
       fmt::format("{}: expected the steps of this model for {}, got {} of {} "
                   "that it does not have: {}\n"
                   "note: give the options and sizes that the bundle was "
                   "compiled with, and its target as --arch",
                   file, explanation.target, unknown.size(), steps.size(),
                   names));
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Object toJson(const StepBytes &bytes) {
  return llvm::json::Object{{"read", bytes.read}, {"written", bytes.written}};
}

static llvm::json::Object toJson(const Explanation::Total &total) {
  return llvm::json::Object{{"kernels", total.kernels},
                            {"most_kernels", total.mostKernels},
                            {"bytes", toJson(total.bytes)}};
}

static llvm::json::Object toJson(const Explanation::Schedule &schedule) {
  llvm::json::Object object{{"schedule", schedule.text},
                            {"guards", jsonTexts(schedule.guards)},
                            {"predicted", nullptr},
                            {"measured_us", nullptr}};
  if (const std::optional<Explanation::Estimate> &estimate = schedule.estimate)
    object["predicted"] =
        llvm::json::Object{{"us", jsonNumber(estimate->microseconds)},
                           {"dim", estimate->dim},
                           {"bound", estimate->bound}};
  if (schedule.measuredMicroseconds)
    object["measured_us"] = schedule.measuredMicroseconds;
  return object;
}

static llvm::json::Object toJson(const Explanation::Kernel &kernel) {
  llvm::json::Object object{
      {"name", jsonText(kernel.name)},
      {"family", kernel.family},
      {"bytes", toJson(kernel.bytes)},
      {"nodes", jsonTexts(kernel.nodes)},
      {"computed_by", nullptr},
      {"schedules", jsonArray(kernel.schedules,
                              [](const Explanation::Schedule &schedule) {
                                return toJson(schedule);
                              })},
      {"measured", nullptr}};
  if (kernel.measured)
    object["measured"] = llvm::json::Object{
        {"us", jsonNumber(kernel.measured->microseconds)},
        {"predicted_us", kernel.measured->predicted > 0
                             ? jsonNumber(kernel.measured->predicted)
                             : llvm::json::Value(nullptr)}};
  if (!kernel.ledBy.empty())
    object["computed_by"] = llvm::json::Object{
        {"kernel", jsonText(kernel.ledBy)}, {"always", kernel.isAlwaysLed}};
  return object;
}

static llvm::json::Object toJson(const Explanation::Remark &remark) {
  return llvm::json::Object{{"topic", remark.topic},
                            {"done", remark.passed},
                            {"name", remark.name},
                            {"message", jsonText(remark.message)},
                            {"nodes", jsonTexts(remark.nodes)}};
}

static llvm::json::Object toJson(const Explanation::Update &update) {
  llvm::json::Object object{{"name", jsonText(update.name)},
                            {"a", jsonText(update.a)},
                            {"b", jsonText(update.b)},
                            {"rank", update.rank},
                            {"rows", update.rows},
                            {"columns", update.columns},
                            {"scale", nullptr}};
  if (update.scale)
    object["scale"] = jsonNumber(*update.scale);
  return object;
}

llvm::json::Object Explanation::toJson() const {
  auto convert = [](const auto &element) { return ::toJson(element); };
  return llvm::json::Object{{"target", target},
                            {"dims", jsonMap(dims)},
                            {"named_dims", jsonTexts(namedDims)},
                            {"typical_dim", typicalDim},
                            {"fused", ::toJson(fused)},
                            {"without_fusion", ::toJson(plain)},
                            {"kernels", jsonArray(kernels, convert)},
                            {"remarks", jsonArray(remarks, convert)},
                            {"updates", jsonArray(updates, convert)}};
}
