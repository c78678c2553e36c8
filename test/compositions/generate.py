# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes random models as cases of the form that test/onnx/generate.py states.

  generate.py OUT COUNT [FIRST]

The models are composed of what recommenders and transformers are made of
(parts.py), every third in fp16. A seed, from FIRST on, always gives the same
model and inputs; the expected outputs are ONNX Runtime's. An output has "norm",
as in test/models/generate.py. CTest runs few; run.py runs thousands after a
change of passes or emitters.
"""

import argparse
import json
import pathlib
import shutil
import sys

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

import parts
import sequences
from graph import Graph, isFixed

BOUND = {numpy.float32: 1e-4, numpy.float16: 2e-2}
LARGEST = 1e3  # among outputs, so that fp16 holds what leads to them
SMALLEST = 2**-14  # in fp16, whose numbers below have fewer digits
# Where sums cancel, an output in fp16 is made of roundings: one that those of
# inputs and constants alone change by so many times its bound says nothing.
MOST_CHANGE = 0.5
MOVES = 3
MOST_OUTPUTS = 6


def compose(seed):
    g = Graph(seed, numpy.float16 if seed % 3 == 0 else numpy.float32)
    rank = g.pick(1, 2, 2, 3, 3, 4)
    sizes = [g.pick(*parts.WIDTHS) for _ in range(rank)]
    if rank > 1 and g.chance(0.6):
        sizes[0] = "batch"
    if rank > 2 and g.chance(0.4):
        sizes[1] = "seq"
    live = [g.input(sizes)]
    for _ in range(g.random.randint(2, 8)):
        x = g.pick(*live) if g.chance(0.35) else live[-1]
        isLayered = len(g.sizes[x]) in (2, 3) and isFixed(g.sizes[x][-1])
        kind = g.random.random()
        part = g.pick(*(sequences.SEQUENCES if kind < 0.25
                        else parts.LAYERS if isLayered and kind < 0.7 else parts.ANY))
        y = part(g, x)
        if y not in live and parts.countElements(g.sizes[y]) <= parts.MOST_ELEMENTS:
            live.append(y)
    read = {name for node in g.nodes for name in node.input}
    g.outputs += [name for name in live[1:] if name not in read or g.chance(0.1)]
    g.outputs = list(dict.fromkeys(g.outputs))[:MOST_OUTPUTS]
    return g


def run(model, feeds):
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def move(random, array):
    """In fp16, another that is one rounding away."""
    if array.dtype != numpy.float16:
        return array
    return numpy.asarray(array * random.choice([1 - 2**-11, 1 + 2**-10], array.shape), array.dtype)


def runMoved(model, feeds, seed):
    """With other inputs and other constants."""
    random = numpy.random.default_rng(seed)
    moved = onnx.ModelProto()
    moved.CopyFrom(model)
    for tensor in moved.graph.initializer:
        array = move(random, numpy_helper.to_array(tensor))
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return run(moved, {name: move(random, array) for name, array in feeds.items()})


def isStable(model, feeds, outputs, bound):
    if any(numpy.abs(array).max(initial=0) < SMALLEST for array in outputs):
        return False
    # Of a single element one move may happen to change nothing.
    for seed in range(MOVES):
        for array, moved in zip(outputs, runMoved(model, feeds, seed)):
            wide, other = array.astype(float), moved.astype(float)
            change = numpy.linalg.norm(other - wide)
            if change > MOST_CHANGE * bound * numpy.linalg.norm(wide - wide.mean()):
                return False
    return True


def writeCase(folder, model, bound, feeds, outputs):
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")
    record = {"name": folder.name, "expect": "pass", "reason": "", "operators": [],
              "model": "model.onnx", "inputs": [], "outputs": [],
              "symbolic": {"reason": "as composed"}}
    for index, (name, array) in enumerate(feeds.items()):
        numpy.save(folder / f"in_{index}.npy", array)
        record["inputs"].append({"name": name, "file": f"in_{index}.npy", "const": False})
    for index, (value, array) in enumerate(zip(model.graph.output, outputs)):
        numpy.save(folder / f"out_{index}.npy", array)
        record["outputs"].append(
            {"name": value.name, "file": f"out_{index}.npy", "norm": bound})
    (folder / "case.json").write_text(json.dumps(record, indent=1) + "\n")


def generate(out, first, count):
    """Writes the cases of some seeds and returns their names."""
    out = pathlib.Path(out)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    names = []
    for seed in range(first, first + count):
        g = compose(seed)
        if not g.outputs:
            continue
        model, feeds = g.model(), g.feeds()
        outputs = run(model, feeds)
        if any(not (numpy.abs(array) < LARGEST).all() for array in outputs):
            continue
        if g.dtype == numpy.float16 and not isStable(model, feeds, outputs, BOUND[g.dtype]):
            continue
        names.append(f"m{seed}")
        writeCase(out / names[-1], model, BOUND[g.dtype], feeds, outputs)
    return names


def main(out, count, first):
    names = generate(out, first, count)
    print(f"{len(names)} models in {out}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    main(**vars(parser.parse_args()))
