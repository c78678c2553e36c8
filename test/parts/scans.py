# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of cumulative sums: of long axes, of what a cast gives, and of short rows and
few columns."""

import itertools

import numpy
from onnx import helper

from cases import TYPES, Case, nameOf

# Reverse and exclusive. Shapes take the next ones in turn, those of many items one each:
# each form of kernel meets all four, and the tests take half as long.
DIRECTIONS = [(0, 0), (1, 1), (0, 1), (1, 0)]
MANY = 1 << 19


def takeTurns(shapes, count):
    turns = itertools.cycle(DIRECTIONS)
    for shape in shapes:
        sizes = next(part for part in shape if isinstance(part, tuple))
        for _ in range(count if numpy.prod(sizes) < MANY else 1):
            yield *shape, *next(turns)


# A warp, a block, several tiles of it, columns of few and many vectors.
SCANS = [("f32", (9, 1), 1), ("f16", (33, 7), 1), ("f32", (13, 1000), -1), ("f32", (3, 20004), 1), ("f16", (2, 9, 4097), 2),
         ("i32", (29, 127), 1), ("i64", (1000, 13), 0), ("f32", (3, 1000, 24), 1), ("f32", (70001,), 0), ("f16", (300, 64), 0),
         ("i32", (1 << 17,), 0), ("i32", (1 << 18,), 0), ("f16", (2, 1 << 16), 1),
         ("f32", (30011, 3), 0), ("f16", (2, 9000, 8), 1), ("i32", (50000, 1), 0),
         # Columns of whole lines and of more, parts that all threads fill and a last one
         # that they do not, and more parts than a group of columns has; of rows, whose
         # groups have 1024, the unit test of kernels has several.
         ("f32", (8192, 32), 0), ("f16", (5003, 72), 0), ("i32", (2, 6000, 40), 1), ("f16", (6144, 64), 0),
         ("f32", (20011, 33), 0), ("f16", (1 << 17,), 0),
         # A few columns, of which a block moves its part as one run: of rows that are no
         # whole vectors, with a last part that ends within one.
         ("f16", (25009, 5), 0), ("i32", (33001, 7), 0), ("f32", (15001, 9), 0), ("i64", (20000, 3), 0), ("f32", (16384, 6), 0),
         # Rows that the registers of a cluster hold, in each of its blocks and not.
         ("f32", (4, 65536), 1), ("i32", (3, 40000), 1), ("i64", (2, 20000), 1), ("f32", (2, 3, 30004), 2),
         ("f32", (0, 8), 1), ("f32", (4, 0, 3), 1)]


def makeScans():
    for kind, sizes, axis, reverse, exclusive in takeTurns(SCANS, 2):
        case = Case(nameOf("cumsum", kind, sizes, axis % len(sizes), reverse, exclusive),
                    {"f16": 2e-3, "f32": 1e-5}.get(kind, 0))
        x = case.draw(kind, *sizes)
        # With arithmetic before and behind, and the sums stored beside that.
        doubled = case.node("Add", case.input("x", x), "x")
        case.nodes.append(helper.make_node("CumSum", [doubled, case.constant(numpy.array(axis))], ["y"],
                                           reverse=reverse, exclusive=exclusive))
        case.nodes.append(helper.make_node("Neg", ["y"], ["z"]))
        wide = 2 * (x.astype(float) if kind[0] == "f" else x)
        flipped = numpy.flip(wide, axis) if reverse else wide
        total = flipped.cumsum(axis)
        total = total - flipped if exclusive else total
        total = numpy.flip(total, axis) if reverse else total
        case.output("y", total, kind)
        case.output("z", -total, kind)
        yield case


# Nothing but the sums, of rows that clusters hold, of which as many blocks as registers
# allow run together: vectors of threads that have all of theirs and that have not.
ALONE = [("i32", (3, 12288)), ("f32", (2, 20003)), ("i32", (2, 20003)), ("f32", (2, 24576)), ("i32", (2, 24576)), ("i32", (33, 20003)),
         ("i32", (33, 50257)), ("f32", (3, 65536)), ("f16", (2, 65536)), ("bf16", (2, 65536)), ("bf16", (2, 40005)), ("f16", (3, 30004)),
         # In parts by memory's vectors, of rows that begin anywhere.
         ("i32", (2, 200003)), ("f16", (1, 300001)), ("bf16", (1, 400005))]


def makeLoneScans():
    for kind, sizes, reverse, exclusive in takeTurns(ALONE, 1):
        case = Case(nameOf("lone_cumsum", kind, sizes, reverse, exclusive), {"f16": 2e-3, "bf16": 1e-2, "f32": 1e-5}.get(kind, 0))
        x = case.draw(kind, *sizes)
        case.nodes.append(helper.make_node("CumSum", [case.input("x", x), case.constant(numpy.array(1))], ["y"],
                                           reverse=reverse, exclusive=exclusive))
        items = x.astype(numpy.int64 if kind == "i32" else float)
        items = numpy.flip(items, 1) if reverse else items
        sums = items.cumsum(1) - (items if exclusive else 0)
        case.output("y", numpy.flip(sums, 1) if reverse else sums, kind)
        yield case


# What is summed is a cast, as PyTorch exports it: threads keep what it is a cast of.
CAST = [("f16", "f32", (33, 7), 1), ("f16", "f32", (2, 9, 4097), 2), ("f16", "f32", (3, 20008), 1), ("f16", "f32", (300, 64), 0),
        ("f16", "f32", (2, 1 << 16), 1), ("f16", "f32", (2, 9000, 8), 1), ("f16", "f32", (70001,), 0), ("f16", "f32", (333, 39), 1), ("f16", "f32", (3, 65536), 1),
        ("bf16", "f32", (2, 1 << 16), 1), ("bf16", "f32", (20000, 8), 0), ("bf16", "f32", (8192, 64), 0),
        ("bf16", "f32", (30011, 3), 0), ("bf16", "f32", (300007, 3), 0), ("i8", "i32", (50003, 5), 0),
        ("f16", "f32", (10000, 128), 0), ("bf16", "f32", (333, 39), 1), ("bf16", "f32", (5, 999), 1),
        ("i8", "i32", (3, 1000, 24), 1), ("u8", "i32", (1 << 16,), 0), ("i32", "i64", (70001,), 0), ("f32", "i32", (5, 999), 1)]


def makeCastScans():
    for kind, wide, sizes, axis, reverse, exclusive in takeTurns(CAST, 1):
        case = Case(nameOf("cast_cumsum", f"{kind}_{wide}", sizes, axis, reverse, exclusive),
                    {"f16": 2e-3, "bf16": 1e-2}.get(kind, 0))
        isHalf = kind in ("f16", "bf16")
        x = numpy.abs(case.draw("i32", *sizes)).astype(TYPES[kind][0]) if kind == "u8" else case.draw(kind, *sizes)
        given = case.node("Cast", case.input("x", x), to=TYPES[wide][1])
        total = case.node("CumSum", given, case.constant(numpy.array(axis)), reverse=reverse, exclusive=exclusive)
        case.nodes.append(helper.make_node("Cast", [total], ["y"], to=TYPES[kind if isHalf else wide][1]))
        items = x.astype(TYPES[wide][0]).astype(float if isHalf else numpy.int64)
        items = numpy.flip(items, axis) if reverse else items
        sums = items.cumsum(axis) - (items if exclusive else 0)
        case.output("y", numpy.flip(sums, axis) if reverse else sums, kind if isHalf else wide)
        yield case


# Short rows, of whole vectors and not, in a block's shared memory: full blocks and a
# last one of a few rows, whose run ends within a vector.
SHORT = [("f16", (1, 39)), ("f32", (7, 13)), ("f16", (1000, 39)), ("f32", (127, 39)), ("f16", (333, 127)), ("f32", (999, 7)),
         ("i32", (130, 64)), ("f16", (65, 190)), ("i64", (129, 33)), ("f32", (257, 2))]
# Longer ones that begin anywhere, by memory's vectors, of which the first and the last
# are cut: a tile, several, and a row of each alignment.
CUT = [("f16", (17, 727)), ("f16", (33, 4097)), ("f32", (13, 1001)), ("f32", (7, 4099)), ("f16", (130, 1023)), ("i32", (9, 2050)),
       ("i64", (5, 1001)), ("f16", (9, 8210)), ("f16", (9, 20011)), ("f32", (3, 40001)), ("f16", (5, 20013)), ("i32", (2, 60003))]
# A few columns, short ones, and such that blocks take a part each of as a run of memory,
# whose last part ends within a vector: of one set of columns, and of several, whose runs
# begin with vectors or anywhere.
FEW = [("f32", (1, 3)), ("f32", (7, 5)), ("f16", (13, 9)), ("i32", (127, 2)), ("f32", (1000, 7)), ("f32", (150001, 3)),
       ("f32", (40001, 2)), ("f16", (220011, 5)), ("f32", (30011, 7)), ("i32", (150001, 6)), ("i64", (200003, 3)), ("f16", (65521, 9)),
       ("f32", (40001, 4)), ("f16", (50003, 1)), ("i32", (3, 30011, 3)), ("f16", (2, 20000, 6)), ("f32", (2, 20010, 8))]


def makeShortScans():
    for kind, sizes, reverse, exclusive in takeTurns(SHORT + CUT + FEW, 2):
        isFew = (kind, sizes) in FEW
        axis = len(sizes) - 2 if isFew else 1
        name = "few_cumsum" if isFew else "short_cumsum" if sizes[1] < 200 else "cut_cumsum"
        case = Case(nameOf(name, kind, sizes, reverse, exclusive), {"f16": 4e-3, "f32": 1e-5}.get(kind, 0))
        x, y = case.draw(kind, *sizes), case.draw(kind, *sizes)
        row, column = case.draw(kind, *sizes[:-1], 1), case.draw(kind, sizes[-1])
        # Of what a row and a column share on either side, by what is elsewhere.
        scaled = case.node("Mul", case.input("x", x), case.constant(column))
        moved = case.node("Add", scaled, case.input("row", row))
        total = case.node("CumSum", moved, case.constant(numpy.array(axis)), reverse=reverse, exclusive=exclusive)
        kept = case.node("Where", case.node("Less", case.input("y", y), case.constant(TYPES[kind][0](0))), total, "row")
        case.nodes.append(helper.make_node("Sub", [kept, case.constant(column)], ["z"]))
        wide = float if kind[0] == "f" else numpy.int64
        items = x.astype(wide) * column + row
        items = numpy.flip(items, axis) if reverse else items
        sums = items.cumsum(axis) - (items if exclusive else 0)
        sums = numpy.flip(sums, axis) if reverse else sums
        case.output("z", numpy.where(y < 0, sums, row.astype(wide)) - column, kind)
        yield case


def makeAll():
    for make in (makeScans, makeLoneScans, makeCastScans, makeShortScans):
        yield from make()
