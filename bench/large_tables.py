# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A recommender's tables of any size, to see what becomes of those that do not fit.

    bench/large_tables.py model.onnx --gigabytes=50

Each column of `ids` [batch, tables * bag] names rows of a table, which are summed
and put side by side. Element i of all tables together, in their order, is
i mod 2039: a number that fp16 has, and that tells rows apart. The model needs the
package onnx, its data (`--only=data`) Python alone."""

import argparse
import array
import pathlib

PERIOD = 2039
BYTES = {"fp16": 2, "fp32": 4}


def countRows(options):
    return int(options.gigabytes * 1e9) // (
        options.tables * options.width * BYTES[options.dtype])


def writeData(path, options):
    """A block of whole periods over and over."""
    import struct  # fp16 is no type of arrays
    count = 4096 * PERIOD
    numbers = range(PERIOD)
    if options.dtype == "fp16":
        period = struct.pack(f"<{PERIOD}e", *numbers)
    else:
        period = array.array("f", numbers).tobytes()
    block = memoryview(period * (count // PERIOD))
    rows = countRows(options)
    stored = rows + options.tables if options.shared else options.tables * rows
    left = stored * options.width * BYTES[options.dtype]
    with open(path, "wb") as file:
        while left:
            left -= file.write(block[:min(left, len(block))])


def addBag(nodes, table, options):
    """The sum of a table's rows as PyTorch exports it: in fp32 where there are several."""
    from onnx import TensorProto, helper
    node = lambda kind, inputs, output, **attributes: nodes.append(
        helper.make_node(kind, inputs, [f"{output}_{table}"], **attributes))
    node("Slice", ["ids", f"begin_{table}", f"end_{table}", "one"], "columns")
    node("Gather", [f"table_{table}", f"columns_{table}"], "rows")
    half = options.dtype == "fp16"
    if half:
        node("Cast", [f"rows_{table}"], "wide", to=TensorProto.FLOAT)
    node("ReduceSum", [f"{'wide' if half else 'rows'}_{table}", "one"], "sum", keepdims=0)
    if half:
        node("Cast", [f"sum_{table}"], "half", to=TensorProto.FLOAT16)
    return f"{'half' if half else 'sum'}_{table}"


def writeModel(path, data, options):
    import onnx
    from onnx import TensorProto, helper
    dtype = TensorProto.FLOAT16 if options.dtype == "fp16" else TensorProto.FLOAT
    rows = countRows(options)
    row = options.width * BYTES[options.dtype]
    size, step = rows * row, row if options.shared else rows * row
    constant = lambda name, value: helper.make_tensor(name, TensorProto.INT64, [1], [value])
    constants, nodes, sums = [constant("one", 1)], [], []
    for table in range(options.tables):
        weight = TensorProto(name=f"table_{table}", data_type=dtype, dims=[rows, options.width],
                             data_location=TensorProto.EXTERNAL)
        for key, value in (("location", data.name), ("offset", table * step), ("length", size)):
            weight.external_data.add(key=key, value=str(value))
        constants += [weight, constant(f"begin_{table}", table * options.bag),
                      constant(f"end_{table}", (table + 1) * options.bag)]
        sums.append(addBag(nodes, table, options))
    nodes.append(helper.make_node("Concat", sums, ["out"], axis=1))
    graph = helper.make_graph(
        nodes, "tables",
        [helper.make_tensor_value_info("ids", TensorProto.INT64,
                                       ["batch", options.tables * options.bag])],
        [helper.make_tensor_value_info("out", dtype, ["batch", options.tables * options.width])],
        constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), path)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=pathlib.Path, help="the data lies beside it, as MODEL.bin")
    parser.add_argument("--gigabytes", type=float, default=1, help="of all tables (10^9 bytes)")
    parser.add_argument("--tables", type=int, default=26)
    parser.add_argument("--width", type=int, default=128, help="columns of a table")
    parser.add_argument("--bag", type=int, default=1, help="rows of a sum")
    parser.add_argument("--dtype", choices=BYTES, default="fp16")
    parser.add_argument("--shared", action="store_true",
                        help="data of one table for all: each begins a row behind the last")
    parser.add_argument("--only", choices=("model", "data"), help="one of the two files")
    return parser.parse_args()


def main():
    options = parse()
    data = options.model.with_suffix(".bin")
    if options.only != "data":
        writeModel(options.model, data, options)
    if options.only != "model":
        writeData(data, options)


if __name__ == "__main__":
    main()
