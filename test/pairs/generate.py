#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes cases of flatten(x x^T) W, as exporters and people write it, to a folder.

Features that fill blocks of 16 and that do not, columns of each width of tile and
odd ones, rows around a tile's 128; both layouts of the weights; rows whose sizes
differ by 2^40, which products of 16 bits could not hold without a scale; triangles
by indices of rows and columns or of places, in any order; exact products of fp32.
The expected results are numpy's in double precision, of products rounded as the model
rounds them."""

import argparse
import json
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f16": (numpy.float16, TensorProto.FLOAT16), "f32": (numpy.float32, TensorProto.FLOAT)}
# features, columns, rows, type, form, weights along K, and the precision of fp32
CASES = [(52, 40, 1, "f16", "matmul", True), (64, 33, 3, "f16", "mul", False),
         (100, 130, 129, "f16", "matmul", False), (48, 300, 127, "f16", "mul", True),
         (112, 8, 257, "f16", "matmul", True),
         (52, 40, 3, "f32", "mul", True), (64, 33, 129, "f32", "matmul", False),
         (100, 130, 1, "f32", "mul", False), (48, 300, 127, "f32", "matmul", True),
         (80, 64, 13, "f32", "scaled", True),
         (52, 40, 13, "f16", "triangle", True), (64, 33, 129, "f16", "places", False),
         (48, 24, 3, "f32", "shuffled", True),
         (52, 40, 3, "f32", "mul", True, "ieee"), (64, 33, 129, "f32", "places", False, "ieee"),
         (100, 130, 1, "f32", "matmul", False, "ieee"), (48, 300, 127, "f32", "mul", True, "ieee"),
         (80, 64, 13, "f32", "scaled", True, "ieee"),
         # Weights of bytes, with a scale of all.
         (64, 33, 13, "f16", "bytes", False), (52, 130, 129, "f16", "bytes", True),
         (80, 64, 127, "f32", "bytes", True),
         # Nothing to compute.
         (48, 0, 3, "f16", "matmul", False), (48, 8, 0, "f16", "mul", False),
         # Beside a weight that is no constant, and too few features.
         (64, 24, 13, "f16", "replaced", True), (20, 24, 13, "f16", "matmul", True)]


class Case:
    def __init__(self, features, columns, rows, kind, form, alongK, precision="tf32", *, seed):
        self.name = f"{kind}_{features}x{columns}_{rows}_{form}" + (
            "_ieee" if precision == "ieee" else "")
        self.form, self.alongK, self.precision = form, alongK, precision
        random = numpy.random.default_rng(seed)
        self.numbers, self.type = TYPES[kind]
        self.x = random.standard_normal((rows, features))
        if form == "scaled":
            self.x *= 2.0 ** random.integers(-20, 20, (rows, 1))
        self.i, self.j = (part.flatten() for part in numpy.indices((features, features)))
        if form in ("triangle", "places", "shuffled"):
            self.i, self.j = numpy.tril_indices(features, -1 if form == "triangle" else 0)
        if form == "shuffled":
            order = random.permutation(len(self.i))
            self.i, self.j = self.i[order], self.j[order]
        self.weights = random.standard_normal((len(self.i), columns)) / features
        if form == "bytes":
            self.bytes = random.integers(-128, 128, self.weights.shape).astype(numpy.int8)
            self.scale = 2.0 ** -7 / features
            self.weights = self.bytes * self.scale
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
        if self.form == "triangle":
            # z[:, i, j], as PyTorch exports it.
            indices = self.constant(numpy.stack([self.i, self.j], 1), "indices")
            first = self.node("Transpose", [outer], "first", perm=[1, 2, 0])
            taken = self.node("GatherND", [first, indices], "taken")
            pairs = self.node("Transpose", [taken], "pairs", perm=[1, 0])
        else:
            pairs = self.node("Reshape", [outer, shape], "pairs")
        if self.form in ("places", "shuffled"):
            places = self.constant(self.i * features + self.j, "places")
            pairs = self.node("Gather", [pairs, places], "chosen", axis=1)
        inputs = [("x", self.x)]
        weights = self.weights.T if self.alongK else self.weights
        if self.form == "replaced":
            inputs.append(("w", weights))
        elif self.form == "bytes":
            self.constant(self.bytes.T if self.alongK else self.bytes, "bytes")
            self.constant(numpy.array(self.scale, self.numbers), "scale")
            self.node("Cast", ["bytes"], "numbers", to=self.type)
            self.node("Mul", ["numbers", "scale"], "w")
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
        pairs = x[:, self.i] * x[:, self.j]
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
                "outputs": [{"name": "result", "file": "out_0.npy",
                             "norm": 2e-6 if self.precision == "ieee" else 2e-3}],
                "symbolic": {"model": "symbolic.onnx"}, "precision": self.precision}
        (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    for seed, arguments in enumerate(CASES):
        Case(*arguments, seed=seed).write(folder)


if __name__ == "__main__":
    main()
