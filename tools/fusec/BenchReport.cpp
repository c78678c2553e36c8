// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/BenchReport.h"
#include "tools/fusec/Json.h"
#include "tools/support/Table.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>

using namespace fusec;

double StartTimes::getOwn() const {
  return load.check + load.code + load.weights + load.hash + prepare + firstRun;
}

double fusec::getPercentile(std::vector<double> values, double part) {
  size_t index =
      std::min<size_t>(values.size() - 1, std::floor(part * values.size()));
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[index];
}

double fusec::getMean(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

double BenchResult::getRunsPerSecond() const {
  return 1000 / getMean(times.device);
}

std::optional<int64_t> BenchResult::getRows() const {
  if (inputs.empty() || inputs[0].sizes.empty())
    return std::nullopt;
  return inputs[0].sizes[0];
}

std::optional<double> BenchResult::getRowsPerSecond() const {
  std::optional<int64_t> rows = getRows();
  if (!rows)
    return std::nullopt;
  return getRunsPerSecond() * double(*rows);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printOnce(const StartTimes &once) {
  Table table({{"once"}, {"ms", Table::Align::Right}});
  auto add = [&](const char *name, double value) {
    table.row({name, fmt::format("{:.2f}", value)});
  };
  add("driver: its library, cuInit", once.driver);
  add("context", once.context);
  add("load: check the bundle", once.load.check);
  add("load: code", once.load.code);
  add("load: weights", once.load.weights);
  add("load: the rest of the weights' hash", once.load.hash);
  add("session, prepare", once.prepare);
  add("first run", once.firstRun);
  llvm::outs() << table.str()
               << fmt::format("load and first run beyond the driver's own "
                              "initialisation: {:.2f} ms\n",
                              once.getOwn());
}

static void printSizeTimes(const BenchResult &result) {
  using Align = Table::Align;
  Table table({{"new sizes, ms"},
               {"bind", Align::Right},
               {"prepare", Align::Right},
               {"next run", Align::Right}});
  auto add = [&](const char *name, const SizeTimes &times) {
    std::vector<std::string> row = {name};
    for (double value : {times.bind, times.prepare, times.run})
      row.push_back(fmt::format("{:.4f}", value));
    table.row(std::move(row));
  };
  add("the first time", result.first);
  add("again", result.again);
  llvm::outs() << table.str() << "arena: " << formatBytes(result.arena) << "\n";
}

static void addRow(Table &table, const char *name,
                   const std::vector<double> &values) {
  std::vector<std::string> row = {name};
  for (double value : {*std::min_element(values.begin(), values.end()),
                       getMean(values), getPercentile(values, 0.5),
                       getPercentile(values, 0.9), getPercentile(values, 0.99)})
    row.push_back(fmt::format("{:.4f}", value));
  table.row(std::move(row));
}

void BenchResult::print() const {
  llvm::outs() << device << ", plan " << target << ", " << launches
               << " kernels "
               << (isReplayed ? "in a CUDA graph, " : "launched one by one, ")
               << times.device.size() << " runs"
               << (isFlushed ? ", cache flushed before each" : "") << "\n";
  using Align = Table::Align;
  Table table({{"ms"},
               {"min", Align::Right},
               {"mean", Align::Right},
               {"median", Align::Right},
               {"p90", Align::Right},
               {"p99", Align::Right}});
  addRow(table, "device", times.device);
  addRow(table, "enqueue", times.host);
  llvm::outs() << table.str()
               << fmt::format("throughput: {:.1f} runs/s", getRunsPerSecond());
  if (std::optional<double> rows = getRowsPerSecond())
    llvm::outs() << fmt::format(", {:.0f} rows/s", *rows);
  llvm::outs() << "\n";
  if (touched.all)
    llvm::outs() << describeIds(ids, touched) << "\n";
  if (deviceTableBytes != tableBytes)
    llvm::outs() << "tables: " << formatBytes(deviceTableBytes) << " of "
                 << formatBytes(tableBytes) << " on the device\n";
  printSizeTimes(*this);
  clocks.print();
  printOnce(once);
  for (const std::string &text : getAdvice())
    llvm::outs() << "advice: " << text << "\n";
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Object toJson(const BoundTensor &tensor) {
  return llvm::json::Object{
      {"name", jsonText(tensor.name)},
      {"dtype", llvm::StringRef(format::dtypeName(tensor.dtype))},
      {"sizes", llvm::json::Array(tensor.sizes)}};
}

llvm::json::Object fusec::samplesJson(const std::vector<double> &values) {
  return llvm::json::Object{
      {"min", jsonNumber(*std::min_element(values.begin(), values.end()))},
      {"mean", jsonNumber(getMean(values))},
      {"p10", jsonNumber(getPercentile(values, 0.1))},
      {"median", jsonNumber(getPercentile(values, 0.5))},
      {"p90", jsonNumber(getPercentile(values, 0.9))},
      {"p99", jsonNumber(getPercentile(values, 0.99))},
      {"samples", jsonArray(values, jsonNumber)}};
}

static llvm::json::Object toJson(const StartTimes &once) {
  return llvm::json::Object{{"driver", once.driver},
                            {"context", once.context},
                            {"load_check", once.load.check},
                            {"load_code", once.load.code},
                            {"load_weights", once.load.weights},
                            {"load_hash", once.load.hash},
                            {"prepare", once.prepare},
                            {"first_run", once.firstRun},
                            {"own", once.getOwn()}};
}

static llvm::json::Object toJson(const SizeTimes &times) {
  return llvm::json::Object{
      {"bind", times.bind}, {"prepare", times.prepare}, {"run", times.run}};
}

llvm::json::Object BenchResult::toJson() const {
  auto convert = [](const auto &value) { return ::toJson(value); };
  std::optional<double> rows = getRowsPerSecond();
  return llvm::json::Object{
      {"device", jsonText(device)},
      {"target", target},
      {"options", jsonMap(options)},
      {"dims", jsonMap(sizes)},
      {"inputs", jsonArray(inputs, convert)},
      {"outputs", jsonArray(outputs, convert)},
      {"ids", idsJson(ids, touched)},
      {"table_bytes", tableBytes},
      {"device_table_bytes", deviceTableBytes},
      {"launches", launches},
      {"graph", isReplayed},
      {"flushed", isFlushed},
      {"warm_up", warmUp},
      {"runs", times.device.size()},
      {"device_ms", samplesJson(times.device)},
      {"host_ms", samplesJson(times.host)},
      {"runs_per_second", jsonNumber(getRunsPerSecond())},
      {"rows_per_second",
       rows ? jsonNumber(*rows) : llvm::json::Value(nullptr)},
      {"once_ms", ::toJson(once)},
      {"new_sizes_ms", llvm::json::Object{{"first", ::toJson(first)},
                                          {"again", ::toJson(again)}}},
      {"arena_bytes", arena},
      {"clocks", clocks.toJson()},
      {"advice", jsonTexts(getAdvice())}};
}
