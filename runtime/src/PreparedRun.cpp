// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping the runs used last.

#include "runtime/src/PreparedRun.h"

#include <algorithm>

namespace fusec::rt {

PreparedRun *PreparedRuns::find(const DimValues &dims, uint64_t arena) {
  auto found =
      std::find_if(runs.begin(), runs.end(), [&](const PreparedRun &run) {
        return run.arena == arena && run.dims == dims;
      });
  if (found == runs.end())
    return nullptr;
  runs.splice(runs.begin(), runs, found);
  return &runs.front();
}

PreparedRun &PreparedRuns::add(PreparedRun run) {
  runs.push_front(std::move(run));
  if (runs.size() > capacity)
    runs.pop_back();
  return runs.front();
}

void PreparedRuns::drop(uint64_t arena) {
  runs.remove_if([&](const PreparedRun &run) { return run.arena == arena; });
}

} // namespace fusec::rt
