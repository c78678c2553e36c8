# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of embedding bags: as many rows each or by offsets, with weights, masks and
padding; as graphs of gathers and reductions, and as PyTorch's exporters' loops."""

import numpy
from onnx import TensorProto, ValueInfoProto, helper

from cases import TYPES, Case, nameOf

# A bag's indices and its row's elements, a table each; bags; how they are put together.
BAGS = [("f16", "i64", [(10, 64)] * 5, 33, "concat"),
        ("f16", "i32", [(3, 128), (1, 128), (1, 128), (12, 128), (100, 128), (27, 128)], 129, "concat"),
        ("f32", "i64", [(3, 1), (1, 3), (40, 48), (5, 100), (2, 300)], 7, "concat"),
        ("f32", "i64", [(3, 16), (1, 16), (40, 16), (5, 16)], 130, "mean"),
        ("f16", "i64", [(4, 24), (4, 24), (1, 24)], 13, "stack"),
        ("f32", "i32", [(100, 64)], 3, "concat"), ("f32", "i64", [(2, 8), (1, 8)], 0, "concat"),
        ("f16", "i64", [(1, 16), (1, 8), (1, 128)], 257, "concat"),
        ("f32", "i64", [(5, 32), (33, 64)], 65, "dense"),
        # Few bags of many rows, which several warps share.
        ("f32", "i64", [(100, 256), (1, 256), (3, 16)], 5, "concat"),
        ("f16", "i32", [(300, 48), (20, 8)], 9, "mean")]


def makeBags():
    for number, (kind, index, tables, bags, form) in enumerate(BAGS):
        sizes = [bags, len(tables), max(count for count, _ in tables)]
        case = Case(nameOf(f"bag{number}", kind, sizes, form), 2e-3 if kind == "f16" else 1e-5)
        ids, parts, expected, first = [], [], [], 0
        axis = case.constant(numpy.array([1]))
        if form == "dense":
            dense = case.draw(kind, bags, 16)
            parts.append(case.node("Relu", case.input("x", dense)))
            expected.append(numpy.maximum(dense, 0).astype(float))
        for count, width in tables:
            table = case.draw(kind, 50 + width, width)
            rows = case.random.integers(-len(table), len(table), (bags, count))
            rows[:1, :1] = len(table) - 1  # the last one
            rows[1:2] = 0  # one again and again
            ids.append(rows)
            taken = case.node("Slice", "ids", case.constant(numpy.array([first])),
                              case.constant(numpy.array([first + count])), axis)
            first += count
            rows = case.node("Gather", case.constant(table), taken, axis=0)
            if form == "mean":
                summed = case.node("ReduceMean", rows, axes=[1], keepdims=0)
            else:
                summed = case.node("ReduceSum", rows, axis, keepdims=0)
            sums = table.astype(float)[ids[-1]].sum(1)
            expected.append(sums / count if form == "mean" else sums)
            parts.append(case.node("Unsqueeze", summed, axis) if form == "stack" else summed)
        case.input("ids", numpy.concatenate(ids, 1).astype(TYPES[index][0]))
        case.nodes.append(helper.make_node("Concat", parts, ["y"], axis=1))
        put = numpy.stack if form == "stack" else numpy.concatenate
        case.output("y", put(expected, 1), kind)
        yield case


# How rows of fixed bags are reduced: what of, type, indices, rows, width.
FIXED = [("max", "f16", 5, 60, 64), ("max", "f32", 1, 9, 3), ("max", "f32", 70, 20, 48),
         ("weights", "f32", 5, 40, 16), ("weights", "f16", 40, 30, 100), ("left", "f32", 3, 7, 1),
         ("mask", "f32", 6, 50, 300), ("mask", "f16", 20, 12, 128), ("shared", "f32", 2, 13, 8),
         ("max", "f16", 200, 5, 72), ("weights", "f32", 100, 6, 260), ("weights", "f32", 3000, 2, 8),
         ("max", "f32", 2500, 3, 20)]


def makeFixed():
    for form, kind, count, bags, width in FIXED:
        # How many ids a bag has is a name, too.
        case = Case(nameOf(f"bag_{form}", kind, (bags, count, width)), 2e-3 if kind == "f16" else 1e-5,
                    batch=dict.fromkeys(("ids", "jds", "w", "m"), ("batch", "length")))
        table = case.draw(kind, 40, width)
        ids = case.random.integers(-40, 40, (bags, count))
        case.input("ids", ids)
        name, rows = case.constant(table), table.astype(float)[ids]
        gathered = case.node("Gather", name, "ids", axis=0)
        if form == "max":
            case.nodes.append(helper.make_node("ReduceMax", [gathered], ["y"], axes=[1], keepdims=0))
            case.output("y", rows.max(1), kind)
            yield case
            continue
        axis, last = case.constant(numpy.array([1])), case.constant(numpy.array([2]))
        if form == "shared":
            case.input("jds", ids[:, ::-1])
            again = case.node("Gather", name, "jds", axis=0)
            parts = [case.node("ReduceSum", each, axis, keepdims=0) for each in (gathered, again)]
            case.nodes.append(helper.make_node("Concat", parts, ["y"], axis=1))
            case.output("y", numpy.concatenate([rows.sum(1)] * 2, 1), kind)
            yield case
            continue
        weights = case.draw(kind, bags, count)
        if form == "mask":
            weights = weights > 0
            case.input("m", weights)
            factor = case.node("Cast", "m", to=TYPES[kind][1])
        else:
            factor = case.input("w", weights)
        factor = case.node("Unsqueeze", factor, last)
        pair = [factor, gathered] if form == "left" else [gathered, factor]
        total = case.node("ReduceSum", case.node("Mul", *pair), axis, keepdims=0)
        case.nodes.append(helper.make_node("Identity", [total], ["y"]))
        case.output("y", (rows * weights[..., None]).sum(1), kind)
        yield case


def inside(name, nodes, inputs, outputs, constants=()):
    """A graph inside a node; inputs and outputs without types, as exporters leave them."""
    info = lambda key: ValueInfoProto(name=key)
    return helper.make_graph(nodes, name, [info(key) for key in inputs],
                             [info(key) for key in outputs], list(constants))


def scanned(case, table, mode, weights, isLast, result="y"):
    """A loop whose bags are a scan output, as the TorchScript exporter's."""
    zero, one = case.constant(numpy.array([0])), case.constant(numpy.array([1]))
    far, true = case.constant(numpy.array([2**63 - 1])), case.constant(numpy.array(True))
    count = case.node("Gather", case.node("Shape", "ids"), case.constant(numpy.array(0)), axis=0)
    starts = "offsets" if isLast else case.node(
        "Concat", "offsets", case.node("Unsqueeze", count, zero), axis=0)
    ends = case.node("Slice", starts, one, far, zero, one)
    turns = case.node("Gather", case.node("Shape", ends), case.constant(numpy.array(0)), axis=0)
    node = helper.make_node
    body = [node("Gather", [starts, "turn"], ["a"], axis=0), node("Gather", [ends, "turn"], ["b"], axis=0),
            node("Unsqueeze", ["a", zero], ["from"]), node("Unsqueeze", ["b", zero], ["to"]),
            node("Slice", ["ids", "from", "to", zero], ["own"]),
            node("Gather", [table, "own"], ["rows"], axis=0)]
    rows = "rows"
    if weights:
        body += [node("Slice", ["weights", "from", "to", zero], ["factors"]),
                 node("Unsqueeze", ["factors", one], ["column"]),
                 node("Mul", ["rows", "column"], ["products"])]
        rows = "products"
    body += [node("ReduceSum", [rows, zero], ["bag"], keepdims=0) if mode == "Sum" else
             node(f"Reduce{mode}", [rows], ["bag"], axes=[0], keepdims=0),
             node("Cast", [true], ["goes"], to=TensorProto.BOOL)]
    case.nodes.append(node("Loop", [turns, true], [result], body=inside(
        "bags", body, ["turn", "before"], ["goes", "bag"])))


def inserted(case, table, width, mode, padding, rowCount):
    """A loop that inserts bags into a sequence, as torch.export's exporter's."""
    node, number = helper.make_node, lambda value: case.constant(numpy.array(value))
    zero, one, two, row = number(0), number(1), number(2), number([0])
    sizes = case.node("Shape", "ids")
    rows = case.node("Mul", case.node("Gather", table, "ids", axis=0),
                     case.node("Unsqueeze", "weights", number([1])))
    ends = case.node("Concat", "offsets", sizes, axis=0)
    bags = case.node("Size", "offsets")
    empty, first = case.node("SequenceEmpty"), case.node("Less", zero, bags)
    nothing = case.constant(numpy.zeros((1, width), "f"))
    if padding is None:
        body = [node("Reshape", ["i", number([-1])], ["at"]), node("Add", ["at", one], ["next"]),
                node("Add", ["at", two], ["over"]), node("Slice", [ends, "at", "next"], ["from"]),
                node("Slice", [ends, "next", "over"], ["to"]), node("Equal", ["from", "to"], ["isEmpty"])]
        inner = [node("Slice", [rows, "from", "to"], ["of"])]
    else:
        body = paddedPlaces(case, ends, padding, rowCount)
        inner = [node("Gather", [rows, "found"], ["of"], axis=0)]
    if mode == "Mean" and padding is None:
        count, last = case.node("Shape", "ids", start=0, end=1), case.node("Sub", bags, one)
        inner += meanOfLast(count, last, zero, row)
    else:
        inner += [node(f"Reduce{mode}", ["of", row], ["bag"], keepdims=1)]
    body += [node("If", ["isEmpty"], ["one"],
                  then_branch=inside("none", [node("Identity", [nothing], ["zeros"])], [], ["zeros"]),
                  else_branch=inside("some", inner, [], ["bag"])),
             node("SequenceInsert", ["before", "one"], ["after"]),
             node("Add", ["i", one], ["j"]), node("Less", ["j", bags], ["goes"])]
    total, sequence = "lastIndex", "sequence"
    case.nodes.append(node("Loop", ["", first, zero, empty], [total, sequence], body=inside(
        "bags", body, ["turn", "condition", "i", "before"], ["goes", "j", "after"])))
    case.nodes.append(node("ConcatFromSequence", [sequence], ["y"], axis=0))


def meanOfLast(count, last, zero, row):
    """The last bag's mean is of what is left."""
    node = helper.make_node
    divided = [node("Cast", ["left"], ["number"], to=TensorProto.FLOAT),
               node("Div", ["total", "number"], ["quotient"])]
    final = [node("ReduceSum", ["of", row], ["total"]), node("Sub", [count, "from"], ["left"]),
             node("Greater", ["left", zero], ["hasAny"]),
             node("If", ["hasAny"], ["ofLast"], then_branch=inside("a", divided, [], ["quotient"]),
                  else_branch=inside("b", [node("Identity", ["total"], ["same"])], [], ["same"]))]
    return [node("Equal", ["i", last], ["isLast"]),
            node("If", ["isLast"], ["bag"], then_branch=inside("last", final, [], ["ofLast"]),
                 else_branch=inside("other", [node("ReduceMean", ["of", row], ["mean"])], [], ["mean"]))]


def paddedPlaces(case, ends, padding, rowCount):
    """Places of indices that are no padding, collected by a loop."""
    node, number = helper.make_node, lambda value: case.constant(numpy.array(value))
    zero, one, flat = number(0), number(1), number([-1])
    same = lambda name, to: inside("same", [node("Identity", [name], [to])], [], [to])
    grow = inside("grow", [node("Reshape", ["p", flat], ["place"]),
                           node("Concat", ["places", "place"], ["more"], axis=0)], [], ["more"])
    body = [node("Gather", ["ids", "p"], ["id"], axis=0), node("Less", ["id", zero], ["isNegative"]),
            node("If", ["isNegative"], ["row"], else_branch=same("id", "positive"),
                 then_branch=inside("wrap", [node("Add", ["id", number(rowCount)], ["wrapped"])], [], ["wrapped"])),
            node("Equal", ["row", number(padding)], ["isPadding"]), node("Not", ["isPadding"], ["isRow"]),
            node("If", ["isRow"], ["now"], then_branch=grow, else_branch=same("places", "fewer")),
            node("Add", ["p", one], ["q"]), node("Less", ["q", "to"], ["goesOn"])]
    places = inside("places", body, ["step", "goesIn", "places", "p"], ["goesOn", "now", "q"])
    outer = [node("Gather", [ends, "i"], ["from"], axis=0), node("Add", ["i", one], ["next"]),
             node("Gather", [ends, "next"], ["to"], axis=0), node("Less", ["from", "to"], ["hasAny"]),
             node("Loop", ["", "hasAny", number(numpy.zeros(0, "int64")), "from"], ["found", "end"],
                  body=places),
             node("Size", ["found"], ["number"]), node("Equal", ["number", zero], ["isEmpty"])]
    return outer


# Mode, type, index type, width, lengths of bags; weights, a last offset, padding.
RANGES = [("Sum", "f32", "i64", 16, "mixed", False, False, None),
          ("Sum", "f16", "i32", 64, "mixed", True, False, None),
          ("Mean", "f32", "i64", 3, "mixed", False, True, None),
          ("Max", "f16", "i64", 300, "mixed", False, False, None),
          ("Max", "f32", "i32", 1, "mixed", False, True, None),
          ("Sum", "f32", "i64", 128, "long", True, True, None),
          ("Mean", "f16", "i64", 100, "empty", False, False, None),
          ("Sum", "f32", "i64", 48, "mixed", True, False, "sequence"),
          ("Mean", "f32", "i64", 8, "mixed", True, False, "sequence"),
          ("Sum", "f32", "i64", 16, "mixed", True, False, 7),
          ("Mean", "f32", "i64", 48, "mixed", True, False, 0),
          ("Max", "f32", "i64", 100, "mixed", True, False, 39)]


def drawLengths(case, how):
    if how == "empty":
        return numpy.zeros(9, int)
    if how == "long":
        return numpy.array([1, 3000, 0, 5, 70])
    return numpy.array([0, *case.random.integers(0, 7, 60), 0, 40, 0])


def makeRanges():
    for number, (mode, kind, index, width, how, weighted, isLast, padding) in enumerate(RANGES):
        isInserted = padding is not None
        padding = None if padding == "sequence" else padding
        case = Case(nameOf(f"range{number}", kind, (width,), mode, how), 2e-3 if kind == "f16" else 1e-5,
                    batch={"ids": "n", "weights": "n", "offsets": "bags"})
        table, lengths = case.draw(kind, 40, width), drawLengths(case, how)
        ends = numpy.cumsum(lengths)
        ids = case.random.integers(-40, 40, ends[-1])
        if padding is not None:
            ids[::3] = padding
            ids[ends[3]:ends[5]] = padding - 40  # bags of nothing else
        weights = case.draw(kind, len(ids)) if weighted else numpy.ones(len(ids))
        case.input("ids", ids.astype(TYPES[index][0]))
        offsets = numpy.concatenate([[0], ends] if isLast else [[0], ends[:-1]])
        case.input("offsets", offsets.astype(TYPES[index if isInserted else "i64"][0]))
        if weighted:
            case.input("weights", weights)
        name = case.constant(table)
        if isInserted:
            inserted(case, name, width, mode, padding, len(table))
        else:
            scanned(case, name, mode, weighted, isLast)
        expected = numpy.zeros((len(lengths), width))
        for bag, (end, length) in enumerate(zip(ends, lengths)):
            own = numpy.arange(end - length, end)
            if padding is not None:
                own = own[ids[own] % 40 != padding]
            rows = table.astype(float)[ids[own]] * weights[own, None]
            if len(own):
                expected[bag] = {"Sum": rows.sum, "Mean": rows.mean, "Max": rows.max}[mode](0)
        case.output("y", expected, kind)
        yield case


# Tables of 8 and 4 bits: type ("half": two of 4 bits in an uint8), what has a scale (and a zero), type of scales, rows of a bag,
# width; how they are dequantised.
QUANTISED = [("int8", "row", False, "f32", 10, 64, "before"), ("uint8", "row", True, "f32", 3, 16, "before"),
             ("int8", "all", True, "f32", 1, 3, "before"), ("int8", "row", True, "f16", 5, 128, "before"),
             ("uint8", "block", True, "f32", 4, 48, "before"), ("int8", "block", False, "f16", 40, 300, "before"),
             ("uint8", "block", True, "f32", 6, 64, "behind"), ("uint8", "block", False, "f32", 2, 100, "behind"),
             ("int8", "row", True, "f32", 0, 64, "before"), ("uint8", "block", True, "f16", 0, 32, "behind"),
             ("int4", "row", False, "f32", 10, 64, "before"), ("uint4", "row", True, "f32", 3, 15, "before"),
             ("int4", "all", True, "f32", 1, 1, "before"), ("int4", "block", True, "f16", 40, 48, "before"),
             ("uint4", "block", True, "f32", 6, 64, "behind"), ("int4", "block", False, "f32", 5, 100, "behind"),
             ("half", "block", True, "f32", 7, 128, "behind"), ("half", "block", False, "f16", 2, 12, "behind"),
             ("int4", "row", True, "f32", 0, 64, "before"), ("half", "block", True, "f32", 0, 36, "behind"),
             ("int4", "row", False, "f16", 12, 300, "before"), ("uint4", "row", True, "f32", 100, 8, "before")]
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int4": (-8, 7), "uint4": (0, 15), "half": (0, 15)}


def packColumns(matrix):
    """Two columns of 4 bits a byte."""
    even = numpy.pad(matrix, ((0, 0), (0, matrix.shape[1] % 2)))
    return (even[:, ::2] | even[:, 1::2] << 4).astype(numpy.uint8)


def quantisedConstant(case, value, narrow):
    if narrow == "half":
        return case.constant(packColumns(value))
    if narrow in ("int4", "uint4"):
        return case.constant4(value, TensorProto.INT4 if narrow == "int4" else TensorProto.UINT4)
    return case.constant(value.astype(narrow))


def makeQuantised():
    for number, (narrow, per, hasZeros, kind, count, width, form) in enumerate(QUANTISED):
        case = Case(nameOf(f"quantised{number}", kind, (count, width), narrow, per, form),
                    2e-3 if kind == "f16" else 1e-5)
        case.opsets = {"": 21, "com.microsoft": 1}
        rows, block = 40, width // 4 if per == "block" else width
        least, most = LIMITS[narrow]
        table = case.random.integers(least, most + 1, (rows, width))
        sizes = {"row": (rows,), "all": (), "block": (rows, width // block)}[per]
        scales = (case.random.random(sizes) / 64 + 0.01).astype(TYPES[kind][0])
        zeros = numpy.asarray(case.random.integers(least // 2, most // 2 + 1, sizes))
        ids = case.random.integers(-rows, rows, (21, count) if count else (21,))
        case.input("ids", ids)
        wide = lambda each: each if per == "all" else numpy.repeat(each.reshape(rows, -1), block, 1)
        none = {"uint8": 128, "half": 8}.get(narrow, 0) if form == "behind" else 0
        zero = wide(zeros.astype(float)) if hasZeros else none
        floats = (table.astype(float) - zero) * wide(scales.astype(float))
        names = [quantisedConstant(case, table, narrow), case.constant(scales)]
        if hasZeros:
            names.append(quantisedConstant(case, zeros, narrow))
        if form == "behind":
            gathered = case.node("GatherBlockQuantized", names[0], "ids", *names[1:], domain="com.microsoft",
                                 bits=8 if narrow == "uint8" else 4, block_size=block, gather_axis=0, quantize_axis=1)
        else:
            more = {"block_size": block, "axis": 1} if per == "block" else {"axis": 0}
            gathered = case.node("Gather", case.node("DequantizeLinear", *names, **more), "ids", axis=0)
        expected = floats[ids]
        if count:
            gathered = case.node("ReduceSum", gathered, case.constant(numpy.array([1])), keepdims=0)
            expected = expected.sum(1)
        case.nodes.append(helper.make_node("Identity", [gathered], ["y"]))
        case.output("y", expected, kind)
        yield case


def makeAll():
    for make in (makeBags, makeFixed, makeRanges, makeQuantised):
        yield from make()
