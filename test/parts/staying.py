# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of what stays in L2 as it is read: of as many rows as a name stands for when
compiling, a kernel moves more than L2 holds."""

import numpy
from onnx import helper

from cases import Case, nameOf

# Rows of whole vectors and such that begin anywhere.
LONG = [("f16", (7, 13001)), ("f32", (5, 12289)), ("bf16", (3, 16384)), ("i8", (3, 50003))]


def backwards(case):
    """Start, end, axis and step of a slice that turns rows round."""
    return [case.constant(numpy.array([number])) for number in (-1, -2**31, 1, -1)]


def makeLongMoves():
    for kind, sizes in LONG:
        rows, columns = sizes
        case = Case(nameOf("long_moves", kind, sizes), 0)
        x = case.draw(kind, *sizes)
        name = case.input("x", x)
        case.nodes.append(helper.make_node("Slice", [name, *backwards(case)], ["back"]))
        case.output("back", x[:, ::-1], kind)
        pads = case.constant(numpy.array([0, 3, 0, 5]))
        case.nodes.append(helper.make_node("Pad", [name, pads, case.constant(numpy.array(3, x.dtype))], ["padded"]))
        case.output("padded", numpy.pad(x, [(0, 0), (3, 5)], constant_values=3), kind)
        yield case
        case = Case(nameOf("long_back", kind, sizes), 0)
        turned = case.node("Slice", case.input("x", x), *backwards(case))
        case.nodes.append(helper.make_node("Neg", [turned], ["y"]))
        case.output("y", -x[:, ::-1], kind)
        yield case
        case = Case(nameOf("long_concat", kind, sizes), 0)
        widths = [16, columns - 80, 64]
        parts = [case.draw(kind, rows, width) for width in widths]
        names = [case.input(f"x{i}", part) for i, part in enumerate(parts)]
        case.nodes.append(helper.make_node("Neg", [case.node("Concat", *names, axis=1)], ["y"]))
        case.output("y", -numpy.concatenate(parts, 1), kind)
        yield case
        # Rows that indices name, some of them twice.
        case = Case(nameOf("long_gather", kind, sizes), 0, batch={"ids": "rows"})
        table = case.draw(kind, 97, columns)
        ids = case.random.integers(-97, 97, 33)
        picked = case.node("Gather", case.input("x", table), case.input("ids", ids), axis=0)
        case.nodes.append(helper.make_node("Neg", [picked], ["y"]))
        case.output("y", -table[ids], kind)
        yield case


# What several loads share out: halves, neighbours in pairs, three parts, and channels.
SHARED = [("f16", (5, 18000)), ("f32", (3, 12288)), ("bf16", (3, 16386)), ("f16", (3, 13002))]


def makeSharedReads():
    for kind, sizes in SHARED:
        columns, norm = sizes[1], {"f32": 1e-6, "f16": 1e-3, "bf16": 1e-2}[kind]
        for form in ("halves", "pairs"):
            case = Case(nameOf("long_" + form, kind, sizes), norm)
            x = case.draw(kind, *sizes)
            name = case.input("x", x)
            first, second = ((slice(0, columns // 2), slice(columns // 2, None)) if form == "halves" else
                             (slice(0, None, 2), slice(1, None, 2)))
            a, b = [case.node("Slice", name, *[case.constant(numpy.array([number])) for number in
                                               (place.start, place.stop or columns, 1, place.step or 1)])
                    for place in (first, second)]
            joined = case.node("Concat", case.node("Sub", a, b), case.node("Add", a, b), axis=1)
            case.nodes.append(helper.make_node("Neg", [joined], ["y"]))
            wide = x.astype(float)
            case.output("y", -numpy.concatenate([wide[:, first] - wide[:, second], wide[:, first] + wide[:, second]], 1),
                        kind)
            yield case
        case = Case(nameOf("long_split", kind, sizes), 0)
        x = case.draw(kind, *sizes)
        case.nodes.append(helper.make_node("Split", [case.input("x", x)], ["a", "b", "c"], axis=1))
        for name, part in zip("abc", numpy.split(x, 3, 1)):
            case.nodes.append(helper.make_node("Neg", [name], [name + "_negative"]))
            case.output(name + "_negative", -part, kind)
        yield case
        case = Case(nameOf("long_image", kind, (sizes[0], 24, 256, 3)), 0)
        x = case.draw(kind, sizes[0], 24, 256, 3)
        turned = case.node("Transpose", case.input("x", x), perm=(0, 3, 1, 2))
        case.nodes.append(helper.make_node("Neg", [turned], ["y"]))
        case.output("y", -x.transpose(0, 3, 1, 2), kind)
        yield case


def makeLongRows():
    for kind, sizes in [("f16", (7, 12288)), ("bf16", (5, 8192)), ("f16", (3, 9999)), ("f32", (3, 6144)), ("f16", (7, 999, 96))]:
        case = Case(nameOf("long_norm", kind, sizes), {"f32": 1e-5, "f16": 2e-3, "bf16": 2e-2}[kind])
        x, z = case.draw(kind, *sizes), case.draw(kind, *sizes)
        scale = case.draw(kind, sizes[-1])
        total = case.node("Add", case.input("x", x), case.input("z", z))
        case.nodes.append(helper.make_node("LayerNormalization", [total, case.constant(scale)], ["y"], axis=-1))
        wide = (x + z).astype(float)
        wide = wide - wide.mean(-1, keepdims=True)
        case.output("y", wide / numpy.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * scale, kind)
        yield case
        case = Case(nameOf("long_softmax", kind, sizes), {"f32": 1e-5, "f16": 2e-3, "bf16": 2e-2}[kind])
        case.nodes.append(helper.make_node("Softmax", [case.input("x", x)], ["y"], axis=-1))
        power = numpy.exp(x.astype(float) - x.astype(float).max(-1, keepdims=True))
        case.output("y", power / power.sum(-1, keepdims=True), kind)
        yield case


# Along rows that a block or a cluster holds, in parts, and along columns.
SCANS = [("f32", (7, 16384), 1), ("f16", (5, 20004), 1), ("f16", (3, 40005), 1), ("f16", (3, 1000, 72), 1), ("f32", (2, 5003, 24), 1),
         ("i32", (2, 1 << 17), 1)]


def makeLongScans():
    for kind, sizes, axis in SCANS:
        case = Case(nameOf("long_cumsum", kind, sizes, axis), {"f16": 2e-3, "f32": 1e-5}.get(kind, 0))
        x = case.draw(kind, *sizes)
        case.nodes.append(helper.make_node("CumSum", [case.input("x", x), case.constant(numpy.array(axis))], ["y"]))
        case.output("y", (x.astype(float) if kind[0] == "f" else x).cumsum(axis), kind)
        yield case


def makeAll():
    for make in (makeLongMoves, makeSharedReads, makeLongRows, makeLongScans):
        yield from make()
