# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of models that read histories: lookups of many rows, attention units,
masks, and concats whose pieces are read elsewhere, too.

As in parts.py, a part that has no form for a value's sizes returns the value.
"""

import parts
from graph import isFixed
from parts import MOST_ELEMENTS, WIDTHS, activation, combine, countElements, layer, linear

NARROW = (1, 1, 1, 2, 3, 4, 8)


def isSequence(g, x):
    return len(g.sizes[x]) == 3 and isFixed(g.sizes[x][-1])


def isNamed(sizes):
    """Whether an input can have the sizes: no dimension is an expression."""
    return all(isFixed(size) or size in ("batch", "seq") for size in sizes)


def lookUp(g, rows):
    """Rows of a table, which a product reads as well where it is tied."""
    count, depth = g.pick(3, 10, 37), g.pick(1, 3, 4, 7, 8, 16)
    table = g.weight(count, depth, scale=1.0)
    found = g.node("Gather", [table, g.input(rows, count)], [*rows, depth])
    if g.chance(0.15):
        g.outputs.append(tied(g, found, table))
    return found


def tied(g, x, table):
    """Scores of the table's rows, or a mean of them."""
    count, depth = g.sizes[table]
    if g.chance(0.5):
        weights = g.node("Softmax", [linear(g, x, count)], [*g.sizes[x][:-1], count], axis=-1)
        return g.node("MatMul", [weights, table], g.sizes[x])
    flipped = g.node("Transpose", [table], [depth, count], perm=[1, 0])
    return g.node("MatMul", [x, flipped], [*g.sizes[x][:-1], count])


def bag(g, table, index, first, count):
    """Of each row of indices so many, from a column on."""
    rows, depth = g.sizes[index][0], g.sizes[table][1]
    ids = g.node("Slice", [index, g.indices(first), g.indices(first + count), g.indices(1)],
                 [rows, count], isValue=False)
    found = g.node("Gather", [table, ids], [rows, count, depth])
    return g.node(g.pick("ReduceSum", "ReduceSum", "ReduceMean"), [found, g.indices(1)],
                  [rows, depth], keepdims=0)


def fields(g, x):
    """Side by side: a row of a table for each column of the indices, or the sums or
    means of several columns' rows."""
    if not g.sizes[x] or not isNamed(g.sizes[x][:1]):
        return x
    rows = g.sizes[x][0]
    count, depth, columns = g.pick(3, 10, 37), g.pick(1, 3, 4, 6, 7, 8, 16), g.pick(2, 3, 5)
    taken = [g.pick(1, 2, 5) if isBag else 1 for isBag in [g.chance(0.5)] * columns]
    index, found, column = g.input([rows, sum(taken)], count), [], 0
    tables = [g.weight(count, depth, scale=1.0) for _ in range(columns)]
    for table, ids in zip(tables, taken):
        if ids > 1:
            found.append(bag(g, table, index, column, ids))
        else:
            chosen = g.node("Gather", [index, g.constant(column)], [rows], isValue=False, axis=1)
            found.append(g.node("Gather", [table, chosen], [rows, depth]))
        column += ids
    whole = parts.concatLast(g, found)
    if g.chance(0.3):
        g.outputs.append(tied(g, g.pick(*found), g.pick(*tables)))
    return whole


def history(g, x):
    """A lookup of many rows for each of the value's first dimension."""
    if not g.sizes[x] or not isNamed(g.sizes[x][:1]):
        return x
    return lookUp(g, [g.sizes[x][0], g.pick(2, 4, 7, 8, 10)])


def root(g, x):
    """Of what has a kernel of its own, whatever reads it."""
    kind = g.pick("softmax", "layer", "layer", "product", "mean", "none")
    if kind == "softmax":
        return g.node("Softmax", [x], g.sizes[x], axis=g.random.randrange(len(g.sizes[x])))
    if kind == "layer":
        return activation(g, layer(g, x))
    if kind == "product":
        return parts.product(g, x)
    return parts.reduction(g, x) if kind == "mean" else x


def transposeLast(g, x):
    *batch, rows, columns = g.sizes[x]
    order = [*range(len(batch)), len(batch) + 1, len(batch)]
    return g.node("Transpose", [x], [*batch, columns, rows], perm=order)


def masked(g, scores):
    """By inputs of the same sizes, of a row, or of a number a batch."""
    *batch, rows, columns = g.sizes[scores]
    if not isNamed([*batch, rows, columns]):
        return scores
    kind = g.pick("where", "where", "flipped", "product", "lengths")
    if kind == "lengths" and len(batch) == 1 and isFixed(columns):
        steps = g.constant([[list(range(columns))]])
        lengths = g.input([*batch, 1, 1], columns + 1)
        mask = g.node("Less", [steps, lengths], [*batch, 1, columns], isValue=False)
    elif g.chance(0.5):
        mask = g.unsqueeze(g.mask([*batch, columns]), len(batch), isValue=False)
    else:
        mask = g.mask([*batch, g.pick(1, rows), columns])
    if kind == "product":
        number = g.number(mask) if g.chance(0.6) else g.input(g.sizes[mask])
        operands = [scores, number]
        g.random.shuffle(operands)
        return g.node("Mul", operands, g.sizes[scores])
    operands = [scores, g.scalar(g.pick(0.0, -4.0))]
    if kind == "flipped":
        operands.reverse()
    return g.node("Where", [mask, *operands], g.sizes[scores])


def dice(g, x):
    """An activation over columns that lie along rows where it is computed."""
    *_, width = g.sizes[x]
    flipped = transposeLast(g, x)
    mean, scale, shift = (g.weight(width, scale=0.3) for _ in range(3))
    variance = g.constant(abs(g.numbers.standard_normal(width)).astype(g.dtype) + g.dtype(0.5))
    normal = g.node("BatchNormalization", [flipped, scale, shift, mean, variance],
                    g.sizes[flipped])
    gate = g.pointwise("Sigmoid", normal)
    rest = g.node("Sub", [g.scalar(1), gate], g.sizes[gate])
    leak = g.node("Mul", [g.weight(width, 1, scale=0.3), rest], g.sizes[rest])
    total = g.pointwise("Add", g.pointwise("Mul", leak, flipped),
                        g.pointwise("Mul", gate, flipped))
    return transposeLast(g, total)


def scores(g, x):
    """A few numbers a row, [.., rows, few], by layers."""
    hidden = x
    for _ in range(g.pick(0, 0, 1, 2)):
        hidden = linear(g, hidden, g.pick(*WIDTHS))
        hidden = dice(g, hidden) if g.chance(0.3) and len(g.sizes[hidden]) == 3 \
            else activation(g, hidden)
    return linear(g, hidden, g.pick(*NARROW))


def bounded(g, x):
    """What was summed over rows, near 1 again."""
    x = g.pointwise("Mul", x, g.scalar(0.25))
    return g.pointwise("Tanh", x) if g.chance(0.5) \
        else g.pointwise("Clip", x, g.scalar(-2), g.scalar(2))


def weighted(g, x):
    """Sums of the rows of a value, or of another, by scores of its rows."""
    sizes = g.sizes[x]
    if len(sizes) < 2 or not isFixed(sizes[-1]):
        return x
    weights = transposeLast(g, scores(g, x))
    for _ in range(g.pick(0, 1, 1, 2)):
        step = g.pick("mask", "mask", "scale", "activation", "softmax")
        if step == "mask":
            weights = masked(g, weights)
        elif step == "scale":
            weights = g.pointwise("Mul", weights, g.scalar(0.5))
        elif step == "activation":
            weights = activation(g, weights)
        else:
            weights = g.node("Softmax", [weights], g.sizes[weights], axis=-1)
    if g.chance(0.2):
        weights = transposeLast(g, transposeLast(g, weights))
    same = [v for v in g.values if g.sizes[v][:-1] == sizes[:-1] and isFixed(g.sizes[v][-1])]
    value = g.pick(*same) if g.chance(0.3) else x
    return bounded(g, g.node("MatMul", [weights, value],
                             [*g.sizes[weights][:-1], g.sizes[value][-1]]))


def attentionUnit(g, x):
    """Deep interest: scores of rows against one row, [q, k, q - k, q k]."""
    if not isSequence(g, x) or not isFixed(g.sizes[x][1]) and g.chance(0.5):
        return x
    batch, _, width = g.sizes[x]
    kind = g.pick("mean", "input", "layer")
    if kind == "input" and isNamed([batch]):
        query = g.input([batch, 1, width])
    else:
        query = g.node("ReduceMean", [x, g.indices(1)], [batch, 1, width], keepdims=1)
        if kind == "layer":
            query = linear(g, query, width)
    spread = g.node("Expand", [query, g.node("Shape", [x], [3])], g.sizes[x])
    pieces = [spread, x]
    if g.chance(0.7):
        pieces += [g.pointwise("Sub", spread, x), g.pointwise("Mul", spread, x)]
    whole = parts.concatLast(g, pieces)
    weights = masked(g, transposeLast(g, scores(g, whole)))
    rows = g.sizes[weights][1]
    pooled = bounded(g, g.node("MatMul", [weights, x], [batch, rows, width]))
    if rows == 1 and g.chance(0.4):
        return parts.concatLast(g, [pooled, query])
    return pooled


def shared(g, x):
    """A concat along any dimension, of pieces that layers or others read, too."""
    sizes = g.sizes[x]
    if len(sizes) < 2 or not isFixed(sizes[-1]):
        return x
    if g.chance(0.4) and isNamed(sizes[:1]):
        x = history(g, x)
    x = root(g, x)
    sizes, axis = g.sizes[x], parts.pickAxis(g, x)
    if axis is None or len(sizes) < 2:
        return x
    pieces = [x]
    for _ in range(g.pick(1, 1, 2, 3)):
        kind = g.pick("mean", "root", "difference", "masked", "other")
        if kind == "mean":
            pieces.append(g.node("ReduceMean", [x, g.indices(axis)],
                                 [*sizes[:axis], 1, *sizes[axis + 1:]], keepdims=1))
        elif kind == "masked" and isNamed(sizes[:-1]):
            mask = g.mask([*sizes[:-1], 1])
            pieces.append(g.pointwise("Mul", x, g.number(mask)))
        elif kind == "difference":
            pieces.append(g.pointwise("Sub", g.node("Softmax", [x], sizes, axis=axis), x))
        else:
            like = [v for v in g.values if len(g.sizes[v]) == len(sizes)
                    and isFixed(g.sizes[v][axis]) and all(
                        g.sizes[v][i] == sizes[i] for i in range(len(sizes)) if i != axis)]
            pieces.append(g.pick(*like))
            if kind == "root":
                pieces[-1] = g.node("Softmax", [pieces[-1]], g.sizes[pieces[-1]],
                                    axis=g.random.randrange(len(sizes)))
    g.random.shuffle(pieces)
    total = sum(g.sizes[piece][axis] for piece in pieces)
    whole = g.node("Concat", pieces, [*sizes[:axis], total, *sizes[axis + 1:]], axis=axis)
    read = g.pick(*pieces) if g.chance(0.3) else x
    use = g.pick("layer", "layer", "product", "regroup", "weighted")
    if use == "layer":
        other = activation(g, layer(g, read))
    elif use == "weighted":
        other = weighted(g, read)
    else:
        other = parts.product(g, read) if use == "product" else parts.regroup(g, read)
    if g.chance(0.2) and g.sizes[other] == g.sizes[whole]:
        return combine(g, other, whole)
    g.outputs.append(whole if g.chance(0.6) else parts.strided(g, whole))
    return other if countElements(g.sizes[other]) <= MOST_ELEMENTS else whole


def pooledHistory(g, x):
    found = history(g, x)
    return found if found == x else g.pick(attentionUnit, weighted, shared)(g, found)


SEQUENCES = (weighted, weighted, attentionUnit, attentionUnit, shared, shared, shared, history,
             pooledHistory, pooledHistory, fields)
