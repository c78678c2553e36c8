// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/Sweep.h"
#include "runtime/format/Printable.h"
#include "tools/fusec/Json.h"
#include "tools/support/Table.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/core.h>

using namespace fusec;

std::vector<NamedSizes> fusec::combine(const std::vector<SizeList> &lists,
                                       const NamedSizes &others) {
  std::vector<NamedSizes> all = {others};
  for (const SizeList &list : lists) {
    std::vector<NamedSizes> longer;
    for (const NamedSizes &before : all)
      for (int64_t size : list.sizes)
        (longer.emplace_back(before))[list.name] = size;
    all = std::move(longer);
  }
  return all;
}

bool Sweep::hasIds() const {
  return llvm::any_of(results, [&](const BenchResult &result) {
    return result.ids != results.front().ids;
  });
}

void Sweep::print() const {
  const BenchResult &one = results.front();
  llvm::outs() << one.device << ", plan " << one.target
               << (one.isFlushed ? ", cache flushed before each run" : "")
               << "; ms:\n";
  std::vector<Table::Column> columns;
  for (const std::string &name : names)
    columns.push_back({format::printable(name), Table::Align::Right});
  if (hasIds())
    columns.push_back({"ids", Table::Align::Right});
  for (const char *title :
       {"SM MHz", "runs", "p10", "median", "p90", "enqueue", "rows/s",
        "kernels", "bind", "prepare", "again", "arena"})
    columns.push_back({title, Table::Align::Right});
  Table table(std::move(columns));
  auto number = [](double value) { return fmt::format("{:.4f}", value); };
  for (const BenchResult &result : results) {
    std::vector<std::string> row;
    for (const std::string &name : names)
      row.push_back(std::to_string(result.sizes.at(name)));
    if (hasIds())
      row.push_back(result.ids);
    row.push_back(
        result.clocks.sm.empty()
            ? "-"
            : fmt::format("{:.0f}", getPercentile(result.clocks.sm, 0.5)));
    row.push_back(std::to_string(result.times.device.size()));
    for (double part : {0.1, 0.5, 0.9})
      row.push_back(number(getPercentile(result.times.device, part)));
    row.push_back(number(getPercentile(result.times.host, 0.5)));
    std::optional<double> rows = result.getRowsPerSecond();
    row.push_back(rows ? fmt::format("{:.0f}", *rows) : "-");
    row.push_back(fmt::format("{}{}", result.launches,
                              result.isReplayed ? " in a graph" : ""));
    for (double value :
         {result.first.bind, result.first.prepare, result.again.prepare})
      row.push_back(number(value));
    row.push_back(formatBytes(result.arena));
    table.row(std::move(row));
  }
  llvm::outs() << table.str()
               << "bind, prepare: of a session that meets these sizes for the "
                  "first time; again: prepare, when it does so again\n";
  for (const BenchResult &result : results)
    for (const std::string &text : result.getAdvice()) {
      std::string which;
      for (const std::string &name : names)
        which += fmt::format("{}{} {}", which.empty() ? "" : ", ",
                             format::printable(name), result.sizes.at(name));
      if (hasIds())
        which += (which.empty() ? "" : ", ") + result.ids;
      llvm::outs() << "advice for " << which << ": " << text << "\n";
    }
}

llvm::json::Object Sweep::toJson() const {
  return llvm::json::Object{
      {"sweep", jsonArray(results, [](const BenchResult &result) {
         return result.toJson();
       })}};
}
