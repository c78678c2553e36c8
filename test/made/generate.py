#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes cases of products of which one operand is made of another matrix: a cast,
scales of its elements, an activation, a weight of 8 bits with its scales and zeros,
which is an input or a constant of the model.

Rows that do not fill a tile, Ks that do not fill a step of 64, of which a function of
nothing is not zero (a sigmoid's is a half, a reciprocal's infinite); both layouts of
the other operand. None is larger than its kernels need: the host runs them, too. The
expected results are numpy's in double precision, of operands rounded as the model
rounds them."""

import argparse
import json
import math
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f16": (numpy.float16, TensorProto.FLOAT16), "f32": (numpy.float32, TensorProto.FLOAT),
         "i8": (numpy.int8, TensorProto.INT8), "u8": (numpy.uint8, TensorProto.UINT8)}
# what is made, rows, K, columns, and the type of what it is made of
CASES = [("cast", 130, 200, 136, "f32"), ("cast", 67, 520, 72, "f32"), ("cast", 1, 136, 8, "f32"),
         ("scale", 130, 200, 264, "f16"), ("scalar", 67, 136, 72, "f16"),
         ("rows", 65, 72, 136, "f16"), ("cast_scale", 129, 264, 72, "f32"),
         ("sigmoid", 130, 200, 264, "f16"), ("silu", 67, 136, 72, "f16"),
         ("reciprocal", 70, 72, 40, "f16"), ("relu", 33, 520, 72, "f16"),
         ("gelu", 257, 72, 136, "f32"),
         ("dequantize", 8, 144, 264, "i8"), ("dequantize", 70, 208, 392, "i8"),
         ("dequantize", 1, 1040, 136, "u8"), ("dequantize_zeros", 130, 80, 200, "i8"),
         ("dequantize_zeros", 13, 144, 136, "u8"),
         # Along N, where nothing is made of them.
         ("dequantize_across", 13, 144, 136, "i8"),
         # Constants, which the compiler lays out or dequantizes.
         ("dequantize_constant", 1, 1000, 333, "i8"), ("dequantize_constant", 8, 512, 264, "u8"),
         ("dequantize_constant", 13, 208, 1032, "i8"), ("dequantize_constant", 61, 592, 136, "i8"),
         ("dequantize_constant", 127, 144, 264, "i8"), ("dequantize_constant_across", 7, 1040, 200, "i8"),
         ("dequantize_constant_across", 300, 208, 136, "u8"),
         ("dequantize_constant_zeros", 24, 336, 264, "u8"),
         ("dequantize_constant_across_zeros", 40, 208, 520, "i8"),
         ("dequantize_constant_scalar", 16, 272, 264, "i8"),
         # As code says it that converts and multiplies.
         ("dequantize_constant_halves", 8, 512, 264, "i8"),
         ("dequantize_constant_halves_across", 61, 528, 136, "u8"),
         ("dequantize_constant_halves_zeros", 24, 336, 264, "i8"),
         ("dequantize_constant_halves_scalar", 3, 1000, 520, "i8"),
         # Of fp32, which no kernel makes.
         ("dequantize_constant_wide", 33, 400, 200, "i8")]


class Case:
    def __init__(self, kind, rows, depth, columns, source, *, seed):
        self.name = f"{kind}_{rows}x{depth}x{columns}_{source}"
        self.kind, self.source = kind, source
        random = numpy.random.default_rng(seed)
        words = kind.split("_")
        self.isWeight = words[0] == "dequantize"
        self.isConstant, self.isAcross = "constant" in words, "across" in words
        self.areHalves = "halves" in words
        self.activations = "f32" if "wide" in words else "f16"
        x = random.standard_normal((rows, depth))
        if kind == "reciprocal":
            x = 1 + numpy.abs(x)
        w = random.standard_normal((columns, depth)) / depth ** 0.5
        if self.isWeight:
            low = 0 if source == "u8" else -128
            w = random.integers(low, low + 256, w.shape)
        self.inputs = {"x": (x, self.activations if self.isWeight else source),
                       "w": (w, source if self.isWeight else "f16")}
        if self.isWeight:
            scales = random.uniform(0.5, 2, columns) / 128 / depth ** 0.5
            self.inputs["s"] = (scales[0] if "scalar" in words else scales, self.activations)
            if "zeros" in words:
                self.inputs["z"] = (random.integers(low, low + 256, columns), source)
            if self.areHalves and not self.isAcross:  # of the rows of w
                for name in ("s", "z"):
                    if name in self.inputs and numpy.ndim(self.inputs[name][0]):
                        value, kind = self.inputs[name]
                        self.inputs[name] = (value[:, None], kind)
        elif kind in ("scale", "cast_scale"):
            self.inputs["s"] = (random.uniform(0.5, 2, depth), source)
        elif kind == "scalar":
            self.inputs["s"] = (numpy.array(0.75), source)
        elif kind == "rows":
            self.inputs["s"] = (random.standard_normal((rows, 1)), source)
        self.inputs = {name: (numpy.asarray(value).astype(TYPES[kind][0]), kind)
                       for name, (value, kind) in self.inputs.items()}
        if self.isAcross:
            w, kind = self.inputs["w"]
            self.inputs["w"] = (numpy.ascontiguousarray(w.T), kind)

    def build(self):
        nodes = []

        def node(operator, inputs, output, **attributes):
            nodes.append(helper.make_node(operator, inputs, [output], **attributes))
            return output
        if self.isWeight:
            axis = 1 if self.isAcross else 0
            scales = [name for name in ("w", "s", "z") if name in self.inputs]
            made, w = "x", (self.multiply(node) if self.areHalves else
                            node("DequantizeLinear", scales, "made", axis=axis))
        else:
            made, w = "x", "w"
            if self.kind in ("scale", "scalar", "cast_scale"):
                made = node("Mul", [made, "s"], "scaled")
            elif self.kind == "rows":
                made = node("Add", [made, "s"], "added")
                made = node("Relu", [made], "rectified")
            elif self.kind == "silu":
                made = node("Mul", [made, node("Sigmoid", [made], "gate")], "gated")
            elif self.kind == "gelu":
                made = node("Gelu", [made], "activated")
            elif self.kind != "cast":
                made = node(self.kind.capitalize(), [made], "activated")
            if self.source == "f32":
                made = node("Cast", [made], "cast", to=TensorProto.FLOAT16)
        if not self.isAcross:
            w = node("Transpose", [w], "across", perm=[1, 0])
        node("MatMul", [made, w], "result")
        return nodes

    def multiply(self, node):
        """What DequantizeLinear does, as operators of 16 bits."""
        w = node("Cast", ["w"], "halves", to=TensorProto.FLOAT16)
        if "z" in self.inputs:
            w = node("Sub", [w, node("Cast", ["z"], "zeros", to=TensorProto.FLOAT16)], "centred")
        return node("Mul", [w, "s"], "made")

    def expect(self):
        value = {name: value.astype(numpy.float64) for name, (value, _) in self.inputs.items()}
        x, w = value["x"], value["w"]
        if self.isWeight:
            one = (1, -1) if self.isAcross else (-1, 1)
            w = (w - value["z"].reshape(one) if "z" in value else w) * value["s"].reshape(one)
        elif self.kind in ("scale", "scalar", "cast_scale"):
            x = x * value["s"]
        elif self.kind == "rows":
            x = numpy.maximum(x + value["s"], 0)
        elif self.kind in ("sigmoid", "silu"):
            gate = 1 / (1 + numpy.exp(-x))
            x = gate if self.kind == "sigmoid" else x * gate
        elif self.kind == "reciprocal":
            x = 1 / x
        elif self.kind == "relu":
            x = numpy.maximum(x, 0)
        elif self.kind == "gelu":
            erf = numpy.vectorize(math.erf)
            x = x * 0.5 * (1 + erf(x / 2 ** 0.5))
        type_ = TYPES[self.activations][0]
        if not self.isConstant:
            x, w = x.astype(type_), w.astype(type_)
        w = w if self.isAcross else w.T
        return (x.astype(numpy.float64) @ w.astype(numpy.float64)).astype(type_)

    def isInside(self, key):
        return self.isConstant and key != "x"

    def write(self, folder):
        folder = folder / self.name
        folder.mkdir(parents=True, exist_ok=True)
        result = self.expect()
        nodes = self.build()

        def save(rows, name):
            shapes = {key: [rows, *value.shape[1:]]
                      if key == "x" or (key == "s" and self.kind == "rows") else value.shape
                      for key, (value, _) in self.inputs.items()}
            graph = helper.make_graph(
                nodes, "made",
                [helper.make_tensor_value_info(key, TYPES[kind][1], shapes[key])
                 for key, (_, kind) in self.inputs.items() if not self.isInside(key)],
                [helper.make_tensor_value_info("result", TYPES[self.activations][1],
                                               [rows, result.shape[1]])],
                [numpy_helper.from_array(value, key)
                 for key, (value, _) in self.inputs.items() if self.isInside(key)])
            onnx.save(helper.make_model(graph, ir_version=10,
                                        opset_imports=[helper.make_opsetid("", 21)]),
                      folder / name)
        save(len(result), "model.onnx")
        save("batch", "symbolic.onnx")
        described = []
        given = [key for key in self.inputs if not self.isInside(key)]
        for i, key in enumerate(given):
            value = self.inputs[key][0]
            numpy.save(folder / f"in_{i}.npy", value)
            described.append({"name": key, "file": f"in_{i}.npy", "const": False})
        numpy.save(folder / "out_0.npy", result)
        case = {"name": self.name, "expect": "pass", "reason": "", "operators": [],
                "model": "model.onnx", "inputs": described,
                "outputs": [{"name": "result", "file": "out_0.npy", "norm": 2e-3}],
                "symbolic": {"model": "symbolic.onnx"}}
        (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    for seed, arguments in enumerate(CASES):
        Case(*arguments, seed=seed).write(folder)


if __name__ == "__main__":
    main()
