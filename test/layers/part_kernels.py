# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of one kernel each that multiplies nothing, for probes of the cost model:
what bounds them differs, and a kernel has several candidates."""

import onnx
from onnx import TensorProto, helper

TYPES = {"fp32": TensorProto.FLOAT, "fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}


def addRelu(op):
    return op("Relu", op("Add", "x", "y"))


def gelu(op):
    return op("Gelu", "x")


def transpose(op):
    return op("Transpose", "x", perm=[1, 0])


def softmax(op):
    return op("Softmax", "x", axis=-1)


def logSumExp(op):
    return op("ReduceLogSumExp", "x", "last", keepdims=0)


def norm(op):
    mean = op("ReduceMean", "x", "last")
    less = op("Sub", "x", mean)
    square = op("ReduceMean", op("Mul", less, less), "last")
    return op("Div", less, op("Sqrt", op("Add", square, "small")))


def meanOfMiddle(op):
    return op("ReduceMean", "x", "middle", keepdims=0)


def cumulate(op):
    return op("CumSum", "x", "along")


SHAPES = [("add_relu", addRelu, "fp32", (4096, 4096), (511, 129)),
          ("gelu", gelu, "fp16", (16384, 4096)),
          ("transpose", transpose, "fp16", (4096, 4096)),
          ("transpose", transpose, "fp32", (1021, 4099)),
          ("softmax", softmax, "fp32", (256, 65536), (8192, 2048), (4097, 1001)),
          ("softmax", softmax, "fp16", (131072, 512)),
          ("log_sum_exp", logSumExp, "bf16", (2048, 32000)),
          ("norm", norm, "fp16", (8192, 4096)), ("norm", norm, "fp32", (65536, 96)),
          ("mean_of_middle", meanOfMiddle, "fp16", (64, 1024, 512)),
          ("mean_of_middle", meanOfMiddle, "fp32", (8, 4096, 64)),
          ("cumulate", cumulate, "fp32", (4096, 4096))]
# name: (what it computes, element type, sizes of the inputs)
PARTS = {f"part_{name}_{dtype}_{'x'.join(map(str, shape))}": (function, dtype, shape)
         for name, function, dtype, *shapes in SHAPES for shape in shapes}


def writePart(folder, name):
    """The part's model."""
    function, dtype, shape = PARTS[name]
    nodes = []

    def op(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, list(inputs), [f"v{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    output = function(op)
    used = {name for node in nodes for name in node.input}
    numbers = {"last": [-1], "middle": [1]}
    constants = [helper.make_tensor(name, TensorProto.INT64, [1], value)
                 for name, value in numbers.items() if name in used]
    if "along" in used:
        constants.append(helper.make_tensor("along", TensorProto.INT64, [], [1]))
    if "small" in used:
        constants.append(helper.make_tensor("small", TYPES[dtype], [], [1e-5]))
    inputs = [helper.make_tensor_value_info(name, TYPES[dtype], shape)
              for name in ("x", "y") if name in used]
    results = [helper.make_tensor_value_info(output, TYPES[dtype], None)]
    graph = helper.make_graph(nodes, name, inputs, results, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    return path
