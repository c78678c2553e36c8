#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles models of n and of 4 n parts to CUDA text: four times as many parts
may cost five times as much, and no more.

  growth.py FUSEC [--case NAME]... [--parts N]

The cost is the instructions that valgrind counts, less those of an empty model:
the same on every machine, whatever else runs there. Where valgrind is missing
it is the user time of processes, of larger models, and less certain.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FACTOR, MOST = 4, 5
# By user time: so many times as many parts, and the best of so many runs.
TIMED_SCALE, TIMED_RUNS = 8, 3


class Graph:
    """Nodes, inputs, outputs and weights of a model."""

    def __init__(self):
        self.nodes, self.inputs, self.outputs, self.weights = [], [], [], []

    def input(self, *sizes, dtype=TensorProto.FLOAT):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, dtype, sizes))
        return name

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def matrix(self, *sizes):
        """Like no other."""
        start = len(self.weights)
        values = numpy.arange(start, start + numpy.prod(sizes), dtype=numpy.float32)
        return self.weight(values.reshape(sizes))

    def op(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def output(self, name):
        self.outputs.append(helper.make_empty_tensor_value_info(name))
        self.outputs[-1].type.tensor_type.elem_type = TensorProto.FLOAT

    def save(self, path):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.weights)
        opsets = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def opsInARow(graph, count):
    x = graph.input("batch", 64)
    for _ in range(count):
        x = graph.op("Sigmoid", x)
    graph.output(x)


def opsSideBySide(graph, count):
    """Of dimensions of their own."""
    for number in range(count):
        graph.output(graph.op("Sigmoid", graph.input(f"rows{number}", 64)))


def matmulsInARow(graph, count):
    x = graph.input("batch", 16)
    for _ in range(count):
        x = graph.op("MatMul", x, graph.matrix(16, 16))
    graph.output(x)


def matmulsOfOneValue(graph, count):
    x = graph.op("Sigmoid", graph.input("batch", 16))
    for _ in range(count):
        graph.output(graph.op("Relu", graph.op("MatMul", x, graph.matrix(16, 16))))


def tablesByColumns(graph, count):
    """Lookups by the columns of one index tensor, which become one."""
    ids = graph.input("batch", count, dtype=TensorProto.INT64)
    rows = []
    for column in range(count):
        at = graph.op("Gather", ids, graph.weight(numpy.array(column)), axis=1)
        rows.append(graph.op("Gather", graph.matrix(10, 8), at, axis=0))
    graph.output(graph.op("Concat", *rows, axis=1))


def pieces(graph, count):
    """Means of a table's rows, one table and input each, in a concat."""
    means = []
    for _ in range(count):
        ids = graph.input("batch", 4, dtype=TensorProto.INT64)
        rows = graph.op("Gather", graph.matrix(10, 8), ids, axis=0)
        means.append(graph.op("ReduceMean", rows, axes=[1], keepdims=0))
    graph.output(graph.op("Sigmoid", graph.op("Concat", *means, axis=1)))


# n of each, such that a case takes some seconds under valgrind.
CASES = {
    opsInARow: 200,
    opsSideBySide: 50,
    matmulsInARow: 50,
    matmulsOfOneValue: 50,
    tablesByColumns: 200,
    pieces: 50,
}


class Counted:
    """Instructions, by valgrind."""

    unit, scale = "million instructions", 1

    def __init__(self, valgrind):
        self.valgrind = [valgrind, "--tool=cachegrind", "--cache-sim=no",
                         "--cachegrind-out-file=/dev/null"]

    def __call__(self, command):
        log = subprocess.run([*self.valgrind, *command], check=True, capture_output=True,
                             text=True).stderr
        return int(re.search(r"I\s+refs:\s+([\d,]+)", log)[1].replace(",", "")) / 1e6


class Timed:
    """Seconds of user time, the least of some runs."""

    unit, scale = "ms of user time", TIMED_SCALE

    def __call__(self, command):
        times = []
        for _ in range(TIMED_RUNS):
            process = subprocess.Popen(command)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise subprocess.CalledProcessError(process.returncode, command)
            times.append(usage.ru_utime * 1000)
        return min(times)


def chooseMeasure(fusec):
    """Valgrind where it runs the compiler."""
    valgrind = shutil.which("valgrind")
    if valgrind:
        counted = Counted(valgrind)
        try:
            counted([fusec, "--version"])
            return counted
        except (subprocess.CalledProcessError, TypeError):
            pass
    print("no valgrind that runs the compiler: growth is measured in user time")
    return Timed()


def measureCase(measure, fusec, folder, case, parts):
    path = folder / f"{parts}.onnx"
    graph = Graph()
    case(graph, parts)
    graph.save(path)
    return measure([fusec, "compile", path, "--emit=cuda", "--arch=sm_90a", "-q",
                    "-o", os.devnull])


def copyOneValue(graph, parts):
    del parts
    graph.output(graph.op("Identity", graph.input("batch", 64)))


def checkCase(measure, start, fusec, folder, case, parts):
    few, many = (measureCase(measure, fusec, folder, case, count) - start
                 for count in (parts, FACTOR * parts))
    print(f"{case.__name__}: {few:.1f} {measure.unit} for {parts}, "
          f"{many:.1f} for {FACTOR * parts}: {many / few:.2f} times as much", flush=True)
    return many <= MOST * few


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("fusec")
    names = [case.__name__ for case in CASES]
    parser.add_argument("--case", action="append", choices=names)
    parser.add_argument("--parts", type=int, help="n of every case")
    args = parser.parse_args()
    measure = chooseMeasure(args.fusec)
    failed = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        start = measureCase(measure, args.fusec, folder, copyOneValue, 1)
        for case, parts in CASES.items():
            if args.case and case.__name__ not in args.case:
                continue
            parts = (args.parts or parts) * measure.scale
            if not checkCase(measure, start, args.fusec, folder, case, parts):
                failed.append(case.__name__)
    if failed:
        print(f"cost more than {MOST} times as much for {FACTOR} times as many parts: "
              + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
