# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch: as written, compiled, compiled with its search; also as CUDA graphs."""

import time

import torch

from peers import Contender, spoil


class Replay:
    """A graph, and what it reads and writes: it holds addresses alone, so that memory
    that nobody else holds would be given to others."""

    def __init__(self, graph, contender, output):
        self.graph, self.contender, self.output = graph, contender, output

    def __call__(self):
        self.graph.replay()
        return self.output


def capture(contender):
    """The same work as one graph: what it costs without its launches' gaps."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            contender.run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = contender.run()
    return Contender(Replay(graph, contender, output), poison=lambda: spoil(output))


def makeEager(setting):
    return Contender(lambda: setting.module(*setting.inputs))


def makeEagerGraph(setting):
    return capture(setting.made["eager"])


def makeCompiled(setting, mode=None):
    start = time.monotonic()
    compiled = torch.compile(setting.module, fullgraph=True, dynamic=False, mode=mode)
    compiled(*setting.inputs)
    torch.cuda.synchronize()
    return Contender(lambda: compiled(*setting.inputs),
                     {"compile_s": time.monotonic() - start})


def makeCompiledGraph(setting):
    return capture(setting.made["compile"])


def makeAutotuned(setting):
    """Without graphs of its own, into which it would copy its inputs."""
    return makeCompiled(setting, "max-autotune-no-cudagraphs")


def makeAutotunedGraph(setting):
    return capture(setting.made["autotune"])
