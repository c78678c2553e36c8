# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each kind of the rows `parts` reads and writes: its inputs and weights are
drawn from it, and it says how many bytes the kind takes at least.
part_modules.py computes them in PyTorch, peers/xla_parts.py in JAX.
"""

import dataclasses
import math
import typing

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "i64": 8, "i32": 4, "i8": 1, "bool": 1}
SECTOR_BYTES = 32  # memory is read in whole ones


@dataclasses.dataclass(frozen=True)
class Tensor:
    shape: tuple
    dtype: str = ""  # "" stands for the workload's
    values: str = "normal"  # or "near one"; of variances "positive"
    below: int = 0  # of integers: their limit
    isWeight: bool = False
    # Elements that are read, where not all are: a number, or a function of how many a
    # sector holds, where others lie between those that are needed.
    read: typing.Union[int, typing.Callable[[int], int], None] = None

    def count(self):
        return math.prod(self.shape)

    def bytesOf(self, elements, dtype):
        return elements * BYTES[self.dtype or dtype]

    def leastBytes(self, dtype):
        read = self.read
        if callable(read):
            read = read(SECTOR_BYTES // BYTES[self.dtype or dtype])
        return self.bytesOf(self.count() if read is None else read, dtype)


def nameWeight(i):
    """The i-th weight of a module, for whoever reads its state."""
    return f"weight{i}"


def expectDistinct(rows, draws):
    """Of so many rows, those that are expected among so many random draws."""
    return -rows * math.expm1(draws * math.log1p(-1 / rows)) if rows > 1 else rows


def countDistinct(rows, draws):
    return round(expectDistinct(rows, draws))


def same(inputs, outputs=1):
    """So many tensors of one shape."""
    return lambda shape, **_: ([Tensor(shape)] * inputs, [Tensor(shape)] * outputs)


def withWeights(*values, inputs=1, outputs=1, axis=-1):
    """The same, and weights of one axis."""
    def tensors(shape, **_):
        weights = [Tensor((shape[axis],), values=each, isWeight=True) for each in values]
        return [Tensor(shape)] * inputs + weights, [Tensor(shape)] * outputs
    return tensors


def broadcast(*picks):
    """x of the shape, and others that have some of its sizes, or 1."""
    def tensors(shape, **_):
        return [Tensor(shape), *(Tensor(pick(*shape)) for pick in picks)], [Tensor(shape)]
    return tensors


def reduce(inputs=1, dtype="", values="normal"):
    def tensors(shape, axes, **_):
        kept = tuple(size for axis, size in enumerate(shape) if axis not in axes)
        return [Tensor(shape, values=values)] * inputs, [Tensor(kept, dtype)]
    return tensors


def transpose(shape, order):
    return [Tensor(shape)], [Tensor(tuple(shape[axis] for axis in order))]


def splitHeads(shape):
    batch, sequence, parts, heads, size = shape
    return [Tensor(shape)], [Tensor((batch, heads, sequence, size))] * parts


def patches(shape, size):
    batch, channels, height, width = shape
    count = height // size * (width // size)
    return [Tensor(shape)], [Tensor((batch, count, channels * size * size))]


def concat(shape, axis, widths):
    def resize(width):
        return (*shape[:axis], width, *shape[axis:])
    return [Tensor(resize(width)) for width in widths], [Tensor(resize(sum(widths)))]


def stack(shape, count):
    return [Tensor(shape)] * count, [Tensor((*shape[:-1], count, shape[-1]))]


def slice_(shape, axis, start, stop, step=1):
    kept = (*shape[:axis], len(range(start, stop, step)), *shape[axis + 1:])
    between = step if axis == len(shape) - 1 else 1
    return ([Tensor(shape, read=lambda sector: math.prod(kept) * min(between, sector))],
            [Tensor(kept)])


def splitThree(shape):
    *rows, width = shape
    return [Tensor(shape)], [Tensor((*rows, width // 3))] * 3


def pad(shape, axis, before, after):
    padded = (*shape[:axis], shape[axis] + before + after, *shape[axis + 1:])
    return [Tensor(shape)], [Tensor(padded)]


def gather(shape, rows):
    """Rows of a table; `shape` is that of the indices, and a row's width."""
    *ids, width = shape
    read = countDistinct(rows, math.prod(ids)) * width
    return ([Tensor((rows, width), read=read), Tensor(tuple(ids), "i64", below=rows)],
            [Tensor(shape)])


def gatherScaled(shape, rows):
    inputs, outputs = gather(shape, rows)
    return [*inputs, Tensor(shape[:-1])], outputs


def gatherColumns(shape, count):
    rows, width = shape

    def read(sector):
        return round(rows * sector * expectDistinct(width / sector, count))
    return ([Tensor(shape, read=read),
             Tensor((count,), "i64", below=width)], [Tensor((rows, count))])


def gatherAlong(shape, count):
    (x, _), outputs = gatherColumns(shape, count)
    return [x, Tensor((shape[0], count), "i64", below=shape[1])], outputs


def oneHot(shape, **_):
    rows, width = shape
    return [Tensor((rows,), "i64", below=width)], [Tensor(shape)]


def adam(shape):
    return [*[Tensor(shape)] * 3, Tensor(shape, values="positive")], [Tensor(shape)] * 3


def cast(shape, source, target):
    values = {"below": 100} if source.startswith("i") else {}
    return [Tensor(shape, source, **values)], [Tensor(shape, target)]


def maskedSoftmax(shape):
    batch, _, _, keys = shape
    return [Tensor(shape), Tensor((batch, 1, 1, keys), "bool")], [Tensor(shape)]


def rope(shape, tensors=1):
    _, sequence, _, size = shape
    return ([Tensor(shape)] * tensors + [Tensor((sequence, size // 2))] * 2,
            [Tensor(shape)] * tensors)


def lengths(shape):
    batch, sequence, _ = shape
    return [Tensor(shape), Tensor((batch,), "i64", below=sequence)], [Tensor(shape)]


def poolLengths(shape):
    batch, _, width = shape
    return lengths(shape)[0], [Tensor((batch, width))]


TENSORS = {
    # Pointwise.
    "gelu": same(1), "silu_mul": same(2), "lerp": same(3), "where_less": same(2),
    "exp_log": same(1), "sine_cosine": same(1, 2), "residual_relu": same(2, 2),
    "products": same(2, 3), "adam": adam,
    "bias_gelu": withWeights("normal"), "bias_add_relu": withWeights("normal", inputs=2),
    "gated_halves": lambda shape: ([Tensor((*shape[:-1], 2 * shape[-1]))], [Tensor(shape)]),
    "add_transposed": lambda shape: ([Tensor(shape), Tensor(shape[::-1])], [Tensor(shape)]),
    "outer_sum": lambda shape: ([Tensor(shape[:1]), Tensor(shape[1:])], [Tensor(shape)]),
    "row_scale": broadcast(lambda m, n: (m, 1), lambda m, n: (1, n)),
    "middle_scale": broadcast(lambda a, b, c: (a, 1, c)),
    "channel_affine": withWeights("near one", "normal", axis=1),
    "cast": cast,
    "dequantise": lambda shape: ([Tensor(shape, "i8", below=127), Tensor(shape[:1])],
                                 [Tensor(shape)]),
    # Moves.
    "transpose": transpose, "transpose_scale": transpose, "split_heads": splitHeads,
    "patches": patches, "concat": concat, "concat_relu": concat, "stack": stack,
    "slice": slice_, "slice_gelu": slice_, "split_three": splitThree,
    "roll": lambda shape, shifts: same(1)(shape), "flip": lambda shape, axis: same(1)(shape),
    "pad": pad, "pad_relu": pad,
    "gather": gather, "gather_scaled": gatherScaled, "gather_columns": gatherColumns,
    "gather_along": gatherAlong, "one_hot": oneHot,
    # Reductions.
    **{how: reduce() for how in ("sum", "mean", "max", "min", "sum_squares", "l2", "logsumexp",
                                 "variance")},
    "prod": reduce(values="near one"), "argmax": reduce(dtype="i64"), "argmin": reduce(dtype="i64"),
    "dot": reduce(2), "squared_error": reduce(2), "cosine": reduce(2), "gelu_mean": reduce(),
    "normalise_l2": same(1), "standardise": lambda shape, axes: same(1)(shape),
    "weighted_sum": lambda shape: ([Tensor(shape), Tensor(shape[:2])],
                                   [Tensor((shape[0], shape[2]))]),
    # Softmax.
    "softmax": lambda shape, axis: same(1)(shape),
    "log_softmax": lambda shape, axis: same(1)(shape),
    "masked_softmax": maskedSoftmax, "causal_softmax": same(1),
    # Norms.
    "layer_norm": withWeights("near one", "normal"),
    "layer_norm_gelu": withWeights("near one", "normal"),
    "add_layer_norm": withWeights("near one", "normal", inputs=2, outputs=2),
    "modulated_norm": lambda shape: ([Tensor(shape), *[Tensor((shape[0], shape[2]))] * 2],
                                     [Tensor(shape)]),
    "rms_norm": withWeights("near one"),
    "add_rms_norm": withWeights("near one", inputs=2, outputs=2),
    "gated_rms_norm": withWeights("near one", inputs=2),
    "batch_norm": withWeights("normal", "positive", "near one", "normal", axis=1),
    "batch_norm_relu": withWeights("normal", "positive", "near one", "normal", axis=1),
    "batch_norm_add_relu": withWeights("normal", "positive", "near one", "normal", inputs=2,
                                       axis=1),
    "group_norm": lambda shape, groups: withWeights("near one", "normal", axis=1)(shape),
    "group_norm_silu": lambda shape, groups: withWeights("near one", "normal", axis=1)(shape),
    # What else transformers and recommenders have.
    "rope_halves": rope, "rope_interleaved": rope, "rope_pair": lambda shape: rope(shape, 2),
    "fm": lambda shape: ([Tensor(shape)], [Tensor(shape[:1])]),
    "fm_vector": lambda shape: ([Tensor(shape)], [Tensor((shape[0], shape[2]))]),
    "cross": withWeights("normal", inputs=3), "cumsum": same(1),
    "mask_fill": maskedSoftmax, "tril": same(1), "mask_lengths": lengths,
    "pool_lengths": poolLengths,
}
