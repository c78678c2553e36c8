# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of moves: transposes, concats, slices, pads and rotations."""

import numpy
from onnx import helper, numpy_helper

from cases import TYPES, Case, nameOf

# Permutations of three dimensions, all that move something, of odd sizes and of 16.
PERMUTED = [(1, 0, 2), (0, 2, 1), (1, 2, 0), (2, 0, 1), (2, 1, 0)]


def makePermutations():
    for kind, sizes in [("f32", (7, 13, 127)), ("f16", (13, 127, 7)), ("f16", (16, 80, 48))]:
        case = Case(nameOf("permutations", kind, sizes), 0)
        for i, order in enumerate(PERMUTED):
            x = case.draw(kind, *sizes)
            turned = helper.make_node("Transpose", [case.input(f"x{i}", x)], [f"y{i}"], perm=order)
            case.nodes.append(turned)
            case.output(f"y{i}", x.transpose(order), kind)
        yield case


# Rows that begin anywhere, of what is loaded and of what is stored, and one of both; at
# the ends of memory, and one that a view leaves in the middle of it.
ODD = [("f16", (71, 131)), ("f32", (97, 1001)), ("f16", (1021, 65)), ("f32", (64, 333)), ("f16", (129, 64)),
       ("i64", (33, 77)), ("f32", (333, 517)), ("i64", (261, 517))]


def makeOddTransposes():
    for kind, sizes in ODD:
        case = Case(nameOf("odd_transpose", kind, sizes), 0, batch={"x": "rows"})
        x, z = case.draw(kind, *sizes), case.draw(kind, *sizes[::-1])
        name = case.input("x", x)
        case.nodes.append(helper.make_node("Transpose", [name], ["y"], perm=(1, 0)))
        turned = case.node("Transpose", name, perm=(1, 0))
        case.nodes.append(helper.make_node("Sub", [case.input("z", z), turned], ["d"]))
        case.output("y", x.T, kind)
        case.output("d", z - x.T, kind)
        yield case
        case = Case(nameOf("odd_transpose_of_slice", kind, sizes), 0)
        x = case.draw(kind, 3, *sizes)
        name = case.input("x", x)
        cut = case.node("Slice", name, *[case.constant(numpy.array([number])) for number in (3, 10000, 2)])
        case.nodes.append(helper.make_node("Transpose", [cut], ["y"], perm=(0, 2, 1)))
        case.output("y", x[:, :, 3:].transpose(0, 2, 1), kind)
        yield case


# The same of what is computed of one tensor alone, so that nothing is read beside tiles.
COMPUTED = [("f16", (333, 999)), ("f16", (1000, 127)), ("f16", (39, 1001)), ("f32", (127, 333)), ("f16", (499, 1000)),
            ("f32", (2, 127, 333)), ("i16", (333, 333)), ("i64", (130, 517)), ("f32", (509, 515)), ("f16", (517, 517)),
            # So many that only wide tiles all run together.
            ("f16", (1021, 2307))]


def makeComputedTransposes():
    for kind, sizes in COMPUTED:
        case = Case(nameOf("computed_transpose", kind, sizes), 1e-3 if kind == "f16" else 0, batch=None)
        order = (*range(len(sizes) - 2), len(sizes) - 1, len(sizes) - 2)
        x = case.draw(kind, *sizes)
        column = case.draw(kind, sizes[-2])
        turned = case.node("Transpose", case.node("Add", case.input("x", x), "x"), perm=order)
        case.nodes.append(helper.make_node("Sub", [turned, case.constant(column)], ["y"]))
        case.output("y", (x + x).transpose(order) - column, kind)
        yield case


# Rows that a tile has whole, one behind the other: tiles that are full and not, a last
# row that ends within a vector, matrices that begin at one and within one.
NARROW = [("f32", (1000, 39)), ("f16", (136, 27)), ("i8", (1600, 13)), ("i64", (70, 11)), ("f16", (133, 50)),
          ("f32", (3, 128, 15)), ("f16", (2, 100, 77)), ("f32", (5, 33, 7))]


def makeNarrowTransposes():
    for kind, sizes in NARROW:
        case = Case(nameOf("narrow_transpose", kind, sizes), 0, batch={})
        order = (*range(len(sizes) - 2), len(sizes) - 1, len(sizes) - 2)
        x, z = case.draw(kind, *sizes), case.draw(kind, *sizes).transpose(order)
        name = case.input("x", x)
        case.nodes.append(helper.make_node("Transpose", [name], ["y"], perm=order))
        case.nodes.append(helper.make_node("Max", [case.input("z", z), case.node("Transpose", name, perm=order)],
                                           ["d"]))
        case.output("y", x.transpose(order), kind)
        case.output("d", numpy.maximum(z, x.transpose(order)), kind)
        yield case


# Channels side by side, each pixel's, turned into planes: as many as are stored together
# and one more; pixels that fill vectors, and not.
IMAGES = [("f16", (2, 16, 24, 3)), ("f32", (3, 7, 12, 3)), ("f16", (5, 14, 12, 3)), ("f16", (2, 7, 13, 3)),
          ("f16", (3, 8, 16, 2)), ("f32", (2, 6, 4, 4)), ("bf16", (2, 5, 16, 4)), ("i8", (3, 4, 20, 3)),
          ("i64", (2, 3, 6, 3)), ("f16", (2, 8, 8, 5)), ("f32", (1, 1, 4, 2))]


def makeImages():
    for kind, sizes in IMAGES:
        case = Case(nameOf("image", kind, sizes), 0, batch="images")
        x = case.draw(kind, *sizes)
        name = case.input("x", x)
        case.nodes.append(helper.make_node("Transpose", [name], ["y"], perm=(0, 3, 1, 2)))
        case.output("y", x.transpose(0, 3, 1, 2), kind)
        yield case
        if kind[0] != "f":
            continue
        # As models begin: each channel's mean, and two of what is computed; beside another
        # image that lies as the result does.
        case = Case(nameOf("image_normalised", kind, sizes), 2e-3 if kind == "f16" else 1e-6, batch="images")
        z = case.draw(kind, sizes[0], sizes[3], *sizes[1:3])
        mean, scale = case.draw(kind, sizes[3]), case.draw(kind, sizes[3])
        turned = case.node("Transpose", case.node("Sub", case.input("x", x), case.constant(mean)), perm=(0, 3, 1, 2))
        scaled = case.node("Mul", turned, case.constant(scale.reshape(-1, 1, 1)))
        case.nodes.append(helper.make_node("Identity", [scaled], ["y"]))
        case.nodes.append(helper.make_node("Max", [case.input("z", z), scaled], ["most"]))
        y = (x.astype(float) - mean).transpose(0, 3, 1, 2) * scale.reshape(-1, 1, 1)
        case.output("y", y, kind)
        case.output("most", numpy.maximum(z, y), kind)
        yield case


# Other dimensions, the axis, widths along it: of one shape, of several, in runs, wide
# enough for vectors and not, and of one element each.
CONCATS = [("f16", (130,), 1, (13, 16, 32, 64, 100)), ("f32", (1000,), 1, (1, 3, 5, 7, 11, 13)),
           ("f32", (127,), 1, (16, 64, 48)), ("f16", (257,), 1, (8, 8, 8, 40, 64)),
           ("f16", (5, 24), 1, (127, 1, 64)), ("f32", (33,), 0, (7, 1000, 1)),
           ("i64", (7, 3), 1, (2, 5, 2, 5)), ("f32", (0,), 1, (64, 32)), ("f32", (129, 1), 1, (1, 1, 1))]


def makeConcats():
    for kind, rest, axis, widths in CONCATS:
        shapes = [(*rest[:axis], width, *rest[axis:]) for width in widths]
        case = Case(nameOf("concat", kind, [*rest[:axis], sum(widths), *rest[axis:]], len(widths)),
                    0, batch=None if axis == 0 else "batch")
        parts = [case.draw(kind, *shape) for shape in shapes]
        names = [case.input(f"x{i}", part) for i, part in enumerate(parts)]
        case.nodes.append(helper.make_node("Concat", names, ["all"], axis=axis))
        case.nodes.append(helper.make_node("Relu" if kind[0] == "f" else "Neg", ["all"], ["y"]))
        joined = numpy.concatenate(parts, axis)
        case.output("all", joined, kind)
        case.output("y", numpy.maximum(joined, 0) if kind[0] == "f" else -joined, kind)
        yield case
    # The same with nothing but a function of it: no result is the concat itself.
    case = Case("concat_relu_f16", 0)
    parts = [case.draw("f16", 65, width) for width in (16, 64, 432)]
    names = [case.input(f"x{i}", part) for i, part in enumerate(parts)]
    case.nodes.append(helper.make_node("Relu", [case.node("Concat", *names, axis=1)], ["y"]))
    case.output("y", numpy.maximum(numpy.concatenate(parts, 1), 0), "f16")
    yield case
    # Both axes rolled: pieces of pieces.
    case = Case("roll_f16", 0)
    x = case.draw("f16", 3, 14, 14, 24)
    name = case.input("x", x)
    for axis in (1, 2):
        def cut(start, end):
            return case.node("Slice", name, *[case.constant(numpy.array([number]))
                                              for number in (start, end, axis)])
        name = case.node("Concat", cut(11, 14), cut(0, 11), axis=axis)
    case.nodes.append(helper.make_node("Identity", [name], ["y"]))
    case.output("y", numpy.roll(x, (3, 3), (1, 2)), "f16")
    yield case


# Starts, ends and steps along the last dimension; a row that each point reads.
SLICES = [("f32", (127, 1000), 1, 1000, 2), ("f16", (13, 1000), 0, 1000, 4), ("f16", (7, 127), 1, 126, 1),
          ("f32", (1, 17), 0, 17, 2), ("f32", (130, 224), 223, -2**31, -1), ("f16", (5, 15), 14, -2**31, -1),
          ("i64", (9, 64), 1, 64, 2), ("f16", (3, 13), 0, 13, 2),
          # Backwards from anywhere.
          ("f16", (33, 127), 126, -2**31, -1), ("f32", (13, 333), 300, -2**31, -1), ("i8", (5, 1001), 1000, -2**31, -1),
          ("bf16", (127, 39), 37, -2**31, -1), ("i64", (7, 13), 12, -2**31, -1)]


def makeSlices():
    for kind, sizes, start, stop, step in SLICES:
        case = Case(nameOf("slice", kind, sizes, start, abs(step), "back" if step < 0 else ""), 0)
        x = case.draw(kind, *sizes)
        taken = x[:, start:stop if stop >= 0 else None:step]
        steps = [case.constant(numpy.array([number])) for number in (start, stop, 1, step)]
        sliced = case.node("Slice", case.input("x", x), *steps)
        case.nodes.append(helper.make_node("Identity", [sliced], ["y"]))
        row = case.draw(kind, taken.shape[1])
        case.nodes.append(helper.make_node("Max", [sliced, case.constant(row)], ["most"]))
        case.output("y", taken, kind)
        case.output("most", numpy.maximum(taken, row), kind)
        yield case
    # Rows of odd length with a bias: vectors of the whole, lanes of the row.
    for kind, sizes in [("f16", (127, 333)), ("f32", (13, 7)), ("f16", (1, 1))]:
        case = Case(nameOf("bias", kind, sizes), 2e-3 if kind == "f16" else 1e-6)
        x, row = case.draw(kind, *sizes), case.draw(kind, sizes[1])
        total = case.node("Add", case.input("x", x), case.constant(row))
        case.nodes.append(helper.make_node("Mul", [total, "x"], ["y"]))
        case.output("y", (x.astype(float) + row) * x, kind)
        yield case


# Before and behind each dimension; negative ones take away.
PADS = [("f32", (7, 127), (0, 0, 0, 1), "constant"), ("f16", (13, 1000), (0, 12, 0, 12), "constant"),
        ("f16", (2, 3, 7, 13), (0, 0, 1, 1, 0, 0, 1, 1), "constant"), ("i64", (5, 9), (2, -1, 0, 3), "constant"),
        ("f32", (3, 17), (0, 4, 1, 2), "edge"), ("f32", (6, 17), (2, 1, 0, 5), "reflect"),
        ("f16", (6, 24), (0, 8, 0, 8), "wrap")]


def makePads():
    for kind, sizes, pads, mode in PADS:
        case = Case(nameOf("pad", kind, sizes, mode), 0, batch=None, opset=19)
        x = case.draw(kind, *sizes)
        inputs = [case.input("x", x), case.constant(numpy.array(pads))]
        if mode == "constant":
            inputs.append(case.constant(numpy.array(3, x.dtype)))
        case.nodes.append(helper.make_node("Pad", inputs, ["y"], mode=mode))
        pairs = list(zip(pads[:x.ndim], pads[x.ndim:]))
        for axis, (before, after) in enumerate(pairs):
            rows = range(max(-before, 0), x.shape[axis] - max(-after, 0))
            x = x.take(rows, axis)
        pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
        more = {"constant_values": 3} if mode == "constant" else {}
        case.output("y", numpy.pad(x, pairs, mode, **more), kind)
        yield case


# Rows that begin anywhere in memory, and pads of them whose sums are whole vectors: one
# side, both, and such as take away; what is padded is computed, or only moved.
SHIFTED = [("f16", (13, 4095), 0, 1), ("f32", (13, 4095), 1, 0), ("bf16", (7, 1000), 12, 12),
           ("f32", (2, 3, 7, 112), 1, 1), ("f16", (127, 13), 3, 0), ("bf16", (7, 127), 5, 4),
           ("f32", (5, 1000), -1, 3), ("f16", (9, 1000), -3, 11), ("bf16", (5, 1001), -2, -7),
           ("i8", (33, 127), 1, 0), ("f16", (1000, 1), 3, 4), ("f32", (13, 7), 2, 3),
           ("i64", (7, 13), 1, 2), ("f16", (1, 127), 7, 2)]


def makeShiftedPads():
    for kind, sizes, before, after in SHIFTED:
        case = Case(nameOf("shifted_pad", kind, sizes, before, after), 0, opset=19)
        zeros = [0] * (len(sizes) - 1)
        x, z = case.draw(kind, *sizes), case.draw(kind, *sizes[:-1], sizes[-1] + before + after)
        pads = case.constant(numpy.array([*zeros, before, *zeros, after]))
        name, value = case.input("x", x), case.constant(numpy.array(3, x.dtype))
        case.nodes.append(helper.make_node("Pad", [name, pads, value], ["y"]))
        padded = case.node("Pad", case.node("Neg", name), pads, value)
        case.nodes.append(helper.make_node("Max", [padded, case.input("z", z)], ["most"]))
        kept = x[..., max(-before, 0):sizes[-1] - max(-after, 0)]
        pairs = [(0, 0)] * len(zeros) + [(max(before, 0), max(after, 0))]
        case.output("y", numpy.pad(kept, pairs, constant_values=3), kind)
        case.output("most", numpy.maximum(numpy.pad(-kept, pairs, constant_values=3), z), kind)
        yield case


# Whole vectors of rows that are longer by 1 to 7, from each of their first columns on.
CUT = [("f16", (5, 64)), ("bf16", (13, 1000)), ("f32", (7, 128)), ("f16", (1, 4088)), ("i8", (9, 48)), ("f16", (127, 8))]


def makeShiftedSlices():
    for kind, (rows, width) in CUT:
        case = Case(nameOf("shifted_slice", kind, (rows, width)), 0)
        for start in range(1, 8):
            x = case.draw(kind, rows, width + start)
            numbers = [case.constant(numpy.array([number])) for number in (start, width + start, 1)]
            cut = case.node("Slice", case.input(f"x{start}", x), *numbers)
            case.nodes.append(helper.make_node("Neg", [cut], [f"y{start}"]))
            case.output(f"y{start}", -x[:, start:], kind)
        yield case


# Halves of rows, both of which begin anywhere, and pieces that meet within a vector.
HALVES = [("bf16", (77, 1365)), ("f16", (13, 127)), ("f32", (7, 127)), ("f16", (3, 1000)), ("f32", (1000, 13)),
          ("bf16", (1, 4095)), ("f32", (33, 259))]


def makeHalves():
    for kind, (rows, width) in HALVES:
        x = Case("", 0).draw(kind, rows, 2 * width)
        for form in ("gated", "turned"):
            case = Case(nameOf(f"{form}_halves", kind, (rows, width)),
                        {"f32": 1e-6, "f16": 2e-3, "bf16": 2e-2}[kind] if form == "gated" else 0)
            name, axis = case.input("x", x), case.constant(numpy.array([1]))
            left, right = [case.node("Slice", name, case.constant(numpy.array([start])),
                                     case.constant(numpy.array([start + width])), axis) for start in (0, width)]
            if form == "gated":
                case.nodes.append(helper.make_node("Mul", [case.node("Sigmoid", left), right], ["y"]))
                wide = x.astype(float)
                case.output("y", wide[:, width:] / (1 + numpy.exp(-wide[:, :width])), kind)
            else:
                case.nodes.append(helper.make_node("Concat", [right, left], ["y"], axis=1))
                case.output("y", numpy.roll(x, width, 1), kind)
            yield case


# Few columns beside many: widths before, of the rows themselves, and behind.
SIDES = [("f32", (5, 7), (1, 112, 1)), ("f16", (127,), (12, 1000, 12)), ("f16", (13,), (1, 64, 0)),
         ("i64", (9, 3), (2, 30, 4)), ("f16", (7,), (8, 127, 1)),
         # More rows than a block puts together, and a part of so many.
         ("f16", (1000,), (13, *[16] * 26)), ("f16", (1001,), (100, 200, 300)), ("f32", (127,), [10] * 7),
         ("f32", (515,), (13, 64, 129, 256)), ("f16", (129,), [8] * 27), ("i8", (331,), (3, 16, 5, 40))]


def makeSides():
    for kind, rest, widths in SIDES:
        case = Case(nameOf("sides", kind, rest, len(widths), *widths[:3]), 2e-3 if kind == "f16" else 1e-6)
        parts = [case.draw(kind, *rest, width) for width in widths if width]
        names = [case.input(f"x{i}", part) for i, part in enumerate(parts)]
        axis, joined = len(rest), numpy.concatenate(parts, len(rest))
        case.nodes.append(helper.make_node(
            "Mul", [case.node("Concat", *names, axis=axis), case.constant(numpy.array(3, joined.dtype))],
            ["y"]))
        case.output("y", joined * 3, kind)
        yield case


def makeComputedSides():
    """Parts of which each is computed in its own way."""
    for rows, unit in ((1000, 13), (77, 16)):
        case = Case(nameOf("sides_computed", "f16", (rows, unit)), 2e-3, batch="rows")
        x = [case.draw("f16", rows, width * unit) for width in (1, 2, 1, 3)]
        wide, scale = case.draw("f32", rows, 4 * unit), case.draw("f16", 2 * unit)
        row = case.draw("f16", rows, 1)
        names = [case.input(f"x{i}", part) for i, part in enumerate([*x, wide, row])]
        parts = [case.node("Relu", names[0]), case.node("Mul", names[1], case.constant(scale)),
                 case.node("Add", names[2], names[5]), case.node("Neg", names[3]),
                 case.node("Cast", names[4], to=TYPES["f16"][1])]
        case.nodes.append(helper.make_node("Concat", parts, ["y"], axis=1))
        case.output("y", numpy.concatenate([numpy.maximum(x[0], 0), x[1] * scale, x[2] + row, -x[3],
                                            wide.astype(numpy.float16)], 1), "f16")
        yield case


# Rows of a matrix, what is picked of each, and whether each row has indices of its own:
# long rows that blocks hold, of whole vectors and not, and short ones.
PICKS = [("f16", (265, 4096), 1000, False), ("f32", (1031, 999), 333, False), ("f32", (265, 2048), 1028, True),
         ("f16", (13, 100), 7, False), ("f32", (9, 39), 10, True),
         # Of odd widths, several elements of a thread.
         ("f32", (265, 999), 601, False), ("f16", (517, 1001), 601, True), ("i64", (7, 127), 1001, True),
         ("i8", (33, 130), 99, True),
         # Several that a block holds at once, of which the last blocks have fewer.
         ("f16", (1031, 512), 48, True), ("i8", (1031, 256), 64, True)]


def makePicks():
    for kind, sizes, count, areOwn in PICKS:
        case = Case(nameOf("picks", kind, sizes, count, "own" if areOwn else ""), 0, batch={"x": "rows"})
        x = case.draw(kind, *sizes)
        ids = case.random.integers(-sizes[1], sizes[1], (sizes[0], count) if areOwn else count)
        names = case.input("x", x), case.input("ids", ids)
        if areOwn:
            case.batch["ids"] = "rows"
            picked = case.node("GatherElements", *names, axis=1)
            expected = numpy.take_along_axis(x, ids % sizes[1], 1)
        else:
            picked = case.node("Gather", *names, axis=1)
            expected = x[:, ids]
        case.nodes.append(helper.make_node("Neg", [picked], ["y"]))
        case.output("y", -expected, kind)
        yield case


def makeRanges():
    """What is compared with its own index."""
    for kind, sizes in [("f16", (33, 1000)), ("f32", (7, 13)), ("i32", (127, 48))]:
        case = Case(nameOf("one_hot", kind, sizes), 0)
        ids = case.random.integers(-1, sizes[1] + 1, sizes[0])
        column = case.node("Unsqueeze", case.input("ids", ids), case.constant(numpy.array([1])))
        index = case.constant(numpy.arange(sizes[1]))
        case.nodes.append(helper.make_node("Cast", [case.node("Equal", column, index)], ["y"],
                                           to=TYPES[kind][1]))
        case.output("y", ids[:, None] == numpy.arange(sizes[1]), kind)
        yield case
    case = Case("index_times_row", 1e-6)
    x = case.draw("f32", 13, 100)
    index = case.node("Cast", case.constant(numpy.arange(100, dtype=numpy.int32)), to=TYPES["f32"][1])
    case.nodes.append(helper.make_node("Mul", [case.input("x", x), index], ["y"]))
    case.output("y", x * numpy.arange(100), "f32")
    yield case


# Heads' width, how much of it turns, and whether pairs are neighbours.
ROTATIONS = [("f16", (2, 33, 3, 64), 64, True), ("f32", (1, 13, 5, 80), 80, True),
             ("f16", (1, 127, 2, 96), 32, True), ("f16", (3, 7, 2, 128), 64, False),
             ("f32", (2, 9, 1, 14), 14, True), ("f16", (1, 5, 3, 10), 6, True)]


def rotate(case, name, width, turned, neighbours, sign):
    """The name turned by the angles cos and sin, or back."""
    def cut(start, end, step=1):
        return case.node("Slice", name, *[case.constant(numpy.array([number]))
                                          for number in (start, end, 3, step)])
    half = turned // 2
    a, b = ((cut(0, turned, 2), cut(1, turned, 2)) if neighbours
            else (cut(0, half), cut(half, turned)))
    def turn(operator, one, other):
        return case.node(operator, case.node("Mul", one, "cos"), case.node("Mul", other, "sin"))
    parts = [turn("Sub" if sign > 0 else "Add", a, b), turn("Add" if sign > 0 else "Sub", b, a)]
    if neighbours:
        axis = case.constant(numpy.array([4]))
        stacked = case.node("Concat", *[case.node("Unsqueeze", part, axis) for part in parts], axis=4)
        parts = [case.node("Reshape", stacked, case.constant(numpy.array([0, 0, 0, turned])))]
    if turned < width:
        parts.append(cut(turned, width))
    return case.node("Concat", *parts, axis=3) if len(parts) > 1 else parts[0]


def makeRotations():
    for kind, sizes, turned, neighbours in ROTATIONS:
        form = "neighbours" if neighbours else "halves"
        case = Case(nameOf("rotate", kind, sizes, turned, form), 2e-3 if kind == "f16" else 1e-6)
        angles = case.random.standard_normal((1, sizes[1], 1, turned // 2))
        numbers = TYPES[kind][0]
        cos, sin = numpy.cos(angles).astype(numbers), numpy.sin(angles).astype(numbers)
        case.constants += [numpy_helper.from_array(cos, "cos"), numpy_helper.from_array(sin, "sin")]
        for name, sign in [("q", 1), ("k", 1), ("back", -1)]:
            x = case.draw(kind, *sizes)
            result = rotate(case, case.input(name, x), sizes[3], turned, neighbours, sign)
            case.nodes.append(helper.make_node("Identity", [result], [name + "_turned"]))
            wide = x.astype(float)
            places = ((slice(0, turned, 2), slice(1, turned, 2)) if neighbours
                      else (slice(0, turned // 2), slice(turned // 2, turned)))
            a, b = (wide[..., place] for place in places)
            expected = wide.copy()
            expected[..., places[0]] = a * cos - sign * b * sin
            expected[..., places[1]] = b * cos + sign * a * sin
            case.output(name + "_turned", expected, kind)
        yield case


def makeAll():
    for make in (makePermutations, makeOddTransposes, makeComputedTransposes, makeNarrowTransposes, makeImages,
                 makeConcats, makeSlices, makePads, makeShiftedPads, makeShiftedSlices, makeHalves, makeSides,
                 makeComputedSides, makePicks, makeRanges, makeRotations):
        yield from make()
