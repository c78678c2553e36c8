// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/BenchAgainst.h"
#include "tools/data/Tensor.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/Json.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fmt/core.h>
#include <random>

using namespace fusec;

//===----------------------------------------------------------------------===//
// Of one model, sizes and device
//===----------------------------------------------------------------------===//

[[noreturn]] static void failDifferent(const std::string &file,
                                       const std::string &what,
                                       const std::string &now,
                                       const std::string &before) {
  fail(ExitCode::Usage,
       fmt::format("--against: expected {} to be of {} '{}', got '{}'", file,
                   what, now, before));
}

/// "x f32, y f32"
static std::string listTypes(const std::vector<BoundTensor> &tensors) {
  std::string text;
  for (const BoundTensor &tensor : tensors)
    text += (text.empty() ? "" : ", ") + jsonText(tensor.name) + " " +
            std::string(format::dtypeName(tensor.dtype));
  return text;
}

static std::string describe(const BoundTensor &tensor) {
  return jsonText(tensor.name) + " " +
         data::tensorType(tensor.dtype, tensor.sizes);
}

static void checkTensors(const std::vector<BoundTensor> &before,
                         const std::vector<BoundTensor> &now,
                         const std::string &file, const std::string &what) {
  // Names went through JSON.
  if (listTypes(before) != listTypes(now))
    failDifferent(file, "a model with " + what, listTypes(now),
                  listTypes(before));
  for (size_t i = 0; i != now.size(); ++i)
    if (before[i].sizes != now[i].sizes)
      failDifferent(file, "sizes", describe(now[i]), describe(before[i]));
}

void fusec::checkComparable(const BenchResult &before, const BenchResult &now,
                            const std::string &file) {
  if (before.device != now.device)
    failDifferent(file, "device", now.device, before.device);
  checkTensors(before.inputs, now.inputs, file, "inputs");
  checkTensors(before.outputs, now.outputs, file, "outputs");
  auto getFlush = [](const BenchResult &result) {
    return result.isFlushed ? "a flushed cache" : "--no-flush";
  };
  // Files of old do not say what ids they had.
  auto getIds = [](const BenchResult &result) {
    return result.ids.empty() ? "inputs that are given" : "--ids=" + result.ids;
  };
  if (before.touched.all && now.touched.all && before.ids != now.ids)
    failDifferent(file, "runs with", getIds(now), getIds(before));
  if (before.isFlushed != now.isFlushed)
    failDifferent(file, "runs with", getFlush(now), getFlush(before));
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

/// The median of each `runs` samples; a rest counts with the last.
static std::vector<double> getRounds(const std::vector<double> &samples,
                                     unsigned runs) {
  std::vector<double> rounds;
  for (size_t i = 0; i + runs <= samples.size(); i += runs) {
    auto begin = samples.begin() + i;
    bool isLast = i + 2 * runs > samples.size();
    rounds.push_back(
        getPercentile({begin, isLast ? samples.end() : begin + runs}, 0.5));
  }
  return rounds;
}

Comparison fusec::compareTimes(const std::vector<double> &before,
                               const std::vector<double> &now, bool inTurn,
                               unsigned roundRuns) {
  size_t fewest = std::min(before.size(), now.size());
  if (fewest < leastRounds)
    fail(ExitCode::Usage,
         fmt::format("--against: expected {} runs or more of both, got {}\n"
                     "note: --runs and --seconds say how many",
                     leastRounds, fewest));
  unsigned runs = std::clamp<size_t>(fewest / leastRounds, 1, roundRuns);
  std::vector<double> a = getRounds(before, runs), b = getRounds(now, runs);
  if (inTurn) {
    size_t pairs = std::min(a.size(), b.size());
    a.resize(pairs);
    b.resize(pairs);
  }

  Comparison comparison;
  comparison.isInTurn = inTurn;
  comparison.rounds = std::min(a.size(), b.size());
  comparison.before = getPercentile(a, 0.5);
  comparison.now = getPercentile(b, 0.5);
  // Rounds in turn had the same clocks: each pair has a ratio of its own.
  std::vector<double> ratios;
  for (size_t i = 0; inTurn && i != a.size(); ++i)
    ratios.push_back(b[i] / a[i]);
  comparison.ratio =
      inTurn ? getPercentile(ratios, 0.5) : comparison.now / comparison.before;

  // The same samples give the same interval.
  std::mt19937_64 random(1);
  auto resample = [&](const std::vector<double> &from) {
    std::uniform_int_distribution<size_t> index(0, from.size() - 1);
    std::vector<double> drawn(from.size());
    for (double &value : drawn)
      value = from[index(random)];
    return getPercentile(std::move(drawn), 0.5);
  };
  std::vector<double> drawn(1000);
  for (double &ratio : drawn)
    ratio = inTurn ? resample(ratios) : resample(b) / resample(a);
  comparison.low = getPercentile(drawn, 0.025);
  comparison.high = getPercentile(drawn, 0.975);
  return comparison;
}

void Comparison::print(const std::string &file) const {
  llvm::outs() << fmt::format(
      "against {}{}: {:.4f} ms on the device, {:.4f} ms there; {:.3f} times as "
      "long, 95% between {:.3f} and {:.3f} of {} rounds\n",
      file, isInTurn ? ", in turn" : "", now, before, ratio, low, high, rounds);
  if (steps)
    printChanges(matchSteps(steps->before, steps->now));
}

llvm::json::Object Comparison::toJson(const std::string &file, double tolerance,
                                      const BenchResult &other) const {
  return llvm::json::Object{
      {"file", jsonText(file)},
      {"steps", steps ? llvm::json::Value(::fusec::toJson(
                            matchSteps(steps->before, steps->now)))
                      : llvm::json::Value(nullptr)},
      {"in_turn", isInTurn},
      {"rounds", rounds},
      {"before_ms", before},
      {"now_ms", now},
      {"ratio", ratio},
      {"low", low},
      {"high", high},
      {"noise", getNoise()},
      {"tolerance", tolerance},
      {"slower", isSlower(tolerance)},
      {"before_samples", llvm::json::Array(other.times.device)}};
}
