// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Building and replaying CUDA graphs.

#include "runtime/src/Graph.h"

#include <cstring>

namespace fusec::rt {

namespace {
cuda::KernelNodeParams nodeParams(const ReadyLaunch &ready,
                                  ParamBlock &params) {
  const format::Launch &launch = *ready.launch;
  return {ready.function,
          {ready.grid[0], ready.grid[1], ready.grid[2]},
          {launch.block[0], launch.block[1], launch.block[2]},
          launch.smem,
          params.params,
          params.block(),
          nullptr,
          nullptr};
}
} // namespace

Graph::Graph(const Model &model, std::vector<ReadyLaunch *> launches,
             const OwnStream &uploads)
    : model(model), theLaunches(std::move(launches)) {
  const cuda::Driver &driver = model.device().driver();
  try {
    build();
    driver.check(driver.graphInstantiate(&exec, graph, 0),
                 "cuGraphInstantiate");
    // So that the first replay need not.
    driver.check(driver.graphUpload(exec, uploads.stream()), "cuGraphUpload");
    uploads.synchronize("uploading a graph");
  } catch (...) {
    destroy();
    throw;
  }
}

void Graph::build() {
  const cuda::Driver &driver = model.device().driver();
  driver.check(driver.graphCreate(&graph, 0), "cuGraphCreate");
  for (ReadyLaunch *ready : theLaunches) {
    ParamBlock block(*ready);
    cuda::KernelNodeParams params = nodeParams(*ready, block);
    cuda::GraphNode node = nullptr;
    const cuda::GraphNode *before = nodes.empty() ? nullptr : &nodes.back();
    bool isEarly = before && driver.graphAddDependencies &&
                   startsEarly(model, *ready->launch);
    cuda::Result result = driver.graphAddKernelNode(
        &node, graph, isEarly ? nullptr : before, before && !isEarly, &params);
    if (result == cuda::success && isEarly)
      result = driver.graphAddDependencies(graph, before, &node,
                                           &cuda::programmaticEdge, 1);
    if (result != cuda::success)
      driver.check(result, "adding " + launchText(*ready) + " to a graph");
    nodes.push_back(node);
    if (ready->hasCluster()) {
      cuda::LaunchAttributeValue value = {};
      std::memcpy(value.clusterDim, ready->launch->cluster.data(),
                  sizeof(ready->launch->cluster));
      driver.check(driver.graphKernelNodeSetAttribute(
                       node, cuda::LaunchClusterDimension, &value),
                   "cuGraphKernelNodeSetAttribute");
    }
    if (ready->launch->cooperative) {
      cuda::LaunchAttributeValue value = {};
      value.cooperative = 1;
      driver.check(driver.graphKernelNodeSetAttribute(
                       node, cuda::LaunchCooperative, &value),
                   "cuGraphKernelNodeSetAttribute");
    }
    ready->stale = false;
  }
}

cuda::Result Graph::update() {
  const cuda::Driver &driver = model.device().driver();
  for (size_t i = 0; i != nodes.size(); ++i) {
    ReadyLaunch &ready = *theLaunches[i];
    if (!ready.stale)
      continue;
    ParamBlock block(ready);
    cuda::KernelNodeParams params = nodeParams(ready, block);
    cuda::Result result =
        driver.graphExecKernelNodeSetParams(exec, nodes[i], &params);
    if (result != cuda::success)
      return result;
    ready.stale = false;
  }
  return cuda::success;
}

void Graph::enqueue(cuda::Stream stream) {
  const cuda::Driver &driver = model.device().driver();
  driver.check(driver.graphLaunch(exec, stream), "cuGraphLaunch");
}

void Graph::destroy() {
  const cuda::Driver &driver = model.device().driver();
  if (exec)
    driver.graphExecDestroy(exec);
  if (graph)
    driver.graphDestroy(graph);
}

Graph::~Graph() {
  try {
    SetUpScope scope(model.device());
    destroy();
  } catch (const Failure &) {
    // The context is gone, and its graphs with it.
  }
}

} // namespace fusec::rt
