// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec explain: what became of a model, kernel by kernel, and why each
// boundary between kernels is there.

#include "ir/Problem.h"
#include "tools/fusec/Explanation.h"
#include "tools/fusec/ModelOptions.h"
#include "tools/fusec/ModelSteps.h"
#include "tools/support/Table.h"
#include <fmt/core.h>

using namespace fusec;

namespace {
struct ExplainCommand {
  ModelOptions options;
  std::string target = "sm_90a", measured;
  bool all = false;

  void addTo(CLI::App &app);
  void run(Report &report);

private:
  std::unique_ptr<Compilation> compile(bool fuse) const;
  void print(const Explanation &explanation) const;
  void printRemarks(const Explanation &explanation) const;
  void printMeasured(const Explanation &explanation) const;
};
} // namespace

void ExplainCommand::addTo(CLI::App &app) {
  options.addTo(app, /*compilesKernels=*/false);
  options.addTuning(app);
  options.addReplaceable(app);
  app.add_option("--arch", target, "the target: " + getTargetNames());
  app.add_option(
         "--measured", measured,
         "what `fusec bench --profile --json` wrote of this model: each "
         "kernel's time beside its prediction")
      ->type_name("FILE");
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
static std::string tunedText(const Explanation::Schedule &schedule) {
  if (!schedule.measuredMicroseconds)
    return "";
  return fmt::format(", tuned: {:.1f} us measured",
                     schedule.measuredMicroseconds);
}

/// ", 31.7 us at 1024 (tensor)"; the size is that of named dimensions.
static std::string estimateText(const Explanation::Schedule &schedule,
                                bool hasNamedDims) {
  if (!schedule.estimate)
    return "";
  std::string size =
      hasNamedDims ? fmt::format(" at {}", schedule.estimate->dim) : "";
  return fmt::format(", {:.1f} us{} ({})", schedule.estimate->microseconds,
                     size, schedule.estimate->bound);
}

/// "4", or "4 (8 where none computes another's product first)".
static std::string countText(const Explanation::Total &total) {
  return fmt::format(
      "{}{}", total.kernels,
      total.mostKernels == total.kernels
          ? ""
          : fmt::format(" ({} where none computes another's product first)",
                        total.mostKernels));
}

static void printTable(llvm::ArrayRef<Explanation::Kernel> kernels) {
  using Align = Table::Align;
  Table table({{"", Align::Right},
               {"kernel"},
               {"family"},
               {"reads", Align::Right},
               {"writes", Align::Right},
               {"variants", Align::Right},
               {"nodes"}});
  unsigned number = 0;
  for (const Explanation::Kernel &kernel : kernels)
    table.row({std::to_string(++number), kernel.name, kernel.family,
               formatBytes(kernel.bytes.read),
               formatBytes(kernel.bytes.written),
               std::to_string(kernel.variants),
               printable(llvm::join(kernel.nodes, " "))});
  llvm::outs() << table.str();
}

static void printSchedules(const Explanation &explanation) {
  bool hasNamedDims = !explanation.namedDims.empty();
  llvm::outs() << "\nschedules, the first whose condition holds, with the "
                  "predicted time"
               << (hasNamedDims
                       ? "\nwhere a named dimension, or the product of "
                         "several, has the size shown,"
                       : "")
               << " and what bounds it:\n";
  unsigned number = 0;
  for (const Explanation::Kernel &kernel : explanation.kernels) {
    ++number;
    if (!kernel.ledBy.empty())
      llvm::outs() << fmt::format(
          "  {:>2}  {}computed first by the kernel of '{}'\n", number,
          kernel.isAlwaysLed ? "" : "where that has a lead ", kernel.ledBy);
    for (const Explanation::Schedule &schedule : kernel.schedules)
      llvm::outs() << fmt::format(
          "  {:>2}  {}{}{}{}{}\n", number, schedule.text, tunedText(schedule),
          estimateText(schedule, hasNamedDims),
          schedule.guards.empty() ? "" : " if ",
          printable(llvm::join(schedule.guards, " and ")));
  }
}

void ExplainCommand::printRemarks(const Explanation &explanation) const {
  auto print = [&](llvm::StringRef title, llvm::StringRef topic, bool passed) {
    bool first = true;
    for (const Explanation::Remark &remark : explanation.remarks) {
      if (remark.topic != topic || remark.passed != passed)
        continue;
      if (first)
        llvm::outs() << "\n" << title << ":\n";
      first = false;
      std::string line = fmt::format("  {}: {}", remark.name, remark.message);
      if (!remark.nodes.empty())
        line += fmt::format("  [{}]", llvm::join(remark.nodes, " "));
      llvm::outs() << printable(line) << "\n";
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
static void printUpdates(llvm::ArrayRef<Explanation::Update> updates) {
  if (updates.empty())
    return;
  llvm::outs() << "\nlow-rank updates, which these options of 'fusec "
                  "compile' make replaceable at run time:\n";
  for (const Explanation::Update &update : updates) {
    llvm::outs() << "  --adapter " << printable(update.name) << "="
                 << printable(update.a) << "," << printable(update.b)
                 << "  (rank " << update.rank << " of " << update.rows << " x "
                 << update.columns;
    if (update.scale)
      llvm::outs() << ", scale " << fmt::format("{:.6g}", *update.scale);
    llvm::outs() << ")\n";
  }
  llvm::outs() << "  --max-rank=R  (for adapters of a higher rank)\n";
}

/// "1.52", how many times as long as predicted.
static std::string ratioText(double measured, double predicted) {
  return measured > 0 && predicted > 0
             ? fmt::format("{:.2f}", measured / predicted)
             : "-";
}

static std::string timeText(double microseconds) {
  return microseconds > 0 ? fmt::format("{:.2f}", microseconds) : "-";
}

void ExplainCommand::printMeasured(const Explanation &explanation) const {
  using Align = Table::Align;
  Table table({{"", Align::Right},
               {"kernel"},
               {"family"},
               {"predicted us", Align::Right},
               {"measured", Align::Right},
               {"ratio", Align::Right}});
  double predicted = 0, sum = 0;
  unsigned number = 0;
  for (const Explanation::Kernel &kernel : explanation.kernels) {
    ++number;
    const std::optional<Explanation::Measured> &time = kernel.measured;
    if (!time)
      continue;
    predicted += time->predicted;
    sum += time->microseconds;
    table.row({std::to_string(number), kernel.name, kernel.family,
               timeText(time->predicted), timeText(time->microseconds),
               ratioText(time->microseconds, time->predicted)});
  }
  table.row({"", "all of them", "", timeText(predicted), timeText(sum),
             ratioText(sum, predicted)});
  llvm::outs() << "\npredicted when the bundle was compiled, and measured ("
               << printable(measured) << "):\n"
               << table.str();
}

void ExplainCommand::print(const Explanation &explanation) const {
  std::string sizes;
  for (const auto &[name, size] : explanation.dims)
    sizes += fmt::format(", {} = {}", name, size);
  // What stays named has kernels for all sizes; bytes are of one.
  const std::vector<std::string> &named = explanation.namedDims;
  if (!named.empty())
    sizes += fmt::format(", not fixed: {} (bytes where {}{})",
                         printable(llvm::join(named, ", ")),
                         named.size() == 1 ? "it is " : "each is ", typicalDim);
  const Explanation::Total &after = explanation.fused,
                           &before = explanation.plain;
  llvm::outs() << options.model << " for " << explanation.target << sizes
               << fmt::format(
                      "\nkernels {}, without fusion {}; memory traffic {}, "
                      "without fusion {}\n\n",
                      countText(after), countText(before),
                      formatBytes(after.bytes.read + after.bytes.written),
                      formatBytes(before.bytes.read + before.bytes.written));
  printTable(explanation.kernels);
  printSchedules(explanation);
  if (!measured.empty())
    printMeasured(explanation);
  printRemarks(explanation);
  printUpdates(explanation.updates);
}

void ExplainCommand::run(Report &report) {
  std::unique_ptr<Compilation> imported =
      importModel(options.model, options.getOptions());
  std::unique_ptr<Compilation> fused = compile(true), plain = compile(false);
  reportWarnings(*fused, report);
  noteTuning(options.tuning, *fused, report);
  Explanation explanation{target,
                          options.getDims(),
                          getDimNames(fused->getModel()),
                          getTotal(*fused),
                          getTotal(*plain),
                          explainKernels(*fused),
                          explainRemarks(*fused),
                          explainUpdates(imported->getModel())};
  if (!measured.empty())
    addMeasured(explanation, readMeasuredSteps(measured), measured);
  if (report.isJson())
    report.setResult(explanation.toJson());
  else
    print(explanation);
}

void fusec::addExplain(CLI::App &tool, Report &report) {
  addCommand<ExplainCommand>(
      tool, report, "explain",
      "Says what became of a model, and why kernels end where they do.",
      "  fusec explain model.onnx\n"
      "  fusec explain model.onnx --arch=sm_80 --dim batch=128 --all\n"
      "  fusec explain model.onnx --measured=profile.json   # that of `fusec "
      "bench model.fusec --profile --json > profile.json`\n");
}
