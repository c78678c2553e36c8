# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of rows: softmax and norms of all lengths, and the places of extremes."""

import numpy
from onnx import helper

from cases import TYPES, Case, nameOf

# Rows of a lane, of a few, of a warp, a block and a cluster, and such that fit in
# no registers; of whole vectors and odd.
ROWS = [("f32", (9, 1)), ("f32", (1001, 7)), ("f16", (130, 13)), ("f16", (77, 127)), ("f32", (65, 96)),
        ("f16", (33, 512)), ("f32", (19, 1000)), ("f16", (5, 1001)), ("f32", (3, 8192)),
        ("f32", (2, 65537)), ("f16", (3, 65536)), ("f32", (1, 262144)), ("f32", (1, 300001)),
        ("f32", (0, 64)), ("f16", (4, 0))]


def softmax(wide, log, axis=-1):
    with numpy.errstate(invalid="ignore", divide="ignore"):
        shifted = wide - wide.max(axis, keepdims=True, initial=-numpy.inf)
        total = numpy.exp(shifted).sum(axis, keepdims=True)
        return shifted - numpy.log(total) if log else numpy.exp(shifted) / total


def makeRows():
    for kind, sizes in ROWS:
        # The reference adds one after another.
        norm = 2e-3 if kind == "f16" else 1e-5 if sizes[1] < 1 << 18 else 3e-4
        for operator in ("Softmax", "LogSoftmax"):
            case = Case(nameOf(operator.lower(), kind, sizes), norm)
            x = case.draw(kind, *sizes)
            case.nodes.append(helper.make_node(operator, [case.input("x", x)], ["y"], axis=-1))
            case.output("y", softmax(x.astype(float), operator == "LogSoftmax"), kind)
            yield case
        if not sizes[1]:
            continue
        case = Case(nameOf("layernorm", kind, sizes), norm)
        x, z = case.draw(kind, *sizes), case.draw(kind, *sizes)
        scale, bias = case.draw(kind, sizes[1]), case.draw(kind, sizes[1])
        total = case.node("Add", case.input("x", x), case.input("z", z))
        case.nodes.append(helper.make_node("LayerNormalization", [
            total, case.constant(scale), case.constant(bias)], ["y"], axis=-1))
        wide = (x + z).astype(float)
        deviation = wide - wide.mean(-1, keepdims=True)
        variance = (deviation * deviation).mean(-1, keepdims=True)
        case.output("y", deviation / numpy.sqrt(variance + 1e-5) * scale + bias, kind)
        yield case
    # What is infinite makes a row NaN where it exceeds all; large values overflow nothing.
    for kind, length in [("f32", 24), ("f32", 13), ("f16", 520), ("f32", 70000), ("f16", 40001), ("f32", 270000), ("f32", 800001)]:
        # The longest are walked alike for both.
        for operator in ("Softmax", "LogSoftmax") if length < 1 << 19 else ("Softmax",):
            case = Case(nameOf(operator.lower() + "_extremes", kind, (7, length)), 2e-3 if kind == "f16" else 1e-5)
            x = case.draw(kind, 7, length)
            x[0, 1:] = -numpy.inf
            x[1] = -numpy.inf
            x[2, length // 2] = numpy.inf
            x[3] *= 1e4 if kind == "f16" else 1e30
            x[4, :length // 2] = -numpy.inf
            x[5, -1] = numpy.nan
            case.nodes.append(helper.make_node(operator, [case.input("x", x)], ["y"], axis=-1))
            case.output("y", softmax(x.astype(float), operator == "LogSoftmax"), kind)
            yield case


# So many that L2 fetches later ones, by blocks and by clusters.
FETCHED = [("f32", (1100, 2048)), ("f32", (100, 24576))]


def makeFetchedRows():
    for kind, sizes in FETCHED:
        case = Case(nameOf("fetched_norm", kind, sizes), 2e-3 if kind == "f16" else 1e-5, batch=None)
        x, scale = case.draw(kind, *sizes), case.draw(kind, sizes[1])
        case.nodes.append(helper.make_node("LayerNormalization", [case.input("x", x), case.input("scale", scale)], ["y"], axis=-1))
        wide = x - x.astype(float).mean(-1, keepdims=True)
        case.output("y", wide / numpy.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * scale, kind)
        yield case


# In parts, of what several operands have: halves, a bias that all rows share, a factor of
# each row, and one that lies across rows, so that lanes load it one by one.
def makeSumsInParts():
    for rows, length in [(1, 300001), (3, 262148)]:
        for operator in ("Softmax", "LogSoftmax"):
            # The reference adds one after another.
            case = Case(nameOf(operator.lower() + "_operands", "f32", (rows, length)), 5e-4, batch=None)
            x, half, bias = case.draw("f32", rows, length), case.draw("f16", rows, length), case.draw("f32", length)
            factor, across = case.draw("f32", rows, 1), case.draw("f32", length, rows)
            total = case.node("Add", case.input("x", x),
                              case.node("Cast", case.input("half", half), to=TYPES["f32"][1]))
            total = case.node("Mul", case.node("Add", total, case.input("bias", bias)), case.input("factor", factor))
            total = case.node("Add", total, case.node("Transpose", case.input("across", across), perm=[1, 0]))
            case.nodes.append(helper.make_node(operator, [total], ["y"], axis=-1))
            wide = (x.astype(float) + half + bias) * factor + across.T
            case.output("y", softmax(wide, operator == "LogSoftmax"), "f32")
            yield case


# Of a block, of a cluster, and in parts, whose last is shorter, or of rows that begin
# at no vector's place.
SUMS_OF_EXPONENTIALS = [("f32", (7, 13)), ("f32", (130, 24)), ("f16", (7, 1001)), ("f32", (7, 50257)), ("f16", (7, 65536)),
                        ("f32", (1, 262144)), ("f32", (7, 300001)), ("f16", (2, 300001))]


def makeSumsOfExponentials():
    # Of rows of nothing but -infinity the sum is 0.
    for kind, sizes in SUMS_OF_EXPONENTIALS:
        case = Case(nameOf("logsumexp", kind, sizes), 2e-3 if kind == "f16" else 1e-5)
        x = case.draw(kind, *sizes)
        if sizes[0] > 5:
            x[0, 1:] = -numpy.inf
            x[1] = -numpy.inf
            x[2, sizes[1] // 2] = numpy.inf
            x[3] *= 1e2 if kind == "f16" else 1e30
            x[4, :sizes[1] // 2] = -numpy.inf
            x[5, -1] = numpy.nan
        elif sizes[0] > 1:
            x[0, ::3] = -numpy.inf
        case.nodes.append(helper.make_node("ReduceLogSumExp", [case.input("x", x)], ["y"], axes=[1], keepdims=0))
        wide = x.astype(float)
        most = wide.max(1)
        most = numpy.where(numpy.isfinite(most), most, 0)
        with numpy.errstate(divide="ignore"):
            case.output("y", numpy.log(numpy.exp(wide - most[:, None]).sum(1)) + most, kind)
        yield case


# Along rows and across them; extremes in each lane of a vector, more than once, and
# NaN among them.
PLACES = [("f32", (9, 1), 1), ("f16", (33, 7), 1), ("f32", (1000, 13), 1), ("f16", (5, 1001), 1),
          ("f32", (3, 4099), 1), ("f16", (17, 2048), 1), ("f32", (1001, 64), 1), ("i32", (29, 128), 1), ("i64", (3, 1000), 1),
          # Of blocks that take several turns, whose rows begin anywhere.
          ("f16", (9, 5003), 1), ("f16", (3, 20007), 1), ("f32", (5, 10007), 1), ("i64", (7, 131), 1), ("f16", (3, 20000), 1),
          ("f32", (101, 24), 0), ("f32", (1030, 129), 0), ("f16", (3, 21, 64), 1), ("f16", (1030, 129), 0), ("f16", (2, 257, 1003), 1),
          # In parts, of which the last has fewer items.
          ("f32", (3, 300007), 1), ("f16", (2, 262144), 1), ("i64", (2, 262147), 1), ("f32", (150001, 3), 0),
          ("f16", (2, 100003, 3), 1),
          ("f32", (0, 8), 1)]


def makePlaces():
    for number, (kind, sizes, axis) in enumerate(PLACES):
        last = number % 2  # the first or the last of ties, each of half of the shapes
        case = Case(nameOf("places", kind, sizes, axis, last), 0)
        x = case.draw(kind, *sizes)
        x = numpy.round(x) if kind[0] == "f" else x  # ties
        if kind[0] == "f" and x.size:
            x[0] = -numpy.inf
            x[-1:].flat[2::11] = numpy.nan
            x[sizes[0] // 2].flat[::2] = numpy.inf
            if axis == 0:
                x[:, 1] = -numpy.inf
        case.input("x", x)
        for operator, sign in (("ArgMax", 1), ("ArgMin", -1)):
            case.nodes.append(helper.make_node(operator, ["x"], [operator.lower()], axis=axis, keepdims=0,
                                               select_last_index=last))
            # A NaN exceeds all numbers.
            wide = numpy.nan_to_num(sign * x.astype(float), nan=1e300, posinf=1e200, neginf=-1e200)
            if last:
                place = sizes[axis] - 1 - numpy.flip(wide, axis).argmax(axis)
            else:
                place = wide.argmax(axis)
            case.output(operator.lower(), place, "i64")
        yield case


# Of rows, columns and parts of both.
EXTREMES = [("f32", (9, 1), 1), ("f16", (33, 7), 1), ("f16", (5, 1001), 1), ("f32", (1001, 64), 1), ("i64", (3, 1000), 1),
            ("f16", (3, 20007), 1), ("f32", (1030, 129), 0), ("f16", (3, 21, 64), 1), ("f32", (1, 300007), 1), ("f16", (1, 262144), 1),
            ("f32", (100003, 3), 0)]


def makeExtremes():
    """Extremes and their places, which one walk finds."""
    for kind, sizes, axis in EXTREMES:
        case = Case(nameOf("extremes", kind, sizes, axis), 0)
        x = case.draw(kind, *sizes)
        x = numpy.round(x) if kind[0] == "f" else x  # ties
        if kind[0] == "f":
            x[0].flat[::2] = -numpy.inf
            x[-1:].flat[2::11] = numpy.nan
        case.input("x", x)
        for sign, operator, find, name in ((1, "ReduceMax", "ArgMax", "most"), (-1, "ReduceMin", "ArgMin", "least")):
            case.nodes.append(helper.make_node(operator, ["x"], [name], axes=[axis], keepdims=0))
            case.nodes.append(helper.make_node(find, ["x"], [f"at_{name}"], axis=axis, keepdims=0))
            wide = numpy.nan_to_num(sign * x.astype(float), nan=1e300, posinf=1e200, neginf=-1e200)
            case.output(name, x.max(axis) if sign > 0 else x.min(axis), kind)
            case.output(f"at_{name}", wide.argmax(axis), "i64")
        yield case


# Odd lengths, of which a thread has one item, a few, and more than one vector; masks
# by the place in the row, scales and biases along it, and rows that are divided.
ODD = [1, 7, 13, 39, 127, 333, 999, 1000]


def isBehind(case, rows, length):
    """Whether a column comes behind the row's own."""
    row, column = (case.node("Range", *[case.constant(numpy.array(n)) for n in (0, size, 1)]) for size in (rows, length))
    return case.node("Less", case.node("Unsqueeze", row, case.constant(numpy.array([1]))), column)


def makeOddRows():
    for kind in ("f32", "f16"):
        norm = 2e-3 if kind == "f16" else 1e-5
        for length in ODD:
            case = Case(nameOf("causal_softmax", kind, (3, length)), norm, batch=None)
            rows = min(length, 40)
            x = case.draw(kind, 3, rows, length)
            mask = case.node("Where", isBehind(case, rows, length), case.constant(TYPES[kind][0](-1e4)),
                             case.constant(TYPES[kind][0](0)))
            scaled = case.node("Mul", case.input("x", x), case.constant(TYPES[kind][0](0.125)))
            case.nodes.append(helper.make_node("Softmax", [case.node("Add", scaled, mask)], ["y"], axis=-1))
            case.output("y", softmax(x * 0.125 + numpy.triu(numpy.full((rows, length), -1e4), 1), False), kind)
            yield case
            case = Case(nameOf("tril", kind, (3, rows, length)), 0, batch=None)
            x = case.draw(kind, 3, rows, length)
            case.nodes.append(helper.make_node("Where", [isBehind(case, rows, length), case.constant(TYPES[kind][0](0)),
                                                         case.input("x", x)], ["y"]))
            case.output("y", numpy.tril(x), kind)
            yield case
            case = Case(nameOf("odd_norm", kind, (17, length)), norm)
            x, scale, bias = case.draw(kind, 17, length), case.draw(kind, length), case.draw(kind, length)
            normal = case.node("LayerNormalization", case.input("x", x), case.constant(scale), case.constant(bias), axis=-1)
            case.nodes.append(helper.make_node("Relu", [normal], ["y"]))
            wide = x.astype(float)
            deviation = wide - wide.mean(-1, keepdims=True)
            variance = (deviation * deviation).mean(-1, keepdims=True)
            case.output("y", numpy.maximum(deviation / numpy.sqrt(variance + 1e-5) * scale + bias, 0), kind)
            yield case
    # Quotients of zeros, of what is infinite, too large and too small; nearly all bits.
    for columns in (64, 39):
        case = Case(nameOf("row_quotients", "f32", (14, columns)), 1e-7)
        divisors = numpy.array([1, 3, -7, 0.0, -0.0, numpy.inf, numpy.nan, 1e-20, 3e30, -1e-35, 1.7, 49, 1e12, 1e-12], numpy.float32)
        x = case.draw("f32", 14, columns)
        x[:, :9] = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-42, 3e38, -1e-30, 1e30]
        x[10, 9:] *= numpy.float32(1e-25)
        x[11] = x[11, 20]
        name = case.input("x", x)
        case.nodes.append(helper.make_node("Div", [name, case.input("d", divisors[:, None])], ["y"]))
        with numpy.errstate(all="ignore"):
            case.output("y", x / divisors[:, None], "f32")
        yield case


# Over the middle axis, then over the last: of whole vectors and odd, of a lane, of a
# few, of several warps, and of more than a block finds.
NESTED = [("f32", (65, 39, 16)), ("f16", (33, 26, 10)), ("f32", (7, 5, 1)), ("f16", (65, 100, 64)), ("f32", (9, 20, 96)),
          ("f32", (3, 50, 333)), ("f16", (5, 17, 768)), ("f32", (2, 1001, 1024)), ("f32", (4, 3, 1025)), ("f32", (3, 0, 24)),
          ("f32", (0, 4, 8))]


def makeNested():
    for kind, sizes in NESTED:
        norm = 4e-3 if kind == "f16" else 2e-5
        # A factorisation machine's second order, the scores it comes from stored beside it.
        case = Case(nameOf("second_order", kind, sizes), norm)
        x = (case.draw(kind, *sizes) / 4).astype(TYPES[kind][0])
        name, axis = case.input("x", x), case.constant(numpy.array([1]))
        total = case.node("ReduceSum", name, axis, keepdims=0)
        squares = case.node("ReduceSum", case.node("Mul", name, name), axis, keepdims=0)
        vector = case.node("Sub", case.node("Mul", total, total), squares)
        case.nodes.append(helper.make_node("ReduceSum", [vector, axis], ["y"], keepdims=0))
        wide = x.astype(float)
        case.output("y", (wide.sum(1)**2 - (wide * wide).sum(1)).sum(-1), kind)
        yield case
        # A mean of steps, and the norm of the mean's row: results at both.
        case = Case(nameOf("pool_norm", kind, sizes), norm)
        x = case.draw(kind, *sizes)
        scale = case.draw(kind, sizes[2])
        if not sizes[1]:
            continue
        mean = case.node("ReduceMean", case.input("x", x), axes=[1], keepdims=0)
        case.nodes.append(helper.make_node("LayerNormalization", [mean, case.constant(scale)], ["y"], axis=-1))
        case.nodes.append(helper.make_node("ReduceMax", [mean], ["most"], axes=[1], keepdims=0))
        wide = x.astype(float).mean(1)
        deviation = wide - wide.mean(-1, keepdims=True)
        variance = (deviation * deviation).mean(-1, keepdims=True)
        case.output("y", deviation / numpy.sqrt(variance + 1e-5) * scale, kind)
        case.output("most", wide.max(-1, initial=-numpy.inf), kind)
        yield case


# Columns, stored at every point: of a step, of several and of more than registers hold;
# whole vectors of columns, odd ones, more than a block takes, and so many that several
# blocks share a multiprocessor.
COLUMNS = [("f32", (2, 1, 40)), ("f32", (5, 7, 16)), ("f16", (2, 13, 33)), ("f16", (3, 127, 48)), ("f32", (2, 21, 1030)),
           ("f32", (2, 1000, 64)), ("f16", (2, 1000, 64)), ("f32", (1, 3000, 129)), ("f16", (3, 0, 8)), ("f32", (0, 5, 8)),
           ("f32", (34, 600, 64))]


def makeColumns():
    for kind, sizes in COLUMNS:
        norm = 2e-3 if kind == "f16" else 1e-5
        # Scaled and masked, an item of each column the largest of all.
        case = Case(nameOf("softmax_columns", kind, sizes), norm)
        x, mask = case.draw(kind, *sizes), case.draw(kind, sizes[1], 1)
        x[:, :1] = numpy.inf if kind == "f16" else 3e30
        x[:, :1, 1:] = -numpy.inf
        scaled = case.node("Mul", case.input("x", x), case.constant(numpy.array(0.5, TYPES[kind][0])))
        masked = case.node("Add", scaled, case.input("mask", mask))
        case.nodes.append(helper.make_node("Softmax", [masked], ["y"], axis=1))
        case.nodes.append(helper.make_node("LogSoftmax", ["x"], ["z"], axis=1))
        case.output("y", softmax(x.astype(float) / 2 + mask, False, 1), kind)
        case.output("z", softmax(x.astype(float), True, 1), kind)
        case.batch = {"x": "batch"}
        yield case
        if not sizes[1]:
            continue
        case = Case(nameOf("norm_columns", kind, sizes), norm, batch={"x": "batch", "z": "batch"})
        x, z, scale = case.draw(kind, *sizes), case.draw(kind, *sizes), case.draw(kind, sizes[1], 1)
        apart = case.node("Sub", case.input("x", x), case.node("ReduceMean", "x", axes=[1]))
        variance = case.node("ReduceMean", case.node("Mul", apart, apart), axes=[1])
        deviation = case.node("Sqrt", case.node("Add", variance, case.constant(numpy.array(1e-5, TYPES[kind][0]))))
        scaled = case.node("Mul", case.node("Div", apart, deviation), case.input("s", scale))
        case.nodes.append(helper.make_node("Add", [scaled, case.input("z", z)], ["y"]))
        wide = x.astype(float)
        wide = wide - wide.mean(1, keepdims=True)
        case.output("y", wide / numpy.sqrt((wide * wide).mean(1, keepdims=True) + 1e-5) * scale + z, kind)
        yield case


# Rows of several pieces of memory, by whole vectors of each or not: axes 0, 2 and 3.
PIECES = [("f32", (16, 12, 14, 14)), ("f16", (6, 5, 7, 24)), ("f32", (5, 9, 7, 7)), ("f16", (130, 3, 6, 12)),
          ("f32", (0, 4, 2, 2))]
# Sums over axis 1 by weights that all columns share.
WEIGHTED = [("f32", (65, 100, 64)), ("f16", (33, 26, 40)), ("f32", (9, 50, 33)), ("f16", (3, 1000, 8)),
            ("f32", (4, 3, 1)), ("f32", (5, 0, 8))]


def makePieces():
    for kind, sizes in PIECES:
        norm = 2e-3 if kind == "f16" else 1e-5
        case = Case(nameOf("batch_norm_training", kind, sizes), norm)
        x = case.draw(kind, *sizes)
        axes = [0, 2, 3]
        mean = case.node("ReduceMean", case.input("x", x), axes=axes, keepdims=1)
        apart = case.node("Sub", "x", mean)
        case.nodes.append(helper.make_node("ReduceMean", [case.node("Mul", apart, apart)], ["variance"],
                                           axes=axes, keepdims=0))
        wide = x.astype(float)
        with numpy.errstate(invalid="ignore"):
            case.output("variance", wide.var((0, 2, 3)) if x.size else numpy.full(sizes[1], numpy.nan), kind)
        yield case


def makeWeighted():
    for kind, sizes in WEIGHTED:
        case = Case(nameOf("weighted_sum", kind, sizes), 2e-3 if kind == "f16" else 1e-5)
        x, weights = case.draw(kind, *sizes), case.draw(kind, *sizes[:2])
        each = case.node("Unsqueeze", case.input("w", weights), case.constant(numpy.array([2])))
        product = case.node("Mul", case.input("x", x), each)
        case.nodes.append(helper.make_node("ReduceSum", [product, case.constant(numpy.array([1]))], ["y"], keepdims=0))
        case.output("y", (x.astype(float) * weights.astype(float)[:, :, None]).sum(1), kind)
        yield case


# Columns that one pass reduces: of a step, of several and of more than are loaded together;
# halves that begin anywhere, of which vectors are shifted into place.
PASSES = [("f32", (33, 1, 40)), ("f32", (65, 7, 33)), ("f16", (40, 13, 64)), ("f32", (129, 39, 16)), ("f16", (127, 39, 16)),
          ("f32", (31, 50, 33)), ("f16", (3, 100, 129)), ("f32", (7, 127, 48)), ("f16", (2, 1000, 24)), ("f16", (1, 513, 4099)),
          ("f16", (5, 333, 15)), ("f16", (40, 9, 3)), ("f16", (7, 127, 13)), ("f32", (5, 0, 8))]


def makePasses():
    for kind, sizes in PASSES:
        case = Case(nameOf("passes", kind, sizes), 4e-3 if kind == "f16" else 1e-5, batch={"x": "batch"})
        x = case.draw(kind, *sizes)
        if sizes[1] > 2:
            x[0, 1] = -numpy.inf
        name, axes, wide = case.input("x", x), case.constant(numpy.array([1])), x.astype(float)
        case.nodes.append(helper.make_node("ReduceMax", [name], ["most"], axes=[1], keepdims=0))
        case.output("most", wide.max(1, initial=-numpy.inf), kind)
        finite = case.node("Max", name, case.constant(numpy.array(-2, TYPES[kind][0])))
        squares = case.node("Mul", finite, finite)
        case.nodes.append(helper.make_node("ReduceSum", [squares, axes], ["squares"], keepdims=0))
        case.output("squares", (numpy.maximum(wide, -2) ** 2).sum(1), kind)
        yield case


# Columns of narrow elements that begin anywhere, which threads read by rows of one phase: fewer rows than
# vectors have lanes, a last vector of one column, and memory that ends with it.
PHASES = [("f16", (1, 1023, 1001)), ("f16", (3, 100, 129)), ("bf16", (5, 333, 77)), ("i8", (2, 513, 257)), ("i8", (1, 300, 1023)),
          ("f16", (2, 7, 131)), ("bf16", (1, 127, 13)), ("i8", (7, 40, 17)), ("f16", (1, 1, 1001))]


def makePhases():
    for kind, sizes in PHASES:
        case = Case(nameOf("phases", kind, sizes), 1e-2, batch={"x": "batch"})
        x, wide = case.draw(kind, *sizes), None
        if sizes[1] > 2 and kind != "i8":
            x[0, 2, 0] = numpy.nan
        name, wide = case.input("x", x), x.astype(float)
        case.nodes.append(helper.make_node("ArgMin", [name], ["where"], axis=1, keepdims=0))
        case.output("where", wide.argmin(1), "i64")
        case.nodes.append(helper.make_node("ReduceMin", [name], ["least"], axes=[1], keepdims=0))
        case.output("least", wide.min(1), kind)
        yield case


# Groups of channels: positions that are whole vectors or none, or one and a half.
GROUPS = [("f16", (3, 8, 4, 8), 2), ("f32", (2, 6, 4, 4), 3), ("f16", (2, 12, 3, 4), 4), ("f32", (3, 8, 5, 5), 2),
          ("f16", (2, 8, 64, 64), 2)]


def makeGroups():
    """The scale of a channel is the same for vectors of its positions."""
    for kind, sizes, groups in GROUPS:
        case = Case(nameOf("group_norm", kind, sizes), 2e-3 if kind == "f16" else 1e-5, batch={"x": "batch"})
        x = case.draw(kind, *sizes)
        scale, bias = case.draw(kind, sizes[1], 1, 1), case.draw(kind, sizes[1], 1, 1)
        rows = case.node("Reshape", case.input("x", x), case.constant(numpy.array([0, groups, -1])))
        ones = numpy.ones(numpy.prod(sizes[1:]) // groups, TYPES[kind][0])
        norm = case.node("LayerNormalization", rows, case.constant(ones), axis=-1)
        apart = case.node("Reshape", norm, case.constant(numpy.array([0, *sizes[1:]])))
        scaled = case.node("Mul", apart, case.input("s", scale))
        case.nodes.append(helper.make_node("Add", [scaled, case.input("b", bias)], ["y"]))
        wide = x.astype(float).reshape(sizes[0], groups, -1)
        deviation = wide - wide.mean(-1, keepdims=True)
        variance = (deviation * deviation).mean(-1, keepdims=True)
        whole = (deviation / numpy.sqrt(variance + 1e-5)).reshape(sizes)
        case.output("y", whole * scale + bias, kind)
        yield case


def makeAll():
    for make in (makeRows, makeFetchedRows, makeSumsInParts, makeSumsOfExponentials, makePlaces, makeExtremes,
                 makeOddRows, makeNested, makeColumns, makePieces, makeWeighted, makePasses, makePhases, makeGroups):
        yield from make()
