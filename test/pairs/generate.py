#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes cases of flatten(x x^T) W, as exporters and people write it, to a folder.

Features that fill blocks of 16 and that do not, columns of each width of tile and
odd ones, rows around a tile's 128; both layouts of the weights; rows whose sizes
differ by 2^40, which products of 16 bits could not hold without a scale. The
expected results are numpy's in double precision, of products rounded as the model
rounds them."""

import json
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f16": (numpy.float16, TensorProto.FLOAT16), "f32": (numpy.float32, TensorProto.FLOAT)}
# features, columns, rows, type, form, weights along K
CASES = [(52, 40, 1, "f16", "matmul", True), (64, 33, 3, "f16", "mul", False),
         (100, 130, 129, "f16", "matmul", False), (48, 300, 127, "f16", "mul", True),
         (112, 8, 257, "f16", "matmul", True),
         (52, 40, 3, "f32", "mul", True), (64, 33, 129, "f32", "matmul", False),
         (100, 130, 1, "f32", "mul", False), (48, 300, 127, "f32", "matmul", True),
         (80, 64, 13, "f32", "scaled", True),
         # Nothing to compute.
         (48, 0, 3, "f16", "matmul", False), (48, 8, 0, "f16", "mul", False),
         # Beside a weight that is no constant, and too few features.
         (64, 24, 13, "f16", "replaced", True), (20, 24, 13, "f16", "matmul", True)]


class Case:
    def __init__(self, features, columns, rows, kind, form, alongK, seed):
        self.name = f"{kind}_{features}x{columns}_{rows}_{form}"
        self.form, self.alongK = form, alongK
        random = numpy.random.default_rng(seed)
        self.numbers, self.type = TYPES[kind]
        self.x = random.standard_normal((rows, features))
        if form == "scaled":
            self.x *= 2.0 ** random.integers(-20, 20, (rows, 1))
        self.weights = random.standard_normal((features ** 2, columns)) / features
        self.bias = random.standard_normal(columns)
        for name in ("x", "weights", "bias"):
            setattr(self, name, getattr(self, name).astype(self.numbers))
        self.nodes, self.constants = [], []

    def constant(self, value, name):
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(value), name))
        return name

    def node(self, operator, inputs, output, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def build(self):
        features = self.x.shape[1]
        axis = lambda number: self.constant(numpy.array([number]), f"axis{number}")  # noqa: E731
        column = self.node("Unsqueeze", ["x", axis(2)], "column")
        if self.form == "matmul":
            row = self.node("Transpose", [column], "row", perm=[0, 2, 1])
            outer = self.node("MatMul", [column, row], "outer")
        else:
            row = self.node("Unsqueeze", ["x", axis(1)], "row")
            outer = self.node("Mul", [column, row], "outer")
        shape = self.constant(numpy.array([-1, features ** 2]), "shape")
        pairs = self.node("Reshape", [outer, shape], "pairs")
        inputs = [("x", self.x)]
        weights = self.weights.T if self.alongK else self.weights
        if self.form == "replaced":
            inputs.append(("w", weights))
        else:
            self.constant(weights, "w")
        self.constant(self.bias, "bias")
        if self.alongK:
            y = self.node("Gemm", [pairs, "w", "bias"], "y", transB=1)
        else:
            product = self.node("MatMul", [pairs, "w"], "product")
            y = self.node("Add", [product, "bias"], "y")
        self.node("Relu", [y], "result")
        return inputs

    def expect(self):
        x = self.x.astype(numpy.float64)
        pairs = (x[:, :, None] * x[:, None, :]).reshape(len(x), x.shape[1] ** 2)
        if self.numbers == numpy.float16:
            pairs = pairs.astype(numpy.float16).astype(numpy.float64)
        sums = pairs @ self.weights.astype(numpy.float64) + self.bias
        return numpy.maximum(sums, 0).astype(self.numbers)

    def write(self, folder):
        folder = folder / self.name
        folder.mkdir(parents=True, exist_ok=True)
        inputs, columns = self.build(), len(self.bias)
        def save(batch, name):
            shapes = [[batch, *value.shape[1:]] if key == "x" else value.shape
                      for key, value in inputs]
            graph = helper.make_graph(
                self.nodes, "pairs",
                [helper.make_tensor_value_info(key, self.type, shape)
                 for (key, _), shape in zip(inputs, shapes)],
                [helper.make_tensor_value_info("result", self.type, [batch, columns])],
                self.constants)
            onnx.save(helper.make_model(graph, ir_version=9,
                                        opset_imports=[helper.make_opsetid("", 17)]),
                      folder / name)
        save(len(self.x), "model.onnx")
        save("batch", "symbolic.onnx")
        described = []
        for i, (key, value) in enumerate(inputs):
            numpy.save(folder / f"in_{i}.npy", numpy.ascontiguousarray(value))
            described.append({"name": key, "file": f"in_{i}.npy", "const": False})
        numpy.save(folder / "out_0.npy", self.expect())
        case = {"name": self.name, "expect": "pass", "reason": "", "operators": [],
                "model": "model.onnx", "inputs": described,
                "outputs": [{"name": "result", "file": "out_0.npy", "norm": 2e-3}],
                "symbolic": {"model": "symbolic.onnx"}, "precision": "tf32"}
        (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    for seed, arguments in enumerate(CASES):
        Case(*arguments, seed).write(folder)


if __name__ == "__main__":
    main()
