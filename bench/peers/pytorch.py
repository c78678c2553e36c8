# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch: as written, compiled, compiled with its search; also as CUDA graphs."""

import time

import torch

from peers import Contender, spoil


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

    def run():
        graph.replay()
        return output

    return Contender(run, poison=lambda: spoil(output))


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
    contender = makeCompiled(setting, "max-autotune")
    compiled = contender.run

    def run():
        torch.compiler.cudagraph_mark_step_begin()
        return compiled()

    contender.run = run
    for _ in range(3):  # records its graph
        run()
    return contender
