// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec explain: what became of a model, kernel by kernel, and why each
// boundary between kernels is there.

#include "compiler/codegen/Leads.h"
#include "compiler/schedule/StepBytes.h"
#include "frontends/onnx/Problems.h"
#include "ir/PlanBuffers.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/support/Table.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

using namespace fusec;

namespace {
struct ExplainCommand {
  ModelOptions options;
  std::string target = "sm_90a";
  bool all = false;

  void addTo(CLI::App &app);
  void run();

private:
  std::unique_ptr<Compilation> compile(bool fuse) const;
  void printKernels(Compilation &compilation) const;
  void printRemarks(Compilation &compilation) const;
  void printUpdates(Compilation &imported) const;
};
} // namespace

void ExplainCommand::addTo(CLI::App &app) {
  options.addTo(app, /*compilesKernels=*/false);
  options.addTuning(app);
  options.addReplaceable(app);
  app.add_option("--arch", target,
                 "the target: sm_80, sm_86, sm_89, sm_90a, sm_120 or ptx");
  app.add_flag("--all", all,
               "every merge and rewrite too, not only what was refused");
}

std::unique_ptr<Compilation> ExplainCommand::compile(bool fuse) const {
  CompileOptions compileOptions = options.getOptions();
  checkArch(target);
  compileOptions.targets = {target};
  compileOptions.fuse &= fuse;
  compileOptions.wantRemarks = fuse;
  std::unique_ptr<Compilation> compilation =
      importModel(options.model, compileOptions);
  if (llvm::Error error = compilation->emit())
    failFor(options.model, std::move(error));
  return compilation;
}

/// ", tuned: 31.7 us measured".
static std::string tunedText(VariantAttr variant) {
  if (!variant.getMeasured())
    return "";
  return llvm::formatv(", tuned: {0:f1} us measured",
                       double(variant.getMeasured()) / 1000);
}

/// ", 31.7 us at 1024 (tensor)"; the size is that of named dimensions.
static std::string estimateText(VariantAttr variant, bool hasNamedDims) {
  EstimateAttr estimate = variant.getEstimate();
  if (!estimate)
    return "";
  std::string size =
      hasNamedDims ? " at " + std::to_string(estimate.getDim()) : "";
  return llvm::formatv(", {0:f1} us{1} ({2})",
                       double(estimate.getNanoseconds()) / 1000, size,
                       stringifyTimeBound(estimate.getBound()));
}

/// As the user binds it; other buffers have names of their kernels'.
static llvm::StringRef getTensorName(mlir::FlatSymbolRefAttr ref,
                                     const PlanBuffers &buffers,
                                     ModelOp model) {
  BufferOp buffer = buffers.lookup(ref);
  mlir::ArrayAttr names =
      buffer.getKind() == BufferKind::Input    ? model.getInputNames()
      : buffer.getKind() == BufferKind::Output ? model.getOutputNames()
                                               : mlir::ArrayAttr();
  return names
             ? llvm::cast<mlir::StringAttr>(names[buffer.getIndex()]).getValue()
             : ref.getValue();
}

/// "4", or "4 (8 where none computes another's product first)".
static std::string countText(PlanOp plan) {
  unsigned count = countKernels(plan);
  Leads leads(plan);
  unsigned most = llvm::count_if(plan.getOps<StepOp>(), [&](StepOp step) {
    return !leads.isAlwaysLed(step);
  });
  return std::to_string(count) +
         (most == count ? ""
                        : " (" + std::to_string(most) +
                              " where none computes another's product first)");
}

void ExplainCommand::printKernels(Compilation &compilation) const {
  using Align = Table::Align;
  Table table({{"", Align::Right},
               {"kernel"},
               {"family"},
               {"reads", Align::Right},
               {"writes", Align::Right},
               {"variants", Align::Right},
               {"nodes"}});
  const EmittedPlan &plan = compilation.getKernels().getPlans().front();
  PlanBuffers buffers(plan.plan);
  unsigned number = 0;
  for (StepOp step : PlanOp(plan.plan).getOps<StepOp>()) {
    StepBytes bytes = getStepBytes(step, {});
    std::string nodes;
    for (auto source : step.getSources().getAsRange<mlir::StringAttr>())
      nodes += (nodes.empty() ? "" : " ") + onnx::printable(source);
    table.row({std::to_string(++number), step.getName().str(),
               stringifyFamily(step.getFamily()).str(), formatBytes(bytes.read),
               formatBytes(bytes.written),
               std::to_string(step.getVariants().size()), nodes});
  }
  bool hasNamedDims = !getDimNames(compilation.getModel()).empty();
  llvm::outs() << table.str()
               << "\nschedules, the first whose condition holds, with the "
                  "predicted time"
               << (hasNamedDims
                       ? "\nwhere a named dimension, or the product of "
                         "several, has the size shown,"
                       : "")
               << " and what bounds it:\n";
  number = 0;
  Leads leads(plan.plan);
  for (StepOp step : PlanOp(plan.plan).getOps<StepOp>()) {
    ++number;
    if (StepOp led = leads.findLedStep(step)) {
      llvm::outs() << llvm::formatv(
          "  {0,2}  {1}computed first by the kernel of '{2}'\n", number,
          leads.isAlwaysLed(step) ? "" : "where that has a lead ",
          led.getName());
      if (leads.isAlwaysLed(step))
        continue;
    }
    for (auto variant : step.getVariants().getAsRange<VariantAttr>()) {
      std::string guards;
      llvm::raw_string_ostream os(guards);
      for (GuardAttr guard : variant.getGuards()) {
        os << (guards.empty() ? " if " : " and ");
        if (guard.getKind() == GuardKind::Aligned)
          os << onnx::printable(getTensorName(guard.getBuffer(), buffers,
                                              compilation.getModel()))
             << " is aligned to " << Expr(guard.getRhs());
        else
          os << Expr(guard.getLhs()) << " "
             << stringifyGuardKind(guard.getKind()) << " "
             << Expr(guard.getRhs());
      }
      llvm::outs() << llvm::formatv(
          "  {0,2}  {1}{2}{3}{4}\n", number,
          getScheduleText(variant.getSchedule()), tunedText(variant),
          estimateText(variant, hasNamedDims), guards);
    }
  }
}

void ExplainCommand::printRemarks(Compilation &compilation) const {
  auto print = [&](llvm::StringRef title, llvm::StringRef topic, bool passed) {
    bool first = true;
    llvm::StringSet<> printed;
    for (const CollectedRemark &remark : compilation.getRemarks()) {
      if (remark.topic != topic || remark.passed != passed)
        continue;
      std::string line = "  " + remark.name + ": " + remark.message;
      std::vector<std::string> names = getSourceNames(remark.loc);
      if (!names.empty())
        line += "  [" + llvm::join(names, " ") + "]";
      line = onnx::printable(line);
      // One for each of several edges between the same two, say.
      if (!printed.insert(line).second)
        continue;
      if (first)
        llvm::outs() << "\n" << title << ":\n";
      first = false;
      llvm::outs() << line << "\n";
    }
  };
  print("boundaries between kernels, and why they are there", "fusion", false);
  print("rewrites that were not made", "rewrite", false);
  print("schedules that were not taken", "schedule", false);
  print("rewrites", "rewrite", true);
  if (all)
    print("merges", "fusion", true);
  print("storage", "storage", true);
}

/// Low-rank updates that are not marked, as options to copy.
void ExplainCommand::printUpdates(Compilation &imported) const {
  std::vector<std::string> names;
  for (const LowRankUpdate &update : findLowRankUpdates(imported.getModel())) {
    if (names.empty())
      llvm::outs() << "\nlow-rank updates, which these options of 'fusec "
                      "compile' make replaceable at run time:\n";
    names.push_back(suggestAdapterName(update, names));
    llvm::outs() << "  --adapter " << onnx::printable(names.back()) << "="
                 << onnx::printable(update.a.getName()) << ","
                 << onnx::printable(update.b.getName()) << "  (rank "
                 << update.getRank() << " of " << update.a.getRows() << " x "
                 << update.b.getColumns();
    if (!update.scales.empty())
      llvm::outs() << ", scale " << llvm::format("%g", update.scale);
    llvm::outs() << ")\n";
  }
  if (!names.empty())
    llvm::outs() << "  --max-rank=R  (for adapters of a higher rank)\n";
}

void ExplainCommand::run() {
  std::unique_ptr<Compilation> imported =
      importModel(options.model, options.getOptions());
  std::unique_ptr<Compilation> fused = compile(true), plain = compile(false);
  printWarnings(*fused);
  StepBytes after =
      getPlanBytes(fused->getKernels().getPlans().front().plan, {});
  StepBytes before =
      getPlanBytes(plain->getKernels().getPlans().front().plan, {});
  std::string sizes;
  for (const auto &[name, size] : options.getDims())
    sizes += ", " + name + " = " + std::to_string(size);
  // What stays named has kernels for all sizes; bytes are of one.
  std::vector<std::string> named = getDimNames(fused->getModel());
  if (!named.empty())
    sizes += ", not fixed: " + onnx::printable(llvm::join(named, ", ")) +
             " (bytes where " + (named.size() == 1 ? "it is " : "each is ") +
             std::to_string(typicalDim) + ")";
  llvm::outs()
      << options.model << " for " << target << sizes
      << llvm::formatv(
             "\nkernels {0}, without fusion {1}; memory traffic {2}, without "
             "fusion {3}\n\n",
             countText(fused->getKernels().getPlans().front().plan),
             countText(plain->getKernels().getPlans().front().plan),
             formatBytes(after.read + after.written),
             formatBytes(before.read + before.written));
  noteTuning(options.tuning, *fused);
  printKernels(*fused);
  printRemarks(*fused);
  printUpdates(*imported);
}

void fusec::addExplain(CLI::App &tool) {
  addCommand<ExplainCommand>(
      tool, "explain",
      "Says what became of a model, and why kernels end where they do.",
      "  fusec explain model.onnx\n"
      "  fusec explain model.onnx --arch=sm_80 --dim batch=128 --all\n");
}
