# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts: each takes a graph and one of its values and returns another.

A part that has no form for a value's sizes returns the value. Results stay near
1 and continuous in what they are computed from, so that runtimes which round
differently agree: nothing is compared, divided by or cancelled that is itself
rounded.
"""

import math

import numpy

from graph import isFixed

WIDTHS = (1, 2, 3, 4, 7, 8, 12, 13, 16, 20, 24, 32, 33, 48, 64, 100)
MOST_ELEMENTS = 16000  # with 8 for a named dimension


def countElements(sizes):
    return math.prod(size if isFixed(size) else 8 for size in sizes)


# Pointwise


def activation(g, x):
    kind = g.pick("Sigmoid", "Relu", "Tanh", "Softplus", "HardSwish", "silu", "gelu", "clip",
                  "leaky", "none")
    if kind == "none":
        return x
    if kind == "silu":
        return g.pointwise("Mul", x, g.pointwise("Sigmoid", x))
    if kind == "gelu":
        error = g.pointwise("Erf", g.pointwise("Mul", x, g.scalar(0.5 ** 0.5)))
        product = g.pointwise("Mul", x, g.pointwise("Add", error, g.scalar(1)))
        return g.pointwise("Mul", product, g.scalar(0.5))
    if kind == "clip":
        return g.pointwise("Clip", x, g.scalar(-1), g.scalar(1))
    if kind == "leaky":
        return g.node("LeakyRelu", [x], g.sizes[x], alpha=0.1)
    return g.pointwise(kind, x)


def unary(g, x):
    kind = g.pick("Neg", "Abs", "Elu", "Softsign", "exp", "sqrt", "sin", "reciprocal", "square")
    bounded = g.pointwise("Tanh", x)
    if kind == "exp":
        return g.pointwise("Exp", bounded)
    if kind == "sin":
        return g.pointwise(g.pick("Sin", "Cos"), bounded)
    if kind == "square":
        return g.pointwise("Mul", bounded, bounded)
    if kind in ("sqrt", "reciprocal"):
        positive = g.pointwise("Add", g.pointwise("Abs", x), g.scalar(1))
        return g.pointwise(kind.capitalize(), positive)
    return g.pointwise(kind, x)


def combine(g, a, b):
    """Of b's sizes one may be 1, or missing, where a's is not."""
    kind = g.pick("Add", "Mul", "Max", "Min", "Where", "Div")
    if kind == "Where":
        last = g.sizes[a][-1:] if g.sizes[a] and isFixed(g.sizes[a][-1]) else [1]
        mask = g.constant(g.numbers.integers(0, 2, last).astype(bool))
        return g.node("Where", [mask, a, b], g.sizes[a])
    if kind == "Div":
        positive = g.pointwise("Add", g.pointwise("Abs", b), g.scalar(1))
        return g.pointwise("Div", a, positive)
    return g.pointwise(kind, a, b)


def binary(g, x):
    sizes = g.sizes[x]
    kept = [size if isFixed(size) and g.chance(0.6) else 1 for size in sizes]
    dropped = g.random.randint(0, max(0, len(sizes) - 1))
    if g.chance(0.4):
        return combine(g, x, g.weight(*kept[dropped:], scale=1.0))
    same = [name for name in g.values if g.sizes[name] == sizes]
    if same and g.chance(0.5):
        return combine(g, x, g.pick(*same))
    if all(isFixed(size) or size in ("batch", "seq") for size in sizes):
        kept = [size if g.chance(0.7) else 1 for size in sizes]
        return combine(g, x, g.input(kept[dropped:]))
    return x


# Layers


def linear(g, x, width):
    *rows, depth = g.sizes[x]
    if g.chance(0.05):  # by what the user gives
        result = g.node("MatMul", [x, g.input([depth, width])], rows + [width])
        return g.pointwise("Mul", result, g.scalar(depth ** -0.5))
    bias = g.weight(width, scale=0.5) if g.chance(0.5) else None
    if len(rows) == 1 and g.chance(0.35):
        transposed = g.chance(0.5)
        weight = g.weight(width, depth, scale=depth ** -0.5) if transposed \
            else g.weight(depth, width)
        return g.node("Gemm", [x, weight] + ([bias] if bias else []), rows + [width],
                      transB=int(transposed), alpha=g.pick(1.0, 1.0, 0.5),
                      beta=g.pick(1.0, 2.0))
    if g.chance(0.3):
        weight = g.node("Transpose", [g.weight(width, depth, scale=depth ** -0.5)],
                        [depth, width], perm=[1, 0])
    else:
        weight = g.weight(depth, width)
    result = g.node("MatMul", [x, weight], rows + [width])
    return g.node("Add", g.pick([result, bias], [bias, result]), rows + [width]) if bias \
        else result


def lowRank(g, x, width):
    *rows, depth = g.sizes[x]
    rank = g.pick(1, 2, 4, 8, 16)
    down = g.node("MatMul", [x, g.weight(depth, rank)], rows + [rank])
    up = g.node("MatMul", [down, g.weight(rank, width)], rows + [width])
    if g.chance(0.6):
        up = g.pointwise("Mul", up, g.scalar(g.pick(0.5, 2.0)))
    return g.pointwise("Add", linear(g, x, width), up)


def layer(g, x, width=None):
    if not g.sizes[x] or not isFixed(g.sizes[x][-1]):
        return x
    width = width or g.pick(*WIDTHS)
    return lowRank(g, x, width) if g.chance(0.25) else linear(g, x, width)


def group(g, x):
    """Layers of one operand, as queries, keys and values, which meet or not."""
    width = g.pick(*WIDTHS)
    result = activation(g, layer(g, x, width))
    for _ in range(g.pick(1, 1, 2, 3)):
        other = activation(g, layer(g, x, width if g.chance(0.75) else g.pick(*WIDTHS)))
        if g.sizes[other] == g.sizes[result] and g.chance(0.6):
            result = combine(g, result, other)
        elif g.chance(0.7):
            result = concatLast(g, [result, other])
        else:
            g.outputs.append(other)
    return result


def gatedUnit(g, x):
    """Two parts of one projection."""
    width = g.pick(*WIDTHS)
    both = layer(g, x, 2 * width)
    kind = g.pick("split", "halves", "columns", "overlap")
    if kind == "split":
        gate, value = g.split(both, [width, width], len(g.sizes[both]) - 1)
    elif kind == "columns":
        gate, value = (sliceLast(g, both, start, 2 * width, 2) for start in (0, 1))
    else:
        start = width if kind == "halves" else g.random.randint(0, width)
        gate, value = (sliceLast(g, both, first, first + width) for first in (0, start))
    if g.chance(0.3):
        value = g.pointwise("Add", value, g.scalar(1))
    if g.chance(0.15):
        g.outputs.append(both)
    return combine(g, activation(g, gate), value)


def expanded(g, x):
    """A product of what is the same along dimensions."""
    narrow = [size if g.chance(0.4) else 1 for size in g.sizes[x]]
    if not narrow or not all(isFixed(size) or size in ("batch", "seq") for size in narrow):
        return x
    target = g.node("Shape", [x], [len(narrow)])
    return product(g, g.node("Expand", [g.input(narrow), target], g.sizes[x]))


def residual(g, x):
    inner = activation(g, layer(g, x)) if g.chance(0.6) else x
    return g.pointwise("Add", x, layer(g, inner, g.sizes[x][-1]))


def concatenated(g, x):
    """A layer of what several kernels, inputs and the value itself hold."""
    *rows, _ = g.sizes[x]
    parts = [x]
    for _ in range(g.pick(1, 1, 2)):
        kind = g.pick("layer", "activation", "input")
        if kind == "input" and all(isFixed(size) or size in ("batch", "seq") for size in rows):
            parts.append(g.input(rows + [g.pick(*WIDTHS)]))
        else:
            parts.append(activation(g, layer(g, x) if kind == "layer" else x))
    g.random.shuffle(parts)
    whole = concatLast(g, parts)
    return layer(g, activation(g, whole) if g.chance(0.2) else whole)


def attention(g, x):
    if len(g.sizes[x]) != 3:
        return residual(g, x)
    batch, rows, width = g.sizes[x]
    heads, depth = g.pick(1, 2, 4), g.pick(4, 8, 16)
    if countElements([batch, heads, rows, rows]) > MOST_ELEMENTS:
        return x

    def split(order):
        y = g.node("Reshape", [linear(g, x, heads * depth), g.indices(0, 0, heads, depth)],
                   [batch, rows, heads, depth])
        sizes = [batch, rows, heads, depth]
        return g.node("Transpose", [y], [sizes[axis] for axis in order], perm=order)

    queries, keys, values = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
    scores = g.node("MatMul", [queries, keys], [batch, heads, rows, rows])
    scores = g.pointwise("Mul", scores, g.scalar(depth ** -0.5))
    weights = g.node("Softmax", [scores], g.sizes[scores], axis=-1)
    mixed = g.node("MatMul", [weights, values], [batch, heads, rows, depth])
    mixed = g.node("Transpose", [mixed], [batch, rows, heads, depth], perm=[0, 2, 1, 3])
    mixed = g.node("Reshape", [mixed, g.indices(0, 0, heads * depth)],
                   [batch, rows, heads * depth])
    return g.pointwise("Add", x, linear(g, mixed, width))


def product(g, x):
    """By a weight from the left, a batch of weights, or itself."""
    sizes = g.sizes[x]
    if len(sizes) < 2:
        return layer(g, x)
    *batch, rows, columns = sizes
    if g.chance(0.4) and isFixed(rows):
        width = g.pick(*WIDTHS)
        return g.node("MatMul", [g.weight(width, rows, scale=rows ** -0.5), x],
                      batch + [width, columns])
    if g.chance(0.3) and batch and all(map(isFixed, batch + [columns])):
        width = g.pick(*WIDTHS)
        weight = g.weight(*batch, columns, width)
        return g.node("MatMul", [x, weight], batch + [rows, width])
    if countElements([*batch, rows, rows]) > MOST_ELEMENTS:
        return x
    order = [*range(len(batch)), len(batch) + 1, len(batch)]
    flipped = g.node("Transpose", [x], batch + [columns, rows], perm=order)
    result = g.node("MatMul", [x, flipped], batch + [rows, rows])
    return g.pointwise("Tanh", g.pointwise("Mul", result, g.scalar(0.2)))


def embedding(g, x):
    """A lookup in a table, or of a number a row."""
    sizes = g.sizes[x]
    if len(sizes) != 2 or not isFixed(sizes[1]) or sizes[0] not in ("batch", 1, 3, 7, 17):
        return x
    rows, depth, columns = g.pick(3, 10, 50), g.pick(4, 7, 8, 16), g.pick(1, 2, 3)
    if g.chance(0.3):
        scales = g.weight(rows, scale=1.0)
        scale = g.node("Gather", [scales, g.input([sizes[0], 1], rows)], [sizes[0], 1])
        return g.pointwise("Mul", x, scale)
    index = g.input([sizes[0], columns], rows)
    found = g.node("Gather", [g.weight(rows, depth, scale=1.0), index],
                   [sizes[0], columns, depth])
    if g.chance(0.5):
        found = g.node("ReduceSum", [found, g.indices(1)], [sizes[0], depth], keepdims=0)
    else:
        found = g.node("Reshape", [found, g.indices(-1, columns * depth)],
                       [sizes[0], columns * depth])
    return concatLast(g, [x, found])


# Reductions


def normalization(g, x):
    sizes = g.sizes[x]
    if not sizes or not isFixed(sizes[-1]):
        return x
    kind = g.pick("rms", "layer", "softmax")
    if kind == "layer":
        return g.node("LayerNormalization",
                      [x, g.weight(sizes[-1], scale=1.0), g.weight(sizes[-1], scale=1.0)],
                      sizes, axis=-1, epsilon=1e-2)
    if kind == "softmax":
        return g.node(g.pick("Softmax", "LogSoftmax"), [x], sizes,
                      axis=g.random.randrange(len(sizes)))
    mean = g.node("ReduceMean", [g.pointwise("Mul", x, x), g.indices(-1)], sizes[:-1] + [1],
                  keepdims=1)
    root = g.pointwise("Sqrt", g.pointwise("Add", mean, g.scalar(1e-2)))
    scaled = g.pointwise("Div", x, root) if g.chance(0.5) \
        else g.pointwise("Mul", x, g.pointwise("Reciprocal", root))
    return g.pointwise("Mul", scaled, g.weight(sizes[-1], scale=1.0)) if g.chance(0.7) else scaled


def reduction(g, x):
    sizes = g.sizes[x]
    if not sizes:
        return x
    axes = sorted(g.random.sample(range(len(sizes)), g.random.randint(1, min(2, len(sizes)))))
    keep = g.chance(0.6)
    result = [1 if axis in axes else size for axis, size in enumerate(sizes)
              if keep or axis not in axes]
    y = g.node(g.pick("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"),
               [x, g.indices(*axes)], result, keepdims=int(keep))
    return combine(g, x, y) if keep and g.chance(0.6) else y


# Views


def sliceLast(g, x, start, end, step=1):
    *rows, size = g.sizes[x]
    count = len(range(start, min(end, size), step))
    return g.node("Slice", [x, *(g.indices(v) for v in (start, end, -1, step))],
                  rows + [count])


def concatLast(g, values):
    *rows, _ = g.sizes[values[0]]
    return g.node("Concat", values, rows + [sum(g.sizes[v][-1] for v in values)], axis=-1)


def transpose(g, x):
    order = list(range(len(g.sizes[x])))
    g.random.shuffle(order)
    if not order:
        return x
    return g.node("Transpose", [x], [g.sizes[x][axis] for axis in order], perm=order)


def regroup(g, x):
    """Joins two dimensions, or splits one."""
    sizes = g.sizes[x]
    if sum(not isFixed(size) for size in sizes) > 1 or not sizes:
        return x
    axis = g.random.randrange(len(sizes))
    if g.chance(0.5) and axis + 1 < len(sizes):
        a, b = sizes[axis:axis + 2]
        joined = [a * b if isFixed(a) and isFixed(b) else f"{a}*{b}"]
        result = sizes[:axis] + joined + sizes[axis + 2:]
    elif isFixed(sizes[axis]) and len(sizes) < 5:
        first = g.pick(*(d for d in range(1, sizes[axis] + 1) if sizes[axis] % d == 0))
        result = sizes[:axis] + [first, sizes[axis] // first] + sizes[axis + 1:]
    else:
        return x
    target = g.indices(*(size if isFixed(size) else -1 for size in result))
    return g.node("Reshape", [x, target], result)


def pickAxis(g, x):
    """One whose size is known, or None."""
    axes = [axis for axis, size in enumerate(g.sizes[x]) if isFixed(size)]
    return g.pick(*axes) if axes else None


def strided(g, x):
    sizes, axis = g.sizes[x], pickAxis(g, x)
    if axis is None:
        return x
    step = g.pick(1, 1, 1, 2, 3, -1, -2)
    start, end = sorted(g.random.sample(range(sizes[axis] + 1), 2))
    if step < 0:  # from the end down to start
        start, end = end - 1, start - 1
    count = len(range(start, end, step))
    if end < 0:  # ONNX's number for "before the first"
        end = numpy.iinfo(numpy.int64).min + 1
    return g.node("Slice", [x, *(g.indices(v) for v in (start, end, axis, step))],
                  sizes[:axis] + [count] + sizes[axis + 1:])


def concat(g, x):
    sizes, axis = g.sizes[x], pickAxis(g, x)
    if axis is None:
        return x

    def fits(name):
        other = g.sizes[name]
        return len(other) == len(sizes) and isFixed(other[axis]) \
            and other[:axis] + other[axis + 1:] == sizes[:axis] + sizes[axis + 1:]

    parts = [x] + [g.pick(*filter(fits, g.values)) for _ in range(g.pick(1, 1, 2))]
    g.random.shuffle(parts)
    whole = sum(g.sizes[part][axis] for part in parts)
    return g.node("Concat", parts, sizes[:axis] + [whole] + sizes[axis + 1:], axis=axis)


def gather(g, x):
    sizes, axis = g.sizes[x], pickAxis(g, x)
    if axis is None:
        return x
    chosen = [g.random.randint(-sizes[axis], sizes[axis] - 1) for _ in range(g.pick(1, 2, 5))]
    return g.node("Gather", [x, g.indices(*chosen)],
                  sizes[:axis] + [len(chosen)] + sizes[axis + 1:], axis=axis)


def tile(g, x):
    repeats = [g.pick(1, 1, 2, 3) if isFixed(size) and size < 20 else 1 for size in g.sizes[x]]
    if not repeats:
        return x
    return g.node("Tile", [x, g.indices(*repeats)],
                  [size * n if n > 1 else size for size, n in zip(g.sizes[x], repeats)])


ANY = (activation, unary, binary, layer, product, expanded, normalization, reduction, transpose,
       regroup, strided, concat, gather, tile)
LAYERS = (group, group, gatedUnit, gatedUnit, residual, concatenated, attention, embedding,
          normalization)
