// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graphs of a session: when one is made, and when a run replays it.

#include "runtime/src/Session.h"

namespace fusec::rt {

namespace {
// Fewer are not worth a graph that nobody asked for.
constexpr size_t leastGraphLaunches = 2;
} // namespace

void Session::makeGraph(PreparedRun &run, int32_t mode) {
  bool required = mode == FUSEC_GRAPH_ON;
  if (mode == FUSEC_GRAPH_OFF || (run.graphRefused && !required))
    return;
  std::vector<ReadyLaunch *> launches;
  run.forEachLaunch(inputs, outputs,
                    [&](ReadyLaunch &launch) { launches.push_back(&launch); });
  if (launches.size() < (required ? 1 : leastGraphLaunches))
    return;
  if (run.graph && !run.graphRefused && run.graph->launches() == launches)
    return;
  run.graph.reset();
  try {
    if (!model().device().driver().hasGraphs)
      fail(FUSEC_UNSUPPORTED, "the driver has no CUDA graphs: expected "
                              "FUSEC_GRAPH_AUTO or FUSEC_GRAPH_OFF");
    run.graph = std::make_unique<Graph>(model(), std::move(launches), own);
    run.graphRefused = false;
  } catch (const Failure &) {
    run.graphRefused = true;
    if (required)
      throw;
  }
}

bool Session::replay(cuda::Stream stream) {
  Graph *graph = current->graph.get();
  if (!graph || current->graphRefused || graphMode == FUSEC_GRAPH_OFF)
    return false;
  // Tensors of another alignment may choose other kernels than the graph has.
  const std::vector<ReadyLaunch *> &launches = graph->launches();
  size_t count = 0;
  bool same = true;
  current->forEachLaunch(inputs, outputs, [&](ReadyLaunch &launch) {
    same = same && count < launches.size() && launches[count] == &launch;
    ++count;
  });
  if (!same || count != launches.size())
    return false;
  const cuda::Driver &driver = model().device().driver();
  int capture = cuda::CaptureNone;
  driver.check(driver.streamIsCapturing(stream, &capture),
               "cuStreamIsCapturing");
  if (capture != cuda::CaptureNone)
    return false;
  for (ReadyLaunch *launch : launches)
    patchAddresses(model(), *launch, inputs, outputs);
  if (cuda::Result result = graph->update()) {
    if (graphMode == FUSEC_GRAPH_ON)
      driver.check(result, "cuGraphExecKernelNodeSetParams");
    // Nothing is enqueued yet; some nodes may have the new addresses.
    current->graphRefused = true;
    return false;
  }
  graph->enqueue(stream);
  launched = uint32_t(count);
  return true;
}

} // namespace fusec::rt
