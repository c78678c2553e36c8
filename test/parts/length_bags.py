# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of bags whose rows a mask made from lengths leaves out, arange(k) < length, as
models of histories are exported: sums, means and maxima, alone and beside others."""

import numpy
from onnx import helper

from cases import TYPES, Case, nameOf
from masked_bags import concatParts

ROWS = 40

# How the mask is said, type, index type, type of lengths, ids of a bag, bags, width.
LENGTHS = [("mul", "f32", "i64", "i64", 10, 33, 64), ("mul", "f16", "i32", "i32", 3, 50, 100),
           ("mul", "f16", "i64", "i16", 70, 9, 128), ("where", "f32", "i64", "i32", 5, 40, 3),
           ("where", "f16", "i64", "u8", 300, 6, 48), ("fill", "f32", "i32", "i64", 2, 30, 16),
           ("fill", "f16", "i64", "i32", 2500, 4, 64), ("greater", "f32", "i64", "i64", 12, 31, 8),
           ("weights", "f32", "i64", "i64", 6, 20, 48), ("chain", "f32", "i64", "i32", 4, 31, 8),
           ("mean", "f32", "i64", "i64", 10, 33, 64), ("mean", "f16", "i64", "i32", 40, 12, 128),
           ("divide", "f32", "i64", "i64", 10, 33, 64), ("divide", "f16", "i64", "i32", 7, 33, 16),
           ("clamp", "f32", "i64", "i32", 8, 21, 32), ("epsilon", "f32", "i64", "i64", 50, 21, 32),
           ("max", "f32", "i64", "i64", 10, 33, 64), ("max", "f16", "i64", "i32", 3, 21, 100),
           ("most", "f32", "i64", "i64", 70, 9, 24), ("nought", "f32", "i64", "i64", 8, 15, 16),
           ("infinite", "f32", "i64", "i64", 6, 25, 24), ("two", "f32", "i64", "i64", 6, 25, 24),
           ("atmost", "f32", "i64", "i64", 6, 25, 24), ("few", "f32", "i64", "i64", 200, 3, 256)]


def unsqueeze(case, name, *axes):
    return case.node("Unsqueeze", name, case.constant(numpy.array(axes)))


def drawLengths(case, kind, bags, count):
    """None, all, more than there are, and less than none."""
    least = 0 if kind[0] == "u" else -3
    lengths = case.random.integers(least, min(count + 4, 256), bags)
    lengths[:3] = [0, count % 256, max(least, -1)]
    return lengths.astype(TYPES[kind][0])


def buildMask(case, form, name, lengths, count):
    """Whether a place is within the length, as a bool of [bags, count]."""
    wide = unsqueeze(case, name, 1)
    if lengths.dtype != numpy.int64:
        wide = case.node("Cast", wide, to=TYPES["i64"][1])
    places = case.constant(numpy.arange(count))
    within = numpy.arange(count) < lengths.astype(int)[:, None]
    if form == "atmost":  # a place more: no such mask
        return case.node("LessOrEqual", places, wide), numpy.arange(count) <= lengths[:, None]
    if form == "greater":
        return case.node("Greater", wide, places), within
    if form in ("fill", "max"):
        return case.node("Not", case.node("GreaterOrEqual", places, wide)), within
    return case.node("Less", places, wide), within


def reduceMean(case, form, total, mask, name, lengths, isWithin, expected, kind):
    """The sum over what the form says; and what is expected of it."""
    one = lambda dtype: case.constant(numpy.array(1, dtype))
    if form == "mean":
        number = case.node("ReduceSum", mask, case.constant(numpy.array([1])), keepdims=1)
        number, divisor = case.node("Max", number, one(TYPES[kind][0])), numpy.maximum(isWithin.sum(1), 1)
    else:
        divisor = lengths.astype(float)
        if form == "clamp":
            name, divisor = case.node("Max", name, one(lengths.dtype)), numpy.maximum(divisor, 1)
        number = case.node("Cast", unsqueeze(case, name, 1), to=TYPES[kind][1])
        if form == "epsilon":
            number = case.node("Add", number, case.constant(numpy.float32([1e-8])))
            divisor = divisor + 1e-8
    return case.node("Div", total, number), expected / divisor[:, None]


def makeLengths():
    for form, kind, index, ofLengths, count, bags, width in LENGTHS:
        case = Case(nameOf(f"lengths_{form}", kind, (bags, count, width), index, ofLengths),
                    2e-3 if kind == "f16" else 1e-5)
        number, table = TYPES[kind][0], case.draw(kind, ROWS, width)
        ids = case.random.integers(-ROWS, ROWS, (bags, count))
        lengths = drawLengths(case, ofLengths, bags, count)
        if form == "divide":  # 0 / 0 is no number
            lengths[lengths == 0] = 2
        case.input("ids", ids.astype(TYPES[index][0]))
        case.input("lengths", lengths)
        kept, isWithin = buildMask(case, form, "lengths", lengths, count)
        if form == "infinite":  # Where leaves out what is infinite, too.
            table[7] = numpy.inf
            ids = numpy.where(isWithin & (ids % ROWS == 7), 8, ids)
            case.input("ids", ids.astype(TYPES[index][0]))
        gathered = case.node("Gather", case.constant(table), "ids", axis=0)
        weights, fill = numpy.ones((bags, count)), 0
        if form in ("where", "fill", "infinite", "max", "most"):
            fill = {"max": -numpy.inf, "most": -0.5}.get(form, 0)
            other, kept = case.constant(number(fill)), unsqueeze(case, kept, 2)
            rows = case.node("Where", case.node("Not", kept), other, gathered) if form in ("fill", "max") else \
                case.node("Where", kept, gathered, other)
            mask = None
        else:
            mask = case.node("Cast", kept, to=TYPES[kind][1])
            scale = mask
            if form in ("weights", "chain"):
                weights = case.draw(kind, bags, count)
                case.input("w", weights)
            if form == "weights":
                scale = case.node("Mul", "w", mask)
            elif form == "chain":
                gathered = case.node("Mul", gathered, unsqueeze(case, "w", 2))
            rows = case.node("Mul", gathered, unsqueeze(case, scale, 2))
        expected = numpy.where(isWithin[..., None], table.astype(float)[ids] * weights[..., None], fill)
        if form in ("max", "most", "nought"):
            case.nodes.append(helper.make_node("ReduceMax", [rows], ["y"], axes=[1], keepdims=0))
            case.output("y", expected.max(1), kind)
            yield case
            continue
        total = case.node("ReduceSum", rows, case.constant(numpy.array([1])), keepdims=0)
        expected = expected.sum(1)
        if form in ("mean", "divide", "clamp", "epsilon"):
            total, expected = reduceMean(case, form, total, mask, "lengths", lengths, isWithin, expected, kind)
        if form == "two":  # the same mask for another table
            other = case.draw(kind, ROWS, 8)
            more = case.node("Mul", case.node("Gather", case.constant(other), "ids", axis=0), unsqueeze(case, mask, 2))
            more = case.node("ReduceSum", more, case.constant(numpy.array([1])), keepdims=0)
            total = case.node("Concat", total, more, axis=1)
            expected = numpy.concatenate(
                [expected, (other.astype(float)[ids] * isWithin[..., None]).sum(1)], 1)
        case.nodes.append(helper.make_node("Identity", [total], ["y"]))
        case.output("y", expected, kind)
        yield case


# What lies beside one another in a concat, in this order; lengths of each of its own,
# "same" those of the part before.
BESIDE = [("lookup", "sum"), ("mean", "lookup", "plain"), ("max", "sum"), ("plain", "max", "lookup", "hottest"),
          ("hottest", "mean", "max", "lookup"), ("sum", "same", "max", "dense", "lookup"), ("max", "mean", "sum"),
          ("divide", "lookup", "mean"), ("max", "hottest"), ("divide", "hottest", "plain", "divide"),
          ("hottest", "plain"), ("hottest", "named", "lookup")]


def buildPart(case, what, number, before):
    """A part of the concat, and what is expected of it."""
    bags, width, count = 37, 8 * (number + 1), 3 + 2 * number
    axis = case.constant(numpy.array([1]))
    if what == "dense":
        x = case.draw("f32", bags, width)
        return case.node("Relu", case.input(f"x{number}", x)), numpy.maximum(x, 0)
    table, name = case.draw("f32", ROWS, width), f"ids{number}"
    ids = case.random.integers(-ROWS, ROWS, (bags, count))
    if what == "lookup":
        ids = ids[:, 0]
    case.input(name, ids)
    gathered = case.node("Gather", case.constant(table), name, axis=0)
    rows = table.astype(float)[ids]
    if what == "lookup":
        return gathered, rows
    if what == "hottest":
        return case.node("ReduceMax", gathered, axes=[1], keepdims=0), rows.max(1)
    if what in ("plain", "named"):
        return case.node("ReduceSum", gathered, axis, keepdims=0), rows.sum(1)
    key = f"lengths{number - (what == 'same')}"
    if what != "same":
        before["lengths"] = drawLengths(case, "i64", bags, count)
        if what == "divide":
            before["lengths"] = numpy.maximum(before["lengths"], 1)
        case.input(key, before["lengths"])
    kept, isWithin = buildMask(case, "less", key, before["lengths"], count)
    if what == "max":
        rows = numpy.where(isWithin[..., None], rows, -1e30)
        gathered = case.node("Where", unsqueeze(case, kept, 2), gathered, case.constant(numpy.float32(-1e30)))
        return case.node("ReduceMax", gathered, axes=[1], keepdims=0), rows.max(1)
    mask = case.node("Cast", kept, to=TYPES["f32"][1])
    total = case.node("ReduceSum", case.node("Mul", gathered, unsqueeze(case, mask, 2)), axis, keepdims=0)
    expected = (rows * isWithin[..., None]).sum(1)
    if what in ("mean", "divide"):
        return reduceMean(case, what, total, mask, key, before["lengths"], isWithin, expected, "f32")
    return total, expected


def makeBeside():
    for parts in BESIDE:
        case, before = Case(nameOf("lengths_beside", "f32", (37, len(parts)), *parts), 1e-5), {}
        concatParts(case, parts, [buildPart(case, what, number, before) for number, what in enumerate(parts)])
        yield case


def makeAll():
    for make in (makeLengths, makeBeside):
        yield from make()
