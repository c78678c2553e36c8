#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explains reductions, places and cumulative sums of few long rows, of lengths that
divide into parts and that do not: none may be left to a block or two of a device,
which takes up to 460 times what its bytes do.

  long_rows.py tools/fusec work/"""

import itertools
import json
import pathlib
import subprocess
import sys

import onnx
from onnx import TensorProto, helper

KINDS = {"fp32": (TensorProto.FLOAT, 4), "fp16": (TensorProto.FLOAT16, 2), "i64": (TensorProto.INT64, 8)}
LENGTHS = [1000003, (1 << 24) + 1, 1 << 26, 100000007, 1 << 28, (1 << 31) + 5]
# Along memory, and over an axis that has columns behind it.
SHAPES = [(rows, length, columns) for rows in (1, 3, 64) for length in LENGTHS for columns in (1, 7)
          if rows * length * columns < 1 << 32]
# Of what launches and all bytes take, these at an H200's rate of copies.
BYTES_A_MICROSECOND, LAUNCH_MICROSECONDS, MOST = 3.4e6, 10, 5


def makeNode(operator):
    """Of an operator over the second axis, and whether it stores as many items."""
    if operator == "ReduceSum":
        return helper.make_node(operator, ["x", "axis"], ["y"], keepdims=0), False
    if operator == "CumSum":
        return helper.make_node(operator, ["x", "axis"], ["y"]), True
    axes = {"axis": 1} if operator.startswith("Arg") else {"axes": [1]}
    return helper.make_node(operator, ["x"], ["y"], keepdims=0, **axes), False


def save(path, operator, kind, sizes):
    """Returns how many bytes the model moves."""
    type_, item = KINDS[kind]
    node, isWhole = makeNode(operator)
    result = sizes if isWhole else (sizes[0], sizes[2])
    out = TensorProto.INT64 if operator.startswith("Arg") else type_
    axis = helper.make_tensor("axis", TensorProto.INT64, [] if isWhole else [1], [1])
    graph = helper.make_graph([node], "long_rows", [helper.make_tensor_value_info("x", type_, sizes)],
                              [helper.make_tensor_value_info("y", out, result)],
                              [axis] if "axis" in node.input else [])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), path)
    return sizes[0] * sizes[1] * sizes[2] * item * (2 if isWhole else 1)


def explain(fusec, path):
    """Microseconds that all kernels of a run are predicted to take."""
    run = subprocess.run([fusec, "explain", path, "--arch=sm_90a", "--json"], capture_output=True, text=True, check=True)
    kernels = json.loads(run.stdout)["result"]["kernels"]
    return sum(kernel["schedules"][0]["predicted"]["us"] for kernel in kernels)


def main():
    fusec, work = sys.argv[1], pathlib.Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    count, slow = 0, 0
    for operator, kind, sizes in itertools.product(("ReduceSum", "ReduceMax", "ArgMax", "CumSum"), KINDS, SHAPES):
        moved = save(work / "model.onnx", operator, kind, sizes)
        taken, asked = explain(fusec, work / "model.onnx"), MOST * (moved / BYTES_A_MICROSECOND + LAUNCH_MICROSECONDS)
        count += 1
        if taken > asked:
            slow += 1
            print(f"{operator} of {kind} {sizes}: {taken:.0f} us are predicted, {asked:.0f} would do", file=sys.stderr)
    print(f"{count} models, {slow} of which take too long")
    sys.exit(slow > 0)


if __name__ == "__main__":
    main()
