# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A lookup in one table of so many rows and columns: make_table.py FILE ROWS COLUMNS."""

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

rows, columns = map(int, sys.argv[2:])
table = numpy.arange(rows * columns, dtype=numpy.float32).reshape(rows, columns)
graph = helper.make_graph(
    [helper.make_node("Gather", ["table", "ids"], ["rows"]),
     helper.make_node("Relu", ["rows"], ["out"])], "tables",
    [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch"])],
    [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch", columns])],
    [numpy_helper.from_array(table, "table")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
          sys.argv[1])
