// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/BenchAgainst.h"
#include "tools/data/Tensor.h"
#include "tools/fusec/Failure.h"
#include "tools/fusec/Json.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <random>

using namespace fusec;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace fusec {
static bool fromJSON(const llvm::json::Value &value, BoundTensor &tensor,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  std::string dtype;
  if (!map || !map.map("name", tensor.name) || !map.map("dtype", dtype) ||
      !map.map("sizes", tensor.sizes))
    return false;
  std::optional<format::DType> known = format::parseDType(dtype);
  if (!known)
    path.field("dtype").report("expected a type's name");
  else
    tensor.dtype = *known;
  return known.has_value();
}

static bool fromJSON(const llvm::json::Value &value, Times &times,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  return map && map.map("samples", times.device);
}

static bool fromJSON(const llvm::json::Value &value, BenchResult &result,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  return map && map.map("device", result.device) &&
         map.map("flushed", result.isFlushed) &&
         map.map("inputs", result.inputs) &&
         map.map("outputs", result.outputs) &&
         map.map("device_ms", result.times);
}
} // namespace fusec

BenchResult fusec::readBench(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    failUnreadable(file + ": cannot be read: " + buffer.getError().message());
  llvm::Expected<llvm::json::Value> value =
      llvm::json::parse((*buffer)->getBuffer());
  if (!value)
    failMalformed(file +
                  ": expected what `fusec bench --json` writes, or a "
                  "bundle: " +
                  llvm::toString(value.takeError()));
  llvm::json::Path::Root root(file);
  std::string command;
  std::optional<BenchResult> result;
  llvm::json::ObjectMapper map(*value, root);
  if (!map || !map.map("command", command))
    failMalformed(llvm::toString(root.getError()));
  if (command == "bench" && !map.map("result", result))
    failMalformed(llvm::toString(root.getError()));
  if (command != "bench" || !result)
    failMalformed(
        file + ": expected the result of `fusec bench --json`, got " +
        (command != "bench" ? "that of '" + command + "'" : "an error of it"));
  for (double time : result->times.device)
    if (!(time > 0))
      failMalformed(file + ": expected samples above 0");
  return std::move(*result);
}

//===----------------------------------------------------------------------===//
// Of one model, sizes and device
//===----------------------------------------------------------------------===//

[[noreturn]] static void failDifferent(const std::string &file,
                                       const std::string &what,
                                       const std::string &now,
                                       const std::string &before) {
  fail(ExitCode::Usage, "--against: expected " + file + " to be of " + what +
                            " '" + now + "', got '" + before + "'");
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
         llvm::formatv("--against: expected {0} runs or more of both, got "
                       "{1}\nnote: --runs and --seconds say how many",
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
  llvm::outs() << llvm::formatv(
      "against {0}{1}: {2:f4} ms on the device, {3:f4} ms there; {4:f3} times "
      "as long, 95% between {5:f3} and {6:f3} of {7} rounds\n",
      file, isInTurn ? ", in turn" : "", now, before, ratio, low, high, rounds);
}

llvm::json::Object Comparison::toJson(const std::string &file, double tolerance,
                                      const BenchResult &other) const {
  return llvm::json::Object{
      {"file", jsonText(file)},
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
