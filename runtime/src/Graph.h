// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The launches of a run as a CUDA graph: built node by node, one after the
// other, and replayed with the parameter blocks that the launches have then.

#ifndef FUSEC_RUNTIME_SRC_GRAPH_H
#define FUSEC_RUNTIME_SRC_GRAPH_H

#include "runtime/src/Launches.h"

namespace fusec::rt {

class Graph {
public:
  // Builds, instantiates and uploads a graph of launches whose grids are not
  // empty; they must outlive it where they are. Throws Failure naming the call
  // that the driver refuses. Needs a SetUpScope.
  Graph(const Model &model, std::vector<ReadyLaunch *> launches,
        const OwnStream &uploads);
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  const std::vector<ReadyLaunch *> &launches() const { return theLaunches; }
  // Gives the parameter blocks that have changed to their nodes. What is in
  // flight keeps those it was enqueued with. Allocates nothing. Needs a
  // ContextScope.
  cuda::Result update();
  // Throws Failure. Allocates nothing unless it fails. Needs a ContextScope.
  void enqueue(cuda::Stream stream);

private:
  void build();
  void destroy();

  const Model &model;
  std::vector<ReadyLaunch *> theLaunches;
  std::vector<cuda::GraphNode> nodes; // one a launch
  cuda::Graph graph = nullptr;
  cuda::GraphExec exec = nullptr;
};

} // namespace fusec::rt

#endif
