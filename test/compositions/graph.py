# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph under construction: nodes, constants, inputs and the sizes of all."""

import random

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

# What a named dimension may be where a model runs.
NAMED = {"batch": (1, 2, 5, 9, 33), "seq": (1, 3, 6)}


class Graph:
    """Sizes are lists of integers and of names of dimensions."""

    def __init__(self, seed, dtype):
        self.random = random.Random(seed)
        self.numbers = numpy.random.default_rng(seed)
        self.dtype = dtype
        self.nodes, self.constants, self.inputs, self.outputs = [], [], {}, []
        self.sizes = {}
        self.values = []  # inputs and results of the type
        self.limits = {}  # of inputs that are indices
        self.masks = set()  # inputs that are bool

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, *choices):
        return self.random.choice(choices)

    def newName(self):
        return f"v{len(self.sizes)}"

    def node(self, operator, inputs, sizes, isValue=True, **attributes):
        """`isValue`: whether the result is one of the type."""
        name = self.newName()
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        self.sizes[name] = list(sizes)
        if isValue and operator != "Shape":
            self.values.append(name)
        return name

    def pointwise(self, operator, *inputs):
        """An operator whose result has its first operand's sizes."""
        return self.node(operator, list(inputs), self.sizes[inputs[0]])

    def split(self, value, parts, axis):
        """Halves, thirds, ...: as many values as there are parts."""
        names = []
        for part in parts:
            names.append(self.newName())
            self.sizes[names[-1]] = [*self.sizes[value]]
            self.sizes[names[-1]][axis] = part
            self.values.append(names[-1])
        self.nodes.append(helper.make_node("Split", [value, self.indices(*parts)], names,
                                           axis=axis))
        return names

    def constant(self, array):
        array = numpy.asarray(array)
        name = self.newName()
        self.constants.append(numpy_helper.from_array(array, name))
        self.sizes[name] = list(array.shape)
        return name

    def scalar(self, value):
        return self.constant(numpy.array(value, self.dtype))

    def indices(self, *values):
        return self.constant(numpy.array(values, numpy.int64))

    def weight(self, *sizes, scale=None):
        """Of a product, so that it keeps the size of what it multiplies."""
        scale = scale or sizes[-2] ** -0.5
        values = self.numbers.standard_normal(sizes) * scale
        return self.constant(values.astype(self.dtype))

    def input(self, sizes, limit=None):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.sizes[name] = list(sizes)
        if limit:
            self.limits[name] = limit
        else:
            self.values.append(name)
        return name

    def mask(self, sizes):
        """An input of bool, or a constant of it where the sizes are known."""
        if all(map(isFixed, sizes)) and self.chance(0.3):
            return self.constant(self.numbers.integers(0, 2, sizes).astype(bool))
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.sizes[name] = list(sizes)
        self.masks.add(name)
        return name

    def number(self, mask):
        """Of the type of the values: 0 or 1."""
        return self.node("Cast", [mask], self.sizes[mask],
                         to=helper.np_dtype_to_tensor_dtype(numpy.dtype(self.dtype)))

    def unsqueeze(self, value, axis, isValue=True):
        sizes = [*self.sizes[value]]
        sizes.insert(axis, 1)
        return self.node("Unsqueeze", [value, self.indices(axis)], sizes, isValue)

    def model(self):
        element = helper.np_dtype_to_tensor_dtype(numpy.dtype(self.dtype))
        types = {name: TensorProto.INT64 for name in self.limits}
        types.update({name: TensorProto.BOOL for name in self.masks})
        inputs = [helper.make_tensor_value_info(name, types.get(name, element), sizes)
                  for name, sizes in self.inputs.items()]
        outputs = [helper.make_tensor_value_info(name, element, None) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "composition", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                                 ir_version=9)

    def feeds(self):
        """Random inputs for one choice of the named dimensions."""
        chosen = {name: self.pick(*choices) for name, choices in NAMED.items()}
        result = {}
        for name, sizes in self.inputs.items():
            sizes = [chosen.get(size, size) for size in sizes]
            result[name] = (
                self.numbers.integers(0, self.limits[name], sizes) if name in self.limits
                else self.numbers.integers(0, 2, sizes).astype(bool) if name in self.masks
                else self.numbers.standard_normal(sizes).astype(self.dtype))
        return result


def isFixed(size):
    return isinstance(size, int)
