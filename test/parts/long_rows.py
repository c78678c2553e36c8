#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explains reductions, places, cumulative sums and norms of few long rows, of lengths
that divide into parts and that do not: none may be left to a block or two of a device,
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
# Of rows that are stored: of longer ones all blocks would reduce what many parts gave.
MOST_STORED = 1 << 26
# Of what launches and all bytes take, these at an H200's rate of copies.
BYTES_A_MICROSECOND, LAUNCH_MICROSECONDS, MOST = 3.4e6, 10, 5


def makeNodes(operator):
    """Of an operator over the second axis, or of rows of all others than the first, and
    whether it stores as many items."""
    if operator == "LayerNormalization":
        return [helper.make_node(operator, ["x", "scale"], ["y"], axis=1)], True
    if operator == "Softmax":
        return [helper.make_node("Flatten", ["x"], ["rows"], axis=1), helper.make_node(operator, ["rows"], ["y"], axis=1)], True
    if operator == "Range":
        least, most = (helper.make_node(f"Reduce{kind}", ["x"], [kind], axes=[1, 2]) for kind in ("Min", "Max"))
        return [least, most, helper.make_node("Sub", ["Max", "Min"], ["range"]), helper.make_node("Div", ["x", "range"], ["y"])], True
    if operator == "Variance":
        return [helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1]), helper.make_node("Sub", ["x", "mean"], ["apart"]),
                helper.make_node("Mul", ["apart", "apart"], ["square"]),
                helper.make_node("ReduceMean", ["square"], ["y"], axes=[1], keepdims=0)], False
    if operator == "ColumnRange":
        least, most = (helper.make_node(f"Reduce{kind}", ["x"], [kind], axes=[1]) for kind in ("Min", "Max"))
        return [least, most, helper.make_node("Sub", ["Max", "Min"], ["range"]), helper.make_node("Div", ["x", "range"], ["y"])], True
    if operator == "ColumnNorm":
        return [helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1]), helper.make_node("Sub", ["x", "mean"], ["apart"]),
                helper.make_node("Mul", ["apart", "apart"], ["square"]), helper.make_node("ReduceMean", ["square"], ["variance"], axes=[1]),
                helper.make_node("Sqrt", ["variance"], ["deviation"]), helper.make_node("Div", ["apart", "deviation"], ["y"])], True
    if operator == "ColumnSoftmax":
        return [helper.make_node("Softmax", ["x"], ["y"], axis=1)], True
    node, isWhole = makeNode(operator)
    return [node], isWhole


def makeNode(operator):
    if operator == "ReduceSum":
        return helper.make_node(operator, ["x", "axis"], ["y"], keepdims=0), False
    if operator == "CumSum":
        return helper.make_node(operator, ["x", "axis"], ["y"]), True
    axes = {"axis": 1} if operator.startswith("Arg") else {"axes": [1]}
    return helper.make_node(operator, ["x"], ["y"], keepdims=0, **axes), False


def save(path, operator, kind, sizes):
    """Returns how many bytes the model moves."""
    type_, item = KINDS[kind]
    nodes, isWhole = makeNodes(operator)
    result = sizes if isWhole else (sizes[0], sizes[2])
    if operator == "Softmax":
        result = sizes[0], sizes[1] * sizes[2]
    out = TensorProto.INT64 if operator.startswith("Arg") else type_
    inputs = [helper.make_tensor_value_info("x", type_, sizes)]
    if operator == "LayerNormalization":
        inputs.append(helper.make_tensor_value_info("scale", type_, sizes[1:]))
    axis = helper.make_tensor("axis", TensorProto.INT64, [] if isWhole else [1], [1])
    graph = helper.make_graph(nodes, "long_rows", inputs, [helper.make_tensor_value_info("y", out, result)],
                              [axis] if "axis" in nodes[0].input else [])
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
    ofKinds = itertools.product(("ReduceSum", "ReduceMax", "ArgMax", "CumSum"), KINDS, SHAPES)
    ofFloats = itertools.product(("LayerNormalization", "Softmax", "Range", "Variance", "ColumnNorm", "ColumnSoftmax", "ColumnRange"),
                                 ("fp32", "fp16"), [sizes for sizes in SHAPES if sizes[1] * sizes[2] <= MOST_STORED])
    for operator, kind, sizes in itertools.chain(ofKinds, ofFloats):
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
