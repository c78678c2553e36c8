# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of kernels that compute every point on its own: rows that begin anywhere,
and types of other widths side by side."""

import numpy
from onnx import helper

from cases import TYPES, Case, nameOf

# Images of so many channels, whose rows are of no whole vectors, and of such.
IMAGES = [("f16", (5, 13, 49)), ("f16", (3, 7, 127)), ("f32", (4, 9, 33)), ("f16", (2, 3, 1000)),
          ("f32", (1000, 1, 7)), ("f16", (0, 5, 49))]


def makeChannels():
    """What is loaded begins where rows that are stored do, and beside that."""
    for kind, sizes in IMAGES:
        case = Case(nameOf("channels", kind, sizes), 4e-3 if kind == "f16" else 1e-5)
        x, z = case.draw(kind, *sizes), case.draw(kind, *sizes)
        scale, shift = case.draw(kind, sizes[1], 1), case.draw(kind, sizes[1], 1)
        scaled = case.node("Mul", case.input("x", x), case.constant(scale))
        moved = case.node("Relu", case.node("Add", scaled, case.constant(shift)))
        case.nodes.append(helper.make_node("Add", [moved, case.input("z", z)], ["y"]))
        wide = x.astype(float) * scale + shift
        case.output("y", numpy.maximum(wide, 0) + z, kind)
        cut = case.node("Slice", "x", *[case.constant(numpy.array([number])) for number in (1, 10000, 2)])
        case.nodes.append(helper.make_node("Mul", [cut, case.constant(scale)], ["cut"]))
        case.output("cut", x[:, :, 1:].astype(float) * scale, kind)
        yield case


WIDTHS = [("f16", "f32"), ("i32", "i64"), ("f32", "f16"), ("i8", "f16"), ("i8", "f32")]


def makeWidths():
    """Elements of 1 byte beside those of 2, 4 and 8."""
    for narrow, wide in WIDTHS:
        for sizes in ((7, 1000), (1, 13), (127, 33), (129, 64)):
            case = Case(nameOf(f"width_of_{wide}", narrow, sizes), 2e-3 if "f16" in (narrow, wide) else 0)
            x, mask = case.draw(narrow, *sizes), case.random.random(sizes) < 0.5
            case.nodes.append(helper.make_node("Cast", [case.input("x", x)], ["y"], to=TYPES[wide][1]))
            case.output("y", x, wide)
            least = numpy.array(-7, TYPES[narrow][0])
            case.nodes.append(helper.make_node("Where", [
                case.input("mask", mask), "x", case.constant(least)], ["kept"]))
            case.output("kept", numpy.where(mask, x, least), narrow)
            yield case


# Rows of a gate beside what it lets pass.
GATES = [("f32", (7, 130)), ("f16", (77, 1365)), ("f32", (13, 127)), ("f16", (1, 1000)), ("f32", (1000, 1))]


def makeGates():
    """Up to where exponentials are infinite, or nothing."""
    for kind, (rows, columns) in GATES:
        case = Case(nameOf("gates", kind, (rows, columns)), 4e-3 if kind == "f16" else 1e-5)
        x = case.draw(kind, rows, 2 * columns)
        special = numpy.array([numpy.inf, -numpy.inf, 87, -87, 89, -89, 104, -104, 3e4, -3e4], TYPES[kind][0])
        some = min(columns, len(special))
        x[0, :some] = special[:some]
        name = case.input("x", x)
        gate, rest = [case.node("Slice", name, *[case.constant(numpy.array([number])) for number in (first, last, 1)])
                      for first, last in ((0, columns), (columns, 2 * columns))]
        open_ = case.node("Sigmoid", gate)
        case.nodes.append(helper.make_node("Mul", [open_, rest], ["y"]))
        silu = case.node("Max", gate, case.constant(numpy.array(-100, TYPES[kind][0])))
        case.nodes.append(helper.make_node("Mul", [silu, case.node("Sigmoid", silu)], ["silu"]))
        with numpy.errstate(over="ignore", invalid="ignore"):
            opened = 1 / (1 + numpy.exp(-x[:, :columns].astype(float)))
            case.output("y", opened * x[:, columns:], kind)
            bounded = numpy.maximum(x[:, :columns].astype(float), -100)
            case.output("silu", bounded / (1 + numpy.exp(-bounded)), kind)
        yield case


# Sequences of rows of no whole vectors: shorter than one, of about one, and longer.
SEQUENCES = [("f16", (33, 7, 129)), ("f16", (5, 13, 9)), ("f32", (3, 1000, 7)), ("i8", (4, 13, 127)), ("bf16", (1, 1, 1000)),
             ("f16", (13, 127, 5)), ("f32", (7, 1, 13)), ("f16", (0, 5, 33))]


def makeSequences():
    """What changes at a row's end alone: a mask by lengths, and a divisor of each step."""
    for kind, sizes in SEQUENCES:
        tolerance = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-6}.get(kind, 0)
        names = {} if sizes[0] == 1 else {"x": "batch", "lengths": "batch"}
        case = Case(nameOf("sequences", kind, sizes), tolerance, batch=names)
        x, lengths = case.draw(kind, *sizes), case.random.integers(0, sizes[1] + 1, sizes[0])
        divisor = (case.random.random((sizes[1], 1)) * 4 + 1).astype(TYPES[kind][0])
        steps = case.constant(numpy.arange(sizes[1])[None, :, None])
        length = case.node("Reshape", case.input("lengths", lengths), case.constant(numpy.array([-1, 1, 1])))
        mask = case.node("Cast", case.node("Less", steps, length), to=TYPES[kind][1])
        name = case.input("x", x)
        case.nodes.append(helper.make_node("Mul", [name, mask], ["y"]))
        case.nodes.append(helper.make_node("Div", [name, case.input("d", divisor)], ["z"]))
        case.nodes.append(helper.make_node("Add", [case.node("Mul", name, "d"), case.node("Neg", "d")], ["w"]))
        case.output("y", x * (numpy.arange(sizes[1])[None, :, None] < lengths[:, None, None]), kind)
        quotient = x.astype(float) / divisor.astype(float)
        case.output("z", numpy.trunc(quotient) if kind == "i8" else quotient, kind)
        case.output("w", x.astype(float) * divisor - divisor.astype(float), kind)
        yield case


FACTORS = [("f16", (129, 333)), ("f16", (7, 66)), ("bf16", (100, 257)), ("f32", (13, 127)), ("f32", (33, 255)), ("f16", (1, 1000)),
           ("f16", (13, 999)), ("f32", (0, 129)), ("i8", (9, 517))]


def makeRowFactors():
    """A factor of each row beside a summand of each column, and both without more."""
    for kind, sizes in FACTORS:
        tolerance = {"f16": 4e-3, "bf16": 3e-2, "f32": 1e-6}.get(kind, 0)
        for form in ("row_factors", "outer_sums"):
            names = {} if sizes[0] == 1 else {"x": "batch", "s": "batch"}
            case = Case(nameOf(form, kind, sizes), tolerance, batch=names)
            scale, summand = case.draw(kind, sizes[0], 1), case.draw(kind, sizes[1])
            if form == "row_factors":
                x = case.draw(kind, *sizes)
                scaled = case.node("Mul", case.input("x", x), case.input("s", scale))
                whole = x.astype(float) * scale.astype(float)
            else:
                scaled, whole = case.input("s", scale), scale.astype(float)
            case.nodes.append(helper.make_node("Add", [scaled, case.input("b", summand)], ["y"]))
            total = whole + summand.astype(float)
            case.output("y", total.astype(int) if kind == "i8" else total, kind)
            yield case


# Images of so many channels, and the side of their patches: runs of 32 and 64 bytes,
# which are walked as they are loaded, of longer ones, and of less than a sector.
PATCHED = [("f16", (3, 3, 48, 80), 16), ("f32", (2, 2, 24, 40), 8), ("bf16", (1, 5, 64, 96), 32),
           ("f16", (2, 3, 128, 192), 64), ("f16", (5, 1, 24, 40), 8), ("f32", (0, 3, 16, 16), 16)]


def makePatches():
    """Patches of images that become rows, and rows that become images again."""
    for kind, sizes, side in PATCHED:
        case = Case(nameOf("patches", kind, sizes), 0, batch=None)
        batch, channels, height, width = sizes
        grid = (batch, channels, height // side, side, width // side, side)
        rows = (batch, grid[2] * grid[4], channels * side * side)
        apart = tuple(grid[i] for i in (0, 2, 4, 1, 3, 5))
        x, z = case.draw(kind, *sizes), case.draw(kind, *rows)

        def move(name, shape, order, final):
            turned = case.node("Transpose", case.node("Reshape", name, case.constant(numpy.array(shape)), allowzero=1),
                               perm=order)
            return case.node("Reshape", turned, case.constant(numpy.array(final)), allowzero=1)
        for name, value, shape, order, final in [("x", x, grid, (0, 2, 4, 1, 3, 5), rows),
                                                 ("z", z, apart, (0, 3, 1, 4, 2, 5), sizes)]:
            moved = move(case.input(name, value), shape, order, final)
            case.nodes.append(helper.make_node("Relu", [moved], [f"{name}_moved"]))
            whole = value.reshape(shape).transpose(order).reshape(final)
            case.output(f"{name}_moved", numpy.maximum(whole, 0), kind)
        yield case


# Their sizes; some angles are so large that they are reduced by many digits.
ANGLES = [("f32", (13, 127)), ("f32", (1, 1000)), ("f64", (7, 33)), ("f16", (13, 127)), ("f16", (8, 1000)),
          ("bf16", (7, 128))]
LARGE_ANGLES = {"f16": 1e3}  # finite in it


def makeAngles():
    """Sine and cosine of one angle, both stored, and of another the product of both."""
    for kind, sizes in ANGLES:
        case = Case(nameOf("angles", kind, sizes), {"f16": 2e-3, "bf16": 2e-2}.get(kind, 1e-6))
        x, z = case.draw(kind, *sizes), case.draw(kind, *sizes)
        x[:, ::5] *= LARGE_ANGLES.get(kind, 1e6)
        case.input("x", x)
        sine = case.node("Sin", case.input("z", z))
        case.nodes += [helper.make_node("Sin", ["x"], ["y"]), helper.make_node("Cos", ["x"], ["w"]),
                       helper.make_node("Mul", [sine, case.node("Cos", "z")], ["product"])]
        wide, other = x.astype(float), z.astype(float)
        case.output("y", numpy.sin(wide), kind)
        case.output("w", numpy.cos(wide), kind)
        case.output("product", numpy.sin(other) * numpy.cos(other), kind)
        yield case


def makeAll():
    for make in (makeChannels, makeWidths, makeGates, makeSequences, makeRowFactors, makePatches, makeAngles):
        yield from make()
