#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes cases of what is no matmul to a folder: transposes, long reductions and
embedding bags, of aligned sizes and odd ones, with expected results of numpy in
double precision."""

import json
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f16": (numpy.float16, TensorProto.FLOAT16), "f32": (numpy.float32, TensorProto.FLOAT),
         "i32": (numpy.int32, TensorProto.INT32), "i64": (numpy.int64, TensorProto.INT64)}
NUMBERS = {numpy.dtype(numbers): type_ for numbers, type_ in TYPES.values()}


class Case:
    """A graph in the making, and beside it what each of its values is."""

    def __init__(self, name, norm, batch="batch"):
        self.name, self.norm, self.batch = name, norm, batch
        self.random = numpy.random.default_rng(sum(name.encode()))
        self.nodes, self.constants, self.inputs, self.outputs = [], [], {}, {}

    def draw(self, kind, *shape):
        numbers = TYPES[kind][0]
        if kind[0] == "i":
            return self.random.integers(-9, 9, shape).astype(numbers)
        return self.random.standard_normal(shape).astype(numbers)

    def input(self, name, value):
        self.inputs[name] = value
        return name

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(value, order="C"), name))
        return name

    def node(self, operator, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def output(self, name, value, kind):
        self.outputs[name] = value.astype(TYPES[kind][0])

    def save(self, folder, batch, name):
        def info(key, value, isInput):
            shape = list(value.shape) if batch is None or isInput else [None] * value.ndim
            if batch and isInput and shape:
                shape[0] = batch
            return helper.make_tensor_value_info(key, NUMBERS[value.dtype], shape)
        graph = helper.make_graph(
            self.nodes, "parts", [info(key, value, True) for key, value in self.inputs.items()],
            [info(key, value, False) for key, value in self.outputs.items()], self.constants)
        model = helper.make_model(graph, ir_version=9,
                                  opset_imports=[helper.make_opsetid("", 17)])
        onnx.save(model, folder / name)

    def write(self, folder):
        folder = folder / self.name
        folder.mkdir(parents=True, exist_ok=True)
        self.save(folder, None, "model.onnx")
        self.save(folder, self.batch, "symbolic.onnx")
        described = {"inputs": [], "outputs": []}
        for i, (key, value) in enumerate(self.inputs.items()):
            numpy.save(folder / f"in_{i}.npy", numpy.asarray(value, order="C"))
            described["inputs"].append({"name": key, "file": f"in_{i}.npy", "const": False})
        for i, (key, value) in enumerate(self.outputs.items()):
            numpy.save(folder / f"out_{i}.npy", numpy.asarray(value, order="C"))
            described["outputs"].append({"name": key, "file": f"out_{i}.npy", "norm": self.norm})
        case = {"name": self.name, "expect": "pass", "reason": "", "operators": [],
                "model": "model.onnx", **described, "symbolic": {"model": "symbolic.onnx"},
                "precision": "ieee"}
        (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")


def nameOf(form, kind, sizes, *more):
    return "_".join([form, kind, "x".join(map(str, sizes)), *map(str, more)])


# Both dimensions of a tile inside, at its edges and beyond it; vectors on both
# sides, on one, on none.
TRANSPOSES = [("f32", (1000, 512), (1, 0)), ("f32", (127, 1013), (1, 0)), ("f16", (264, 72), (1, 0)),
              ("f16", (17, 999), (1, 0)), ("i64", (130, 70), (1, 0)), ("f32", (3, 100, 36), (0, 2, 1)),
              ("f16", (127, 13, 40), (2, 0, 1)), ("f16", (40, 33, 64), (2, 1, 0)),
              ("f32", (2, 16, 19, 24), (0, 2, 3, 1)), ("f32", (0, 32), (1, 0)),
              ("f32", (7, 20, 5, 18), (3, 1, 2, 0))]


def makeTransposes():
    for kind, sizes, order in TRANSPOSES:
        case = Case(nameOf("transpose", kind, sizes, "".join(map(str, order))), 0)
        x = case.draw(kind, *sizes)
        case.nodes.append(helper.make_node("Transpose", [case.input("x", x)], ["y"], perm=order))
        case.output("y", x.transpose(order), kind)
        yield case
    # Arithmetic on both sides, a value that needs no tile, two that share one shape,
    # and a row that every point reads.
    for kind, sizes in [("f32", (129, 130)), ("f16", (72, 200)), ("f32", (1, 31))]:
        # One name would be of two dimensions.
        case = Case(nameOf("sum", kind, sizes), 1e-3 if kind == "f16" else 1e-6, batch=None)
        x, y = case.draw(kind, *sizes), case.draw(kind, *sizes)
        z, row = case.draw(kind, *sizes[::-1]), case.draw(kind, sizes[0])
        product = case.node("Mul", case.input("x", x), case.input("y", y))
        turned = case.node("Transpose", product, perm=(1, 0))
        total = case.node("Add", turned, case.input("z", z))
        case.nodes.append(helper.make_node("Add", [total, case.constant(row)], ["r"]))
        case.nodes.append(helper.make_node("Relu", ["r"], ["s"]))
        r = (x.astype(float) * y).T + z + row
        case.output("r", r, kind)
        case.output("s", numpy.maximum(r, 0), kind)
        yield case


# Rows that are split into parts, and such that are not; the last part is short.
REDUCTIONS = [("f16", (1003, 997), (0, 1)), ("f32", (70001, 13), (0,)), ("f32", (7, 100003), (1,)),
              ("f16", (2, 5000, 64), (1,)), ("f32", (4, 3, 30000), (0, 2)), ("f32", (0, 70000), (0, 1)),
              ("f32", (1, 65536), (0, 1)), ("f32", (3, 1, 5, 1), (1, 3)), ("f16", (5, 1, 9), (1, 2))]


def makeReductions():
    for kind, sizes, axes in REDUCTIONS:
        case = Case(nameOf("reduce", kind, sizes, "".join(map(str, axes))), 2e-3 if kind == "f16" else 1e-4)
        x = case.draw(kind, *sizes) / TYPES[kind][0](32)  # halves hold the sum of all
        wide = x.astype(float)
        case.input("x", x)
        square = case.node("Mul", "x", "x")
        total = case.node("ReduceSum", square, case.constant(numpy.array(axes)), keepdims=0)
        case.nodes.append(helper.make_node("Sqrt", [total], ["length"]))
        case.output("length", numpy.sqrt((wide * wide).sum(axes)), kind)
        if x.size:
            case.nodes.append(helper.make_node("ReduceMax", ["x"], ["most"], axes=axes, keepdims=0))
            case.output("most", wide.max(axes), kind)
        yield case


# A bag's indices and its row's elements, a table each; bags; how they are put together.
BAGS = [("f16", "i64", [(10, 64)] * 5, 33, "concat"),
        ("f16", "i32", [(3, 128), (1, 128), (1, 128), (12, 128), (100, 128), (27, 128)], 129, "concat"),
        ("f32", "i64", [(3, 1), (1, 3), (40, 48), (5, 100), (2, 300)], 7, "concat"),
        ("f32", "i64", [(3, 16), (1, 16), (40, 16), (5, 16)], 130, "mean"),
        ("f16", "i64", [(4, 24), (4, 24), (1, 24)], 13, "stack"),
        ("f32", "i32", [(100, 64)], 3, "concat"), ("f32", "i64", [(2, 8), (1, 8)], 0, "concat"),
        ("f16", "i64", [(1, 16), (1, 8), (1, 128)], 257, "concat"),
        ("f32", "i64", [(5, 32), (33, 64)], 65, "dense")]


def makeBags():
    for number, (kind, index, tables, bags, form) in enumerate(BAGS):
        sizes = [bags, len(tables), max(count for count, _ in tables)]
        case = Case(nameOf(f"bag{number}", kind, sizes, form), 2e-3 if kind == "f16" else 1e-5)
        ids, parts, expected, first = [], [], [], 0
        axis = case.constant(numpy.array([1]))
        if form == "dense":
            dense = case.draw(kind, bags, 16)
            parts.append(case.node("Relu", case.input("x", dense)))
            expected.append(numpy.maximum(dense, 0).astype(float))
        for count, width in tables:
            table = case.draw(kind, 50 + width, width)
            rows = case.random.integers(-len(table), len(table), (bags, count))
            rows[:1, :1] = len(table) - 1  # the last one
            rows[1:2] = 0  # one again and again
            ids.append(rows)
            taken = case.node("Slice", "ids", case.constant(numpy.array([first])),
                              case.constant(numpy.array([first + count])), axis)
            first += count
            rows = case.node("Gather", case.constant(table), taken, axis=0)
            if form == "mean":
                summed = case.node("ReduceMean", rows, axes=[1], keepdims=0)
            else:
                summed = case.node("ReduceSum", rows, axis, keepdims=0)
            sums = table.astype(float)[ids[-1]].sum(1)
            expected.append(sums / count if form == "mean" else sums)
            parts.append(case.node("Unsqueeze", summed, axis) if form == "stack" else summed)
        case.input("ids", numpy.concatenate(ids, 1).astype(TYPES[index][0]))
        case.nodes.append(helper.make_node("Concat", parts, ["y"], axis=1))
        put = numpy.stack if form == "stack" else numpy.concatenate
        case.output("y", put(expected, 1), kind)
        yield case


def main():
    folder = pathlib.Path(sys.argv[1])
    for make in (makeTransposes, makeReductions, makeBags):
        for case in make():
            case.write(folder)


if __name__ == "__main__":
    main()
