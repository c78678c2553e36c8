#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the layers that the benchmark measures, for sm_90a.

Of those whose kernels have the same schedules, types and epilogue the first one: sizes alone
make no other code.

No schedule that the cost model chose may spill registers or have ptxas put its
wgmma instructions in turn: the next one then runs instead, right but slower,
which no other test would see. Nor may ptxas move what reads a product above the
wait for it (wgmma_order.py). Needs NVRTC and nvdisasm, and no device.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
import workloads  # noqa: E402
import wgmma_order  # noqa: E402

TYPES = {"fp32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
WEIGHTS = "weights.bin"
# Larger weights take the tiles of these and seconds to write.
MOST_WEIGHTS = 8192 * 8192


class Graph:
    """A model of one input `x`; all of its weights lie at the start of one file."""

    def __init__(self, dtype, m, k):
        self.dtype, self.nodes, self.weights = TYPES[dtype], [], []
        self.x = helper.make_tensor_value_info("x", self.dtype, [m, k])

    def op(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weight(self, *shape):
        size = helper.tensor_dtype_to_np_dtype(self.dtype).itemsize
        tensor = TensorProto(name=f"w{len(self.weights)}", data_type=self.dtype, dims=shape,
                             data_location=TensorProto.EXTERNAL)
        # At places of their own: equal weights would be one.
        places = {"location": WEIGHTS, "offset": 4096 * len(self.weights),
                  "length": int(numpy.prod(shape)) * size}
        for key, value in places.items():
            tensor.external_data.add(key=key, value=str(value))
        self.weights.append(tensor)
        return tensor.name

    def linear(self, x, k, n, bias=True):
        """As PyTorch's linear layer, whose weight is N x K."""
        return self.op("Gemm", x, self.weight(n, k), *([self.weight(n)] if bias else []), transB=1)

    def save(self, path, y, n):
        m = self.x.type.tensor_type.shape.dim[0].dim_value
        y = self.op("Identity", y)
        output = helper.make_tensor_value_info(y, self.dtype, [m, n])
        graph = helper.make_graph(self.nodes, "layer", [self.x], [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        path.write_bytes(model.SerializeToString())


def writeWeights(folder):
    # Pairs of them are finite as fp32, too.
    values = numpy.random.default_rng(0).standard_normal(999983).astype(numpy.float16)
    numpy.resize(values, 2 * MOST_WEIGHTS + (1 << 20)).tofile(folder / WEIGHTS)


def linear(graph, m, k, n, activation):
    del m
    y = graph.linear("x", k, n)
    return graph.op("Relu", y) if activation == "relu" else graph.op("Gelu", y, approximate="tanh")


def swiglu(graph, m, k, n):
    del m
    gate, up = graph.linear("x", k, n, bias=False), graph.linear("x", k, n, bias=False)
    return graph.op("Mul", graph.op("Mul", gate, graph.op("Sigmoid", gate)), up)


def gating(graph, m, k, n):
    del m
    first, second = (graph.op("Add", graph.op("MatMul", "x", graph.weight(k, n)), graph.weight(n))
                     for _ in range(2))
    return graph.op("Mul", graph.op("Sigmoid", first), second)


def loraLayer(graph, m, k, n, rank):
    del m
    a, b = graph.weight(k, rank), graph.weight(rank, n)
    update = graph.op("MatMul", graph.op("MatMul", "x", a), b)
    return graph.op("Relu", graph.op("Add", graph.linear("x", k, n), update))


KINDS = {"linear": linear, "swiglu": swiglu, "gating": gating, "lora_layer": loraLayer}


def chooseLayers():
    return [workload for workload in workloads.WORKLOADS.values() if workload.kind in KINDS and
            workload.sizes["k"] * workload.sizes["n"] <= MOST_WEIGHTS]


def findDisassembler():
    """That of the test's Python, else the one on the PATH."""
    here = sorted(pathlib.Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/bin/nvdisasm"))
    return here[-1] if here else shutil.which("nvdisasm")


def run(*command):
    """(what it printed, what went wrong)."""
    done = subprocess.run(command, capture_output=True, text=True)
    problem = f"{command[0]}: status {done.returncode}: {done.stderr.strip()}"
    return done.stdout, problem if done.returncode else ""


def findEarlyUses(tools, bundle, images):
    """Of the kernels that read by tensor map: no others have wgmma instructions."""
    fusec, disassembler = tools
    text, problem = run(fusec, "inspect", bundle, "--json", "--images", images)
    if problem:
        return problem
    launches = [launch for step in json.loads(text)["result"]["manifest"]["plans"][0]["steps"]
                for variant in step["variants"] for launch in variant["launches"]]
    for launch in launches:
        if all(parameter["kind"] != "tensor_map" for parameter in launch["params"]):
            continue
        listing, problem = run(disassembler, "-c", images / f"{launch['symbol']}.sm_90a.cubin")
        if problem:
            return problem
        if early := wgmma_order.findEarlyUses(listing):
            return f"{launch['symbol']} does not wait for a product before: {'; '.join(early[:3])}"
    return ""


def writeLayer(folder, layer):
    """The layer's model, and the options that it is measured with."""
    model = folder / f"{layer.name}.onnx"
    graph = Graph(layer.dtype, layer.sizes["m"], layer.sizes["k"])
    graph.save(model, KINDS[layer.kind](graph, **layer.sizes), layer.sizes["n"])
    return model, ("--precision=tf32",) if layer.dtype == "fp32" and not layer.isExact else ()


def describeKernels(fusec, folder, layer):
    """What its kernels' code follows from, but for sizes: (that, what went wrong)."""
    model, options = writeLayer(folder, layer)
    plan, problem = run(fusec, "compile", model, "--emit=planned", "--arch=sm_90a", "--quiet",
                        *options)
    schedules = [re.sub(r", blocks = \d+", "", schedule)
                 for schedule in re.findall(r"(\w+_schedule<[^>]*>) launch", plan)]
    kind = layer.kind, layer.dtype, layer.isExact, layer.sizes.get("activation")
    return (*kind, *schedules), problem


def chooseDifferent(pool, fusec, folder, layers):
    """The first one of each kind of kernels, and each that has none."""
    described = pool.map(lambda layer: describeKernels(fusec, folder, layer), layers)
    chosen = {}
    for layer, (kernels, problem) in zip(layers, described):
        chosen.setdefault(layer.name if problem else kernels, layer)
    return list(chosen.values())


def compileLayer(tools, folder, layer):
    """What is wrong with a kernel of the layer; else nothing."""
    model, options = writeLayer(folder, layer)
    bundle = folder / f"{layer.name}.fusec"
    command = [tools[0], "compile", model, "-o", bundle, "--arch=sm_90a", "--werror=spill",
               "--quiet", *options]
    problem = run(*command)[1] or findEarlyUses(tools, bundle, folder / layer.name)
    bundle.unlink(missing_ok=True)
    return problem


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fusec", help="the compiler")
    parser.add_argument("--only", default="", help="layers whose name has this in it")
    parser.add_argument("--all", action="store_true", help="also those of the same kernels")
    options = parser.parse_args()
    layers = [layer for layer in chooseLayers() if options.only in layer.name]
    tools = options.fusec, findDisassembler()
    if not tools[1]:
        sys.exit("nvdisasm: not found; pip install nvidia-cuda-nvdisasm")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        writeWeights(folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            if not options.all:
                layers = chooseDifferent(pool, options.fusec, folder, layers)
            results = pool.map(lambda layer: compileLayer(tools, folder, layer), layers)
            failures = 0
            for layer, problem in zip(layers, results):
                print(f"{layer.name}: {problem or 'good'}", flush=True)
                failures += bool(problem)
    print(f"{len(layers) - failures} of {len(layers)} layers good")
    return 1 if failures or not layers else 0


if __name__ == "__main__":
    sys.exit(main())
