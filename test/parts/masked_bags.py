# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of bags whose rows a mask of their own ids leaves out, as models of histories
that end in padding are exported: sums and means, alone and beside others."""

import numpy
from onnx import helper

from cases import TYPES, Case, nameOf

ROWS = 40

# How the mask is said, type, index type, id that is left out, ids of a bag, bags, width.
MASKED = [("mul", "f32", "i64", 0, 10, 33, 64), ("mul", "f16", "i32", 7, 3, 50, 100),
          ("where", "f32", "i64", 39, 5, 40, 3), ("where", "f16", "i64", 0, 70, 9, 128),
          ("fill", "f32", "i32", 0, 1, 30, 16), ("fill", "f16", "i64", 12, 40, 12, 300),
          ("weights", "f32", "i64", 0, 6, 20, 48), ("chain", "f32", "i64", 3, 12, 31, 8),
          ("mean", "f32", "i64", 0, 10, 33, 64), ("mean", "f32", "i32", 5, 2, 40, 1),
          ("epsilon", "f32", "i64", 0, 50, 21, 32), ("absent", "f32", "i64", 1000, 4, 10, 16),
          ("infinite", "f32", "i64", 2, 6, 25, 24), ("max", "f32", "i64", 0, 4, 17, 8),
          ("others", "f32", "i64", 0, 8, 15, 16), ("positive", "f32", "i64", 0, 8, 15, 16),
          ("mean", "f32", "i64", 0, 300, 4, 64), ("where", "f16", "i64", 7, 120, 5, 128),
          # Of ids above a number.
          ("above_mul", "f32", "i64", 0, 10, 33, 64), ("above_mul", "f16", "i32", 7, 3, 50, 100),
          ("above_where", "f16", "i64", 5, 70, 9, 128), ("above_fill", "f32", "i32", 0, 1, 30, 16),
          ("above_weights", "f32", "i64", 0, 6, 20, 48), ("above_chain", "f32", "i64", 3, 12, 31, 8),
          ("above_mean", "f32", "i64", 0, 10, 33, 64), ("above_epsilon", "f32", "i64", 2, 50, 21, 32),
          ("above_infinite", "f32", "i64", 2, 6, 25, 24), ("above_all", "f32", "i64", 39, 6, 9, 8)]


def unsqueeze(case, name):
    return case.node("Unsqueeze", name, case.constant(numpy.array([2])))


def drawIds(case, bags, count, number):
    """Every third is that number, or the row's other number, and a bag is nothing else."""
    ids = case.random.integers(-ROWS, ROWS, (bags, count))
    if number < ROWS:
        ids.flat[::3] = number
        ids.flat[1::7] = number - ROWS
        ids[bags // 2] = number
    return ids


def buildMask(case, form, ids, number, kind):
    """Whether an id is kept, as a bool of [bags, count]; and as floats."""
    constant = case.constant(numpy.array(number, case.inputs["ids"].dtype))
    if form == "positive" or form.startswith("above"):
        next_ = case.constant(numpy.array(number + 1, case.inputs["ids"].dtype))
        kept = {0: lambda: case.node("Greater", "ids", constant),
                1: lambda: case.node("Less", constant, "ids"),
                2: lambda: case.node("GreaterOrEqual", "ids", next_),
                3: lambda: case.node("Not", case.node("LessOrEqual", "ids", constant)),
                4: lambda: case.node("Not", case.node("Less", "ids", next_))}[len(form) % 5]()
        return kept, ids > number
    if form == "others":  # of other ids
        flipped = case.inputs["jds"] = ids[:, ::-1].copy()
        return case.node("Not", case.node("Equal", "jds", constant)), flipped != number
    return case.node("Not", case.node("Equal", "ids", constant)), ids != number


def makeMasked():
    for form, kind, index, number, count, bags, width in MASKED:
        case = Case(nameOf(f"masked_{form}", kind, (bags, count, width), number), 2e-3 if kind == "f16" else 1e-5)
        table = case.draw(kind, ROWS, width)
        ids = drawIds(case, bags, count, number)
        case.input("ids", ids.astype(TYPES[index][0]))
        # Where, unlike a product, leaves out what is infinite, too.
        if form.endswith("infinite"):
            table[number] = numpy.inf
            ids[ids == number - ROWS] = number + 1
            case.input("ids", ids.astype(TYPES[index][0]))
        gathered, axis = case.node("Gather", case.constant(table), "ids", axis=0), case.constant(numpy.array([1]))
        kept, isKept = buildMask(case, form, ids, number, kind)
        form = form.removeprefix("above_")
        weights = numpy.ones((bags, count))
        zero = case.constant(numpy.array(0, TYPES[kind][0]))
        if form in ("where", "infinite", "max"):
            rows = case.node("Where", unsqueeze(case, kept), gathered, zero)
        elif form == "fill":
            rows = case.node("Where", unsqueeze(case, case.node("Not", kept)), zero, gathered)
        else:
            mask = case.node("Cast", kept, to=TYPES[kind][1])
            if form in ("weights", "chain"):
                weights = case.draw(kind, bags, count)
                case.input("w", weights)
            if form == "weights":
                mask = case.node("Mul", "w", mask)
            elif form == "chain":
                gathered = case.node("Mul", gathered, unsqueeze(case, "w"))
            rows = case.node("Mul", gathered, unsqueeze(case, mask))
        with numpy.errstate(invalid="ignore"):
            expected = numpy.where(isKept[..., None], table.astype(float)[ids % ROWS if number < ROWS else ids]
                                   * weights[..., None], 0)
        if form == "max":
            case.nodes.append(helper.make_node("ReduceMax", [rows], ["y"], axes=[1], keepdims=0))
            case.output("y", expected.max(1), kind)
            yield case
            continue
        total, expected = case.node("ReduceSum", rows, axis, keepdims=0), expected.sum(1)
        if form in ("mean", "epsilon"):
            number = case.node("ReduceSum", unsqueeze(case, mask), axis, keepdims=0)
            number = case.node("Max", number, case.constant(numpy.float32([1]))) if form == "mean" else \
                case.node("Add", number, case.constant(numpy.float32([1e-8])))
            total = case.node("Div", total, number)
            expected = expected / numpy.maximum(isKept.sum(1), 1)[:, None]
        case.nodes.append(helper.make_node("Identity", [total], ["y"]))
        case.output("y", expected, kind)
        yield case


# What lies beside a masked mean in a concat, in this order; "mean" of other ids.
BESIDE = [("lookup", "mean"), ("mean", "sum", "lookup"), ("dense", "lookup", "mean", "mean"),
          ("sum", "mean", "max"), ("lookup", "max"), ("named", "mean"), ("masked", "mean", "lookup", "masked"),
          ("above", "lookup", "above"), ("above", "mean", "sum")]


def buildPart(case, what, number):
    """A part of the concat, and what is expected of it."""
    bags, width, count = 37, 8 * (number + 1), 3 + 2 * number
    axis = case.constant(numpy.array([1]))
    if what == "dense":
        x = case.draw("f32", bags, width)
        return case.node("Relu", case.input(f"x{number}", x)), numpy.maximum(x, 0)
    table, name = case.draw("f32", ROWS, width), f"ids{number}"
    ids = drawIds(case, bags, count, 0)
    if what == "lookup":
        ids = ids[:, 0]
    case.input(name, ids)
    gathered = case.node("Gather", case.constant(table), name, axis=0)
    rows = table.astype(float)[ids]
    if what == "lookup":
        return gathered, rows
    if what == "max":
        return case.node("ReduceMax", gathered, axes=[1], keepdims=0), rows.max(1)
    if what in ("mean", "masked", "above"):
        zero, isKept = case.constant(numpy.array(0)), ids > 0 if what == "above" else ids != 0
        kept = case.node("Greater", name, zero) if what == "above" else case.node("Not", case.node("Equal", name, zero))
        mask = case.node("Cast", kept, to=TYPES["f32"][1])
        gathered = case.node("Mul", gathered, unsqueeze(case, mask))
        rows = rows * isKept[..., None]
    total, expected = case.node("ReduceSum", gathered, axis, keepdims=0), rows.sum(1)
    if what in ("mean", "above"):
        count = case.node("ReduceSum", mask, axis, keepdims=1)
        total = case.node("Div", total, case.node("Max", count, case.constant(numpy.float32([1]))))
        expected = expected / numpy.maximum(isKept.sum(1), 1)[:, None]
    return total, expected


def concatParts(case, parts, built):
    if "named" in parts:  # how many ids its bags have is a name
        case.batch = {key: ("batch", "length") if key == f"ids{parts.index('named')}" else "batch"
                      for key in case.inputs}
    case.nodes.append(helper.make_node("Concat", [part for part, _ in built], ["y"], axis=1))
    case.output("y", numpy.concatenate([expected for _, expected in built], 1), "f32")


def makeBeside():
    for parts in BESIDE:
        case = Case(nameOf("masked_beside", "f32", (37, len(parts)), *parts), 1e-5)
        concatParts(case, parts, [buildPart(case, what, number) for number, what in enumerate(parts)])
        yield case


def makeAll():
    for make in (makeMasked, makeBeside):
        yield from make()
