# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of norms, softmax and ranges along axes that have columns behind them, too long
for a block: what they store at every point is a step of its own."""

import numpy
from onnx import helper

from cases import TYPES, Case, nameOf

# Few columns, a line of them and more, and parts that are not full.
COLUMNS = [("f32", (40003, 3), (0,)), ("f16", (12011, 24), (0,)), ("f32", (2, 6001, 40), (1,)), ("bf16", (8192, 64), (0,))]


def makeNorms():
    for kind, sizes, axes in COLUMNS:
        allowed = {"f32": 1e-4, "f16": 4e-3, "bf16": 3e-2}[kind]
        case = Case(nameOf("column_norm", kind, sizes, *axes), allowed)
        x = (case.draw(kind, *sizes) + 1).astype(TYPES[kind][0])
        apart = case.node("Sub", case.input("x", x), case.node("ReduceMean", "x", axes=axes))
        variance = case.node("ReduceMean", case.node("Mul", apart, apart), axes=axes)
        root = case.node("Sqrt", case.node("Add", variance, case.constant(numpy.array(1e-5, TYPES[kind][0]))))
        # What rows have is stored, too.
        case.nodes.append(helper.make_node("Div", [apart, root], ["y"]))
        case.nodes.append(helper.make_node("Neg", [root], ["z"]))
        wide = x.astype(float)
        root = numpy.sqrt(wide.var(axes, keepdims=True) + 1e-5)
        case.output("y", (wide - wide.mean(axes, keepdims=True)) / root, kind)
        case.output("z", -root, kind)
        yield case
        case = Case(nameOf("column_ranges", kind, sizes, *axes), allowed)
        name = case.input("x", x)
        least, most = (case.node(operator, name, axes=axes) for operator in ("ReduceMin", "ReduceMax"))
        case.nodes.append(helper.make_node("Div", [case.node("Sub", name, least), case.node("Sub", most, least)], ["y"]))
        low, high = wide.min(axes, keepdims=True), wide.max(axes, keepdims=True)
        case.output("y", (wide - low) / (high - low), kind)
        yield case


def makeSoftmax():
    for kind, sizes, axes in COLUMNS:
        for operator in ("Softmax", "LogSoftmax"):
            case = Case(nameOf(f"column_{operator.lower()}", kind, sizes, *axes), {"f32": 1e-5, "f16": 2e-3, "bf16": 2e-2}[kind])
            x = case.draw(kind, *sizes)
            # A part whose items are all infinite, a column of such, and a large value.
            columns = x.reshape(-1, sizes[-1])
            columns[:len(columns) // 2, 0] = -numpy.inf
            columns[:, 1] = -numpy.inf
            columns[-1, 2] = 1e4
            case.nodes.append(helper.make_node(operator, [case.input("x", x)], ["y"], axis=axes[0]))
            with numpy.errstate(invalid="ignore"):
                below = x.astype(float) - x.astype(float).max(axes, keepdims=True)
            power = numpy.exp(below)
            total = power.sum(axes, keepdims=True)
            case.output("y", below - numpy.log(total) if operator == "LogSoftmax" else power / total, kind)
            yield case


def makeAll():
    yield from makeNorms()
    yield from makeSoftmax()
