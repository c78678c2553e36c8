# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of the node tests' form: a model, inputs, and what numpy expects."""

import json

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"bf16": (ml_dtypes.bfloat16, TensorProto.BFLOAT16), "f16": (numpy.float16, TensorProto.FLOAT16),
         "f32": (numpy.float32, TensorProto.FLOAT), "f64": (numpy.float64, TensorProto.DOUBLE),
         "i8": (numpy.int8, TensorProto.INT8), "i32": (numpy.int32, TensorProto.INT32),
         "i64": (numpy.int64, TensorProto.INT64), "i16": (numpy.int16, TensorProto.INT16),
         "u8": (numpy.uint8, TensorProto.UINT8), "bool": (numpy.bool_, TensorProto.BOOL)}
NUMBERS = {numpy.dtype(numbers): type_ for numbers, type_ in TYPES.values()}


class Case:
    """A graph in the making, and beside it what each of its values is. `batch` names
    the first size of all inputs, or the first sizes of each that it has names for."""

    def __init__(self, name, norm, batch="batch", opset=17):
        self.name, self.norm, self.batch = name, norm, batch
        self.random = numpy.random.default_rng(sum(name.encode()))
        self.nodes, self.constants, self.inputs, self.outputs = [], [], {}, {}
        self.opsets = {"": opset}

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

    def constant4(self, value, kind):
        """Of TensorProto's INT4 or UINT4."""
        name = f"c{len(self.constants)}"
        halves = numpy.append(value.reshape(-1), [0] * (value.size % 2)).astype(numpy.uint8) & 15
        data = (halves[::2] | halves[1::2] << 4).astype(numpy.uint8).tobytes()
        self.constants.append(helper.make_tensor(name, kind, value.shape, data, raw=True))
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
            names = batch.get(key) if isinstance(batch, dict) else batch
            if names and isInput and shape:
                names = (names,) if isinstance(names, str) else names
                shape[:len(names)] = names
            return helper.make_tensor_value_info(key, NUMBERS[value.dtype], shape)
        graph = helper.make_graph(
            self.nodes, "parts", [info(key, value, True) for key, value in self.inputs.items()],
            [info(key, value, False) for key, value in self.outputs.items()], self.constants)
        opsets = [helper.make_opsetid(*each) for each in self.opsets.items()]
        model = helper.make_model(graph, ir_version=9, opset_imports=opsets)
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
