// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/MeasuredSteps.h"
#include "runtime/format/Printable.h"
#include "tools/fusec/BenchFile.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/Json.h"
#include "tools/support/Table.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/core.h>

using namespace fusec;

/// A step's time varies by as much: 2%, and a part of a microsecond.
static constexpr double variation = 0.02, leastVariation = 0.3;

//===----------------------------------------------------------------------===//
// Where they come from
//===----------------------------------------------------------------------===//

bool fusec::fromJSON(const llvm::json::Value &value, MeasuredStep &step,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  std::optional<std::string> lead;
  std::optional<double> predicted;
  if (!map || !map.map("step", step.step) || !map.map("kernel", step.kernel) ||
      !map.map("lead", lead) || !map.map("nodes", step.nodes) ||
      !map.map("median_us", step.median) || !map.map("predicted_us", predicted))
    return false;
  step.lead = lead.value_or("");
  step.predicted = predicted.value_or(0);
  if (step.median >= 0 && step.predicted >= 0)
    return true;
  path.report("expected times of 0 or more");
  return false;
}

std::vector<MeasuredStep> fusec::getSteps(const Profile &profile) {
  std::vector<MeasuredStep> steps;
  for (const Profile::Step &step : profile.steps) {
    MeasuredStep &measured = steps.emplace_back();
    measured.step = jsonText(step.step);
    measured.kernel = jsonText(step.kernel);
    measured.lead = jsonText(step.lead);
    for (const std::string &node : step.sources)
      measured.nodes.push_back(jsonText(node));
    measured.median = step.median;
    measured.predicted = std::max(step.predicted, 0.0);
  }
  return steps;
}

std::vector<MeasuredStep> fusec::readMeasuredSteps(const std::string &file) {
  BenchFile bench = readBenchFile(file);
  if (!bench.steps)
    failMalformed(file + ": expected a profile, which `fusec bench --profile "
                         "--json` writes; got a run without one");
  return std::move(*bench.steps);
}

//===----------------------------------------------------------------------===//
// Two runs
//===----------------------------------------------------------------------===//

std::vector<StepChange> fusec::matchSteps(llvm::ArrayRef<MeasuredStep> before,
                                          llvm::ArrayRef<MeasuredStep> now) {
  std::vector<StepChange> changes;
  for (const MeasuredStep &step : now)
    changes.push_back({nullptr, &step});
  std::vector<bool> isTaken(before.size());
  auto take = [&](auto isSame) {
    for (StepChange &change : changes)
      for (size_t i = 0; !change.before && i != before.size(); ++i)
        if (!isTaken[i] && isSame(before[i], *change.now)) {
          change.before = &before[i];
          isTaken[i] = true;
        }
  };
  // A name may stand for another kernel where steps were merged or parted.
  take([](const MeasuredStep &a, const MeasuredStep &b) {
    return a.step == b.step && a.nodes == b.nodes;
  });
  take([](const MeasuredStep &a, const MeasuredStep &b) {
    return !a.nodes.empty() && a.nodes == b.nodes;
  });
  take([](const MeasuredStep &a, const MeasuredStep &b) {
    return a.step == b.step;
  });
  for (size_t i = 0; i != before.size(); ++i)
    if (!isTaken[i])
      changes.push_back({&before[i], nullptr});
  return changes;
}

static bool isNotable(const StepChange &change) {
  if (!change.before || !change.now)
    return true;
  double time = std::max(change.before->median, change.now->median);
  return std::abs(change.getDifference()) >
         std::max(variation * time, leastVariation);
}

static std::string getTime(const MeasuredStep *step) {
  return step ? fmt::format("{:.2f}", step->median) : "-";
}

void fusec::printChanges(llvm::ArrayRef<StepChange> changes) {
  std::vector<StepChange> notable;
  llvm::copy_if(changes, std::back_inserter(notable), isNotable);
  double rest = 0, sum = 0;
  for (const StepChange &change : changes) {
    sum += change.getDifference();
    rest += isNotable(change) ? 0 : change.getDifference();
  }
  if (notable.empty()) {
    llvm::outs() << fmt::format(
        "no step of {} changed by more than {:.1f} us and {:.0f}%\n",
        changes.size(), leastVariation, 100 * variation);
    return;
  }
  llvm::stable_sort(notable, [](const StepChange &a, const StepChange &b) {
    return a.getDifference() > b.getDifference();
  });
  using Align = Table::Align;
  Table table({{"step"},
               {"us before", Align::Right},
               {"now", Align::Right},
               {"difference", Align::Right},
               {"nodes"}});
  auto text = [](llvm::StringRef name, size_t most) {
    return format::shorten(format::printable(name), most);
  };
  for (const StepChange &change : notable) {
    const MeasuredStep &step = change.now ? *change.now : *change.before;
    std::string name = step.step;
    if (change.before && change.now && change.before->step != name)
      name += fmt::format(" (was {})", change.before->step);
    table.row({text(name, 80), getTime(change.before), getTime(change.now),
               fmt::format("{:+.2f}", change.getDifference()),
               text(llvm::join(step.nodes, " "), 60)});
  }
  llvm::outs() << "\nsteps that changed:\n" << table.str();
  if (notable.size() != changes.size())
    llvm::outs() << fmt::format(
        "the {} others together {:+.2f} us, all steps {:+.2f} us\n",
        changes.size() - notable.size(), rest, sum);
}

llvm::json::Array fusec::toJson(llvm::ArrayRef<StepChange> changes) {
  return jsonArray(changes, [](const StepChange &change) {
    auto known = [](bool isKnown, llvm::json::Value value) {
      return isKnown ? std::move(value) : llvm::json::Value(nullptr);
    };
    const MeasuredStep &step = change.now ? *change.now : *change.before;
    return llvm::json::Object{
        {"step", known(change.now, change.now ? change.now->step : "")},
        {"step_before",
         known(change.before, change.before ? change.before->step : "")},
        {"nodes", jsonTexts(step.nodes)},
        {"before_us",
         known(change.before, change.before ? change.before->median : 0)},
        {"now_us", known(change.now, change.now ? change.now->median : 0)},
        {"notable", isNotable(change)}};
  });
}
