// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is made once for given dimensions and a given arena, and kept while a
// session keeps coming back to them.

#ifndef FUSEC_RUNTIME_SRC_PREPAREDRUN_H
#define FUSEC_RUNTIME_SRC_PREPAREDRUN_H

#include "runtime/src/Graph.h"

#include <list>
#include <memory>

namespace fusec::rt {

struct PreparedRun {
  DimValues dims;
  uint64_t arena = 0;      // address
  uint64_t arenaBytes = 0; // in use
  std::vector<std::vector<int64_t>> inputSizes, outputSizes;
  std::vector<ReadyStep> steps;
  // Of the variants chosen when it was made; null where there is none.
  std::unique_ptr<Graph> graph;
  // The driver refused a call for a graph; launches are enqueued one by one.
  bool graphRefused = false;

  // The launches that these tensors choose, but for empty ones.
  template <typename Visit>
  void forEachLaunch(const std::vector<BoundTensor> &inputs,
                     const std::vector<BoundTensor> &outputs, Visit visit) {
    for (ReadyStep &step : steps)
      for (ReadyLaunch &launch :
           step[chooseVariant(step, inputs, outputs)].launches)
        if (!launch.empty())
          visit(launch);
  }
};

// The runs used last, the last one first.
class PreparedRuns {
public:
  // Graphs keep device memory, some KiB a launch.
  static constexpr size_t capacity = 16;

  // Null where there is none for these dimensions in this arena.
  PreparedRun *find(const DimValues &dims, uint64_t arena);
  // Drops the one not used for longest where there are too many.
  PreparedRun &add(PreparedRun run);
  // Drops those in an arena that goes away.
  void drop(uint64_t arena);

private:
  std::list<PreparedRun> runs; // what points to a run must stay good
};

} // namespace fusec::rt

#endif
