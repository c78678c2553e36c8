// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver's entry points of graphs, which a driver may lack.

#include "test/unit/runtime/FakeDriverParts.h"

#include <cstring>
#include <memory>

using namespace fusec::rt::cuda;

namespace {
struct FakeNode {
  FakeLaunch launch;
  Function function;
};
struct FakeGraph {
  std::vector<std::unique_ptr<FakeNode>> nodes;
};
struct FakeExec {
  FakeGraph *graph;
  std::map<const FakeNode *, FakeLaunch> changed; // what it launches
};
} // namespace

extern "C" {
Result cuStreamIsCapturing(Stream stream, int *status) {
  ENTER("cuStreamIsCapturing", true)
  *status = stream && stream == state().capturing ? 1 : CaptureNone;
  return success;
}
Result cuGraphCreate(Graph *graph, unsigned) {
  ENTER("cuGraphCreate", false)
  *graph = reinterpret_cast<Graph>(new FakeGraph);
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveGraphs;
  return success;
}
Result cuGraphDestroy(Graph graph) {
  delete reinterpret_cast<FakeGraph *>(graph);
  std::lock_guard<std::mutex> lock(state().mutex);
  --state().liveGraphs;
  return success;
}
// Only chains: a node depends on the one added before it, or will be made to by
// cuGraphAddDependencies.
Result cuGraphAddKernelNode_v2(GraphNode *node, Graph graph,
                               const GraphNode *dependencies, size_t count,
                               const KernelNodeParams *params) {
  ENTER("cuGraphAddKernelNode", true)
  auto &nodes = reinterpret_cast<FakeGraph *>(graph)->nodes;
  bool chained = count == 0
                     ? true
                     : count == 1 && !nodes.empty() &&
                           reinterpret_cast<FakeNode *>(dependencies[0]) ==
                               nodes.back().get();
  auto made = std::make_unique<FakeNode>();
  if (!chained ||
      readLaunch(params->grid, params->block, params->sharedBytes,
                 params->function, params->params, params->extra, made->launch))
    return invalidValue;
  made->function = params->function;
  *node = reinterpret_cast<GraphNode>(made.get());
  nodes.push_back(std::move(made));
  return success;
}
Result cuGraphAddDependencies_v2(Graph graph, const GraphNode *from,
                                 const GraphNode *to, const GraphEdge *edges,
                                 size_t count) {
  ENTER("cuGraphAddDependencies", true)
  auto &nodes = reinterpret_cast<FakeGraph *>(graph)->nodes;
  auto at = [&](size_t back) {
    return reinterpret_cast<GraphNode>(nodes.end()[-long(back)].get());
  };
  if (count != 1 || nodes.size() < 2 || *from != at(2) || *to != at(1) ||
      edges->fromPort != 1 || edges->toPort != 0 || edges->type != 1)
    return invalidValue;
  nodes.back()->launch.pdl = true;
  return success;
}
Result cuGraphKernelNodeSetAttribute(GraphNode node, int attribute,
                                     const LaunchAttributeValue *value) {
  ENTER("cuGraphKernelNodeSetAttribute", true)
  FakeLaunch &launch = reinterpret_cast<FakeNode *>(node)->launch;
  if (attribute == LaunchCooperative)
    launch.cooperative = value->cooperative != 0;
  else if (attribute == LaunchClusterDimension)
    std::memcpy(launch.cluster.data(), value->clusterDim,
                sizeof(launch.cluster));
  else
    return invalidValue;
  return success;
}
Result cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph,
                                   unsigned long long) {
  ENTER("cuGraphInstantiate", true)
  auto made = std::make_unique<FakeExec>();
  made->graph = reinterpret_cast<FakeGraph *>(graph);
  for (const auto &node : made->graph->nodes)
    made->changed[node.get()] = node->launch;
  *exec = reinterpret_cast<GraphExec>(made.release());
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().liveGraphExecs;
  return success;
}
Result cuGraphExecDestroy(GraphExec exec) {
  delete reinterpret_cast<FakeExec *>(exec);
  std::lock_guard<std::mutex> lock(state().mutex);
  --state().liveGraphExecs;
  return success;
}
// Attributes are the node's: an update leaves them.
Result cuGraphExecKernelNodeSetParams_v2(GraphExec exec, GraphNode node,
                                         const KernelNodeParams *params) {
  ENTER("cuGraphExecKernelNodeSetParams", true)
  const FakeNode *updated = reinterpret_cast<FakeNode *>(node);
  if (params->function != updated->function)
    return invalidValue;
  FakeLaunch given = {};
  if (readLaunch(params->grid, params->block, params->sharedBytes,
                 params->function, params->params, params->extra, given))
    return invalidValue;
  reinterpret_cast<FakeExec *>(exec)->changed.at(updated).params =
      std::move(given.params);
  return success;
}
Result cuGraphUpload(GraphExec, Stream) {
  ENTER("cuGraphUpload", true)
  return success;
}
Result cuGraphLaunch(GraphExec handle, Stream stream) {
  ENTER("cuGraphLaunch", true)
  if (!state().record)
    return success;
  FakeExec *exec = reinterpret_cast<FakeExec *>(handle);
  for (const auto &node : exec->graph->nodes) {
    FakeLaunch launch = exec->changed.at(node.get());
    launch.stream = stream;
    launch.replayed = true;
    execute(std::move(launch));
  }
  return success;
}
}
