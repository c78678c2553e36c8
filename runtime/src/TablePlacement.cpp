// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/src/TablePlacement.h"

#include "runtime/format/AlignUp.h"
#include "runtime/src/Dims.h"
#include "runtime/src/Failure.h"
#include "runtime/src/NamedWeights.h"
#include "runtime/src/SplitMemory.h"

#include <algorithm>
#include <tuple>

namespace fusec::rt {

namespace {
// The bytes of one range of the file, which some weights may share.
struct Range {
  uint64_t size = 0, onDevice = 0;
  bool isTable = true, isGiven = false;
};
using Ranges = std::map<std::tuple<unsigned, uint64_t, uint64_t>, Range>;

auto keyOf(const format::Weight &weight) {
  return std::tuple(weight.section, weight.offset, weight.size);
}

void takeGivenRows(const format::Plan &plan, const MemoryBudget &budget,
                   Ranges &ranges) {
  NamedWeights tables(
      plan, "table", [](const format::Weight &weight) { return weight.table; },
      /*hasOption=*/false);
  for (const auto &[name, rows] : budget.rows) {
    const format::Weight &weight =
        plan.weights[tables.weight(tables.find(name))];
    if (rows < 0 || rows > weight.sizes[0])
      fail(FUSEC_INVALID_ARGUMENT, "table '" + name + "': expected 0 to " +
                                       std::to_string(weight.sizes[0]) +
                                       " rows on the device, found " +
                                       std::to_string(rows));
    Range &range = ranges.at(keyOf(weight));
    uint64_t rowBytes =
        weight.sizes[0] == 0 ? 0 : weight.size / uint64_t(weight.sizes[0]);
    range.isGiven = true;
    range.onDevice = std::max(
        range.onDevice,
        std::min(weight.size, format::alignUp(uint64_t(rows) * rowBytes,
                                              SplitMemory::pageBytes)));
  }
}

// Gives the smallest first what they need, then all others the same.
void share(std::vector<Range *> tables, uint64_t bytes) {
  std::sort(tables.begin(), tables.end(),
            [](const Range *a, const Range *b) { return a->size < b->size; });
  for (size_t i = 0; i != tables.size(); ++i) {
    uint64_t each = bytes / (tables.size() - i);
    tables[i]->onDevice =
        tables[i]->size <= each
            ? tables[i]->size
            : each / SplitMemory::pageBytes * SplitMemory::pageBytes;
    bytes -= format::alignUp(tables[i]->onDevice, arenaAlignment);
  }
}
} // namespace

std::vector<uint64_t> placeWeights(const format::Plan &plan,
                                   const MemoryBudget &budget) {
  Ranges ranges;
  for (const format::Weight &weight : plan.weights) {
    Range &range = ranges[keyOf(weight)];
    range.size = range.onDevice = weight.size;
    range.isTable &= weight.table && weight.size != 0;
  }
  uint64_t all = 0, needed = 0;
  std::vector<Range *> tables;
  for (auto &[key, range] : ranges) {
    uint64_t size = format::alignUp(range.size, arenaAlignment);
    all += size;
    needed += range.isTable ? 0 : size;
    if (range.isTable)
      range.onDevice = 0;
  }
  bool fits = budget.deviceBytes == 0 || all <= budget.deviceBytes;
  takeGivenRows(plan, budget, ranges);
  for (auto &[key, range] : ranges) {
    if (range.isTable && range.isGiven)
      needed += format::alignUp(range.onDevice, arenaAlignment);
    else if (range.isTable && fits)
      range.onDevice = range.size;
    else if (range.isTable)
      tables.push_back(&range);
  }
  if (budget.deviceBytes != 0 && needed > budget.deviceBytes)
    fail(FUSEC_OUT_OF_MEMORY,
         "the weights need at least " + std::to_string(needed) +
             " bytes of device memory, those that are no tables and the rows "
             "asked for; the budget is " +
             std::to_string(budget.deviceBytes));
  if (!fits)
    share(tables, budget.deviceBytes - needed);
  std::vector<uint64_t> placed;
  for (const format::Weight &weight : plan.weights)
    placed.push_back(ranges.at(keyOf(weight)).onDevice);
  return placed;
}

} // namespace fusec::rt
