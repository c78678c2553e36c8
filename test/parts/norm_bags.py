# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of what follows bags in their kernel: norms of their rows, and what is computed
point by point."""

import numpy
from onnx import helper

from bags import drawLengths, scanned
from cases import TYPES, Case, nameOf

ROWS = 40

# How a bag is reduced, what follows, type, ids of a bag, bags, width.
FOLLOWED = [("sum", "layer", "f32", 10, 33, 64), ("sum", "layer", "f16", 10, 70, 64),
            ("mean", "layer", "f16", 5, 40, 128), ("max", "layer", "f32", 6, 21, 48),
            ("sum", "layer", "f32", 3, 50, 1), ("mean", "layer", "f32", 40, 9, 3),
            ("sum", "layer", "f16", 2, 37, 16), ("max", "layer", "f16", 7, 33, 100),
            ("sum", "layer", "f16", 10, 20, 300), ("mean", "layer", "f32", 3, 20, 300),
            ("max", "layer", "f16", 12, 9, 300), ("sum", "layer", "f32", 4, 12, 512),
            ("sum", "layer", "f32", 9, 12, 520), ("sum", "expanded", "f32", 10, 33, 64),
            ("mean", "expanded", "f16", 4, 33, 48), ("sum", "rms", "f32", 10, 33, 128),
            ("max", "rms", "f16", 3, 33, 64), ("sum", "rms", "f16", 1, 33, 64),
            # Rows that several warps share, and more than a block finds at once.
            ("sum", "layer", "f32", 300, 5, 128), ("mean", "layer", "f16", 300, 3, 300),
            ("sum", "rms", "f32", 3000, 2, 16), ("max", "layer", "f32", 2500, 3, 48),
            ("weights", "layer", "f32", 10, 33, 64), ("weights", "rms", "f16", 70, 9, 100),
            ("padded", "layer", "f32", 6, 33, 16), ("padded", "layer", "f16", 40, 9, 128),
            ("lengths", "layer", "f32", 10, 33, 64), ("lengths", "rms", "f16", 3, 50, 48),
            ("lengths", "layer", "f16", 300, 6, 300), ("int8", "layer", "f32", 10, 33, 64),
            ("int8", "layer", "f16", 3, 33, 16), ("int8", "rms", "f32", 100, 5, 128),
            ("int8", "layer", "f32", 5, 33, 300), ("int8", "layer", "f32", 2, 33, 3),
            ("sum", "layer", "f32", 10, 0, 64),
            # Point by point, of any width; a position's row; softmax, and a row's norm.
            ("sum", "relu", "f16", 10, 33, 64), ("mean", "cast", "f32", 3, 33, 700),
            ("sum", "row", "f32", 5, 33, 100), ("max", "scale", "f16", 300, 5, 64),
            ("lengths", "relu", "f32", 6, 33, 128), ("int8", "relu", "f16", 7, 33, 48),
            ("sum", "softmax", "f32", 8, 33, 72), ("sum", "length", "f32", 8, 33, 64),
            # What else reads the bags gets them, too.
            ("sum", "both", "f32", 10, 33, 64), ("sum", "both", "f16", 6, 33, 300)]


def normalise(case, form, name, rows, kind):
    """The nodes of a norm over the last dimension, and what is expected of rows."""
    width, number = rows.shape[-1], TYPES[kind][0]
    gain, shift = case.draw(kind, width), case.draw(kind, width)
    one = lambda value: case.constant(numpy.array(value, number))
    axes = lambda: case.constant(numpy.array([-1]))
    mean = lambda value: (case.node("ReduceMean", value, axes(), keepdims=1) if case.opsets[""] > 17 else
                          case.node("ReduceMean", value, axes=[-1], keepdims=1))
    epsilon = 1e-3
    if form == "rms":
        root = case.node("Sqrt", case.node("Add", mean(case.node("Mul", name, name)), one(epsilon)))
        result = case.node("Mul", case.node("Div", name, root), case.constant(gain))
        return result, rows / numpy.sqrt((rows**2).mean(-1, keepdims=True) + epsilon) * gain
    centred = rows - rows.mean(-1, keepdims=True)
    expected = centred / numpy.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * gain + shift
    if form == "layer":
        return case.node("LayerNormalization", name, case.constant(gain), case.constant(shift), axis=-1,
                         epsilon=epsilon), expected
    apart = case.node("Sub", name, mean(name))
    root = case.node("Sqrt", case.node("Add", mean(case.node("Pow", apart, one(2))), one(epsilon)))
    scaled = case.node("Mul", case.node("Div", apart, root), case.constant(gain))
    return case.node("Add", scaled, case.constant(shift)), expected


def follow(case, form, name, rows, kind):
    """What follows a bag, and what is expected; the type of the result."""
    if form in ("layer", "expanded", "rms", "both"):
        return *normalise(case, "layer" if form == "both" else form, name, rows, kind), kind
    if form == "relu":
        return case.node("Relu", name), numpy.maximum(rows, 0), kind
    if form == "cast":
        return case.node("Cast", name, to=TYPES["f16"][1]), rows, "f16"
    if form == "scale":
        factor = case.draw(kind, 1)
        return case.node("Mul", name, case.constant(factor)), rows * factor, kind
    if form == "softmax":
        powers = numpy.exp(rows - rows.max(-1, keepdims=True))
        return case.node("Softmax", name, axis=-1), powers / powers.sum(-1, keepdims=True), kind
    if form == "length":
        squares = case.node("ReduceSum", case.node("Mul", name, name), case.constant(numpy.array([1])), keepdims=0)
        return case.node("Sqrt", squares), numpy.sqrt((rows**2).sum(-1)), kind
    added = case.draw(kind, *rows.shape)
    return case.node("Add", name, case.input("added", added)), rows + added, kind


def quantise(case, kind, width):
    """A table of bytes with a scale a row: its floats' node, and what they are."""
    table = case.random.integers(-128, 128, (ROWS, width))
    scales = (case.random.random(ROWS) / 64 + 0.01).astype(TYPES[kind][0])
    case.opsets = {"": 21}
    name = case.node("DequantizeLinear", case.constant(table.astype(numpy.int8)), case.constant(scales), axis=0)
    return name, table * scales.astype(float)[:, None]


def reduceRows(case, how, kind, count, bags, width):
    """The node of bags, and what it is expected to be."""
    axis, last = case.constant(numpy.array([1])), case.constant(numpy.array([2]))
    ids = case.random.integers(-ROWS, ROWS, (bags, count))
    if how == "int8":
        table, floats = quantise(case, kind, width)
    else:
        drawn = case.draw(kind, ROWS, width)
        table, floats = case.constant(drawn), drawn.astype(float)
    if how == "padded":
        ids[:, 1::2], ids[:1] = 7, 7  # the first bag has nothing else
    gathered, rows = case.node("Gather", table, case.input("ids", ids), axis=0), floats[ids]
    if how == "max":
        return case.node("ReduceMax", gathered, axes=[1], keepdims=0), rows.max(1)
    if how == "mean":
        return case.node("ReduceMean", gathered, axes=[1], keepdims=0), rows.mean(1)
    weights = None
    if how == "weights":
        weights = case.draw(kind, bags, count)
        factor = case.node("Unsqueeze", case.input("weights", weights), last)
    elif how == "padded":
        weights = ids != 7
        factor = case.node("Not", case.node("Equal", "ids", case.constant(numpy.array(7))))
    elif how == "lengths":
        lengths = case.random.integers(0, count + 2, bags)
        lengths[:2] = [0, count]
        weights = numpy.arange(count) < lengths[:, None]
        wide = case.node("Unsqueeze", case.input("lengths", lengths), axis)
        factor = case.node("Less", case.constant(numpy.arange(count)), wide)
    if weights is not None:
        if how != "weights":
            factor = case.node("Cast", case.node("Unsqueeze", factor, last), to=TYPES[kind][1])
        gathered, rows = case.node("Mul", gathered, factor), rows * weights[..., None]
    return case.node("ReduceSum", gathered, axis, keepdims=0), rows.sum(1)


def getNorm(kind):
    # Sums of halves are rounded before a norm makes them large.
    return 1e-2 if kind == "f16" else 1e-4


def makeFollowed():
    for how, form, kind, count, bags, width in FOLLOWED:
        case = Case(nameOf(f"bag_{how}_{form}", kind, (bags, count, width)), getNorm(kind))
        name, rows = reduceRows(case, how, kind, count, bags, width)
        result, expected, kind = follow(case, form, name, rows, kind)
        case.nodes.append(helper.make_node("Identity", [result], ["y"]))
        case.output("y", expected, kind)
        if form == "both":
            case.nodes.append(helper.make_node("Identity", [name], ["bags"]))
            case.output("bags", rows, kind)
        yield case


# Tables beside one another: how they are put together, what follows, type, ids of each
# one's bags, bags, widths.
TOGETHER = [("stack", "layer", "f32", (10, 10, 10), 33, (64, 64, 64)),
            ("stack", "layer", "f16", (3, 1, 12, 40), 33, (128, 128, 128, 128)),
            ("stack", "rms", "f16", (2, 7), 21, (300, 300)), ("stack", "layer", "f32", (5, 1), 9, (3, 3)),
            ("concat", "relu", "f32", (10, 1, 3), 33, (64, 16, 8)),
            ("concat", "row", "f16", (2, 100), 33, (24, 128)),
            # A norm of all columns is of rows that no warp holds.
            ("concat", "layer", "f32", (10, 3), 33, (64, 64)),
            ("add", "layer", "f32", (10, 3, 1), 33, (64, 64, 64)), ("add", "rms", "f16", (4, 100), 9, (48, 48)),
            ("add", "relu", "f32", (2, 2, 2, 2), 33, (3, 3, 3, 3))]


def makeTogether():
    for put, form, kind, counts, bags, widths in TOGETHER:
        case = Case(nameOf(f"bags_{put}_{form}", kind, (bags, *counts, widths[0])), getNorm(kind))
        axis, first, parts, expected = case.constant(numpy.array([1])), 0, [], []
        ids = case.random.integers(-ROWS, ROWS, (bags, sum(counts)))
        case.input("ids", ids)
        for count, width in zip(counts, widths):
            table = case.draw(kind, ROWS, width)
            taken = case.node("Slice", "ids", case.constant(numpy.array([first])),
                              case.constant(numpy.array([first + count])), axis)
            gathered = case.node("Gather", case.constant(table), taken, axis=0)
            total = case.node("ReduceSum", gathered, axis, keepdims=0)
            parts.append(case.node("Unsqueeze", total, axis) if put == "stack" else total)
            expected.append(table.astype(float)[ids[:, first:first + count]].sum(1))
            first += count
        if put == "add":
            name, rows = parts[0], sum(expected)
            for part in parts[1:]:
                name = case.node("Add", name, part)
        else:
            rows = (numpy.stack if put == "stack" else numpy.concatenate)(expected, 1)
            name = case.node("Concat", *parts, axis=1)
        result, expected, kind = follow(case, form, name, rows, kind)
        case.nodes.append(helper.make_node("Identity", [result], ["y"]))
        case.output("y", expected, kind)
        yield case


# Bags by offsets, of exporters' loops: mode, what follows, type, width, lengths of bags.
RANGED = [("Sum", "layer", "f32", 64, "mixed"), ("Mean", "layer", "f16", 48, "mixed"),
          ("Max", "rms", "f32", 100, "mixed"), ("Sum", "layer", "f16", 300, "mixed"),
          ("Mean", "layer", "f32", 128, "long"), ("Sum", "layer", "f32", 16, "empty"),
          ("Mean", "relu", "f32", 24, "mixed")]


def makeRanged():
    for mode, form, kind, width, how in RANGED:
        case = Case(nameOf(f"ranges_{form}", kind, (width,), mode, how), getNorm(kind),
                    batch={"ids": "n", "offsets": "bags"})
        table, lengths = case.draw(kind, ROWS, width), drawLengths(case, how)
        ends = numpy.cumsum(lengths)
        ids = case.random.integers(-ROWS, ROWS, ends[-1])
        case.input("ids", ids)
        case.input("offsets", numpy.concatenate([[0], ends[:-1]]))
        scanned(case, case.constant(table), mode, False, False, result="rows")
        rows = numpy.zeros((len(lengths), width))
        for bag, (end, length) in enumerate(zip(ends, lengths)):
            own = table.astype(float)[ids[end - length:end]]
            if length:
                rows[bag] = {"Sum": own.sum, "Mean": own.mean, "Max": own.max}[mode](0)
        result, expected, kind = follow(case, form, "rows", rows, kind)
        case.nodes.append(helper.make_node("Identity", [result], ["y"]))
        case.output("y", expected, kind)
        yield case


def makeAll():
    yield from makeFollowed()
    yield from makeTogether()
    yield from makeRanged()
