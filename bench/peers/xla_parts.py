# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows `parts` in JAX: each kind's expression as in part_modules.py, of inputs
and then weights."""

import jax
import jax.numpy as jnp

import tensors

EPSILON = 1e-5
FAR = -1e4
TYPES = {"fp32": jnp.float32, "fp16": jnp.float16, "bf16": jnp.bfloat16}


def promote(x):
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def adam(parameter, gradient, first, second):
    first = 0.9 * first + 0.1 * gradient
    second = 0.99 * second + 0.01 * gradient * gradient
    return parameter - 1e-3 * first / (jnp.sqrt(second) + 1e-6), first, second


def patches(x, shape, size):
    batch, channels, height, width = shape
    grid = x.reshape(batch, channels, height // size, size, width // size, size)
    return grid.transpose(0, 2, 4, 1, 3, 5).reshape(batch, -1, channels * size * size)


def cutSlice(x, axis, start, stop, step=1, **_):
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


def pad(x, axis, before, after, **_):
    return jnp.pad(x, [(before, after) if at == axis else (0, 0) for at in range(x.ndim)])


def applyMask(x, mask):
    return jnp.where(mask, x, jnp.asarray(FAR, x.dtype))


def softmax(x, axis=-1, **_):
    return jax.nn.softmax(promote(x), axis).astype(x.dtype)


def causalSoftmax(x, shape):
    upper = jnp.triu(jnp.full(shape[2:], FAR, x.dtype), 1)
    return softmax(x * 0.125 + upper)


def standardise(x):
    wide = promote(x)
    centred = wide - wide.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + EPSILON)


def layerNorm(x, weight, bias, **_):
    return (standardise(x) * weight + bias).astype(x.dtype)


def addLayerNorm(x, y, weight, bias, **_):
    return x + y, layerNorm(x + y, weight, bias)


def modulatedNorm(x, scale, shift, **_):
    normed = standardise(x).astype(x.dtype)
    return normed * (1 + scale[:, None]) + shift[:, None]


def rmsNorm(x, weight, **_):
    wide = promote(x)
    scale = jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + EPSILON)
    return (wide * scale * weight).astype(x.dtype)


def batchNorm(x, *state):
    ones = (1,) * (x.ndim - 2)
    mean, variance, weight, bias = (promote(each).reshape(-1, *ones) for each in state)
    return ((promote(x) - mean) * jax.lax.rsqrt(variance + EPSILON) * weight + bias).astype(x.dtype)


def groupNorm(x, weight, bias, shape, groups):
    normed = standardise(x.reshape(shape[0], groups, -1)).reshape(shape).astype(x.dtype)
    return normed * weight[:, None, None] + bias[:, None, None]


def rotate(a, b, cos, sin):
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    return a * cos - b * sin, b * cos + a * sin


def ropeHalves(x, cos, sin, **_):
    return jnp.concatenate(rotate(*jnp.split(x, 2, -1), cos, sin), -1)


def ropeInterleaved(x, cos, sin, **_):
    return jnp.stack(rotate(x[..., 0::2], x[..., 1::2], cos, sin), -1).reshape(x.shape)


def fmVector(x):
    return 0.5 * (x.sum(1) ** 2 - (x * x).sum(1))


def maskLengths(x, count, shape):
    return x * (jnp.arange(shape[1]) < count[:, None]).astype(x.dtype)[:, :, None]


def poolLengths(x, count, shape):
    return maskLengths(x, count, shape).sum(1) / jnp.maximum(count, 1).astype(x.dtype)[:, None]


def lookUp(table, ids, **_):
    return table.at[ids].get(mode="promise_in_bounds")


EXPRESSIONS = {
    "gelu": lambda x, **_: gelu(x),
    "silu_mul": lambda x, y, **_: jax.nn.silu(x) * y,
    "lerp": lambda x, y, t, **_: x + t * (y - x),
    "where_less": lambda x, y, **_: jnp.where(x < y, x, 0.5 * y),
    "exp_log": lambda x, **_: jax.nn.relu(x) + jnp.log(1 + jnp.exp(-jnp.abs(x))),
    "sine_cosine": lambda x, **_: (jnp.sin(x), jnp.cos(x)),
    "residual_relu": lambda x, y, **_: (x + y, jax.nn.relu(x + y)),
    "products": lambda x, y, **_: (x * x, x * y, y * y),
    "adam": lambda *states, **_: adam(*states),
    "bias_gelu": lambda x, bias, **_: jax.nn.gelu(x + bias, approximate=True),
    "bias_add_relu": lambda x, y, bias, **_: jax.nn.relu(x + bias + y),
    "gated_halves": lambda x, shape: jax.nn.silu(x[..., :shape[-1]]) * x[..., shape[-1]:],
    "add_transposed": lambda x, y, **_: x + y.T,
    "outer_sum": lambda x, y, **_: x[:, None] + y[None, :],
    "row_scale": lambda x, scale, shift, **_: x * scale + shift,
    "middle_scale": lambda x, scale, **_: x * scale,
    "channel_affine": lambda x, scale, shift, **_: jax.nn.relu(x * scale[:, None, None] +
                                                               shift[:, None, None]),
    "cast": lambda x, target, **_: x.astype(TYPES[target]),
    "dequantise": lambda x, scale, **_: x.astype(scale.dtype) * scale[:, None],
    "transpose": lambda x, order, **_: x.transpose(order),
    "transpose_scale": lambda x, order, **_: jax.nn.relu(0.5 * x.transpose(order)),
    "split_heads": lambda x, shape: tuple(x[:, :, i].swapaxes(1, 2) for i in range(shape[2])),
    "patches": patches,
    "concat": lambda *parts, axis, **_: jnp.concatenate(parts, axis),
    "concat_relu": lambda *parts, axis, **_: jax.nn.relu(jnp.concatenate(parts, axis)),
    "stack": lambda *parts, **_: jnp.stack(parts, -2),
    "slice": cutSlice, "slice_gelu": lambda x, **sizes: gelu(cutSlice(x, **sizes)),
    "split_three": lambda x, **_: tuple(jnp.split(x, 3, -1)),
    "roll": lambda x, shifts, **_: jnp.roll(x, shifts, (1, 2)),
    "flip": lambda x, axis, **_: jnp.flip(x, axis),
    "pad": pad, "pad_relu": lambda x, **sizes: jax.nn.relu(pad(x, **sizes)),
    "gather": lookUp,
    "gather_scaled": lambda table, ids, scale, **_: lookUp(table, ids) * scale[:, None],
    "gather_columns": lambda x, ids, **_: x.at[:, ids].get(mode="promise_in_bounds"),
    "gather_along": lambda x, ids, **_: jnp.take_along_axis(x, ids, 1, mode="promise_in_bounds"),
    "one_hot": lambda ids, shape, target: (ids[:, None] == jnp.arange(shape[1])).astype(
        TYPES[target]),
    "sum": lambda x, axes, **_: x.sum(axes), "mean": lambda x, axes, **_: x.mean(axes),
    "max": lambda x, axes, **_: x.max(axes), "min": lambda x, axes, **_: x.min(axes),
    "prod": lambda x, axes, **_: x.prod(axes),
    "argmax": lambda x, axes, **_: x.argmax(*axes), "argmin": lambda x, axes, **_: x.argmin(*axes),
    "sum_squares": lambda x, axes, **_: (x * x).sum(axes),
    "l2": lambda x, axes, **_: jnp.sqrt((x * x).sum(axes)),
    "logsumexp": lambda x, axes, **_: jax.nn.logsumexp(promote(x), axes).astype(x.dtype),
    "variance": lambda x, axes, **_: x.var(axes),
    "standardise": lambda x, axes, **_: (x - x.mean(axes, keepdims=True)) * jax.lax.rsqrt(
        x.var(axes, keepdims=True) + EPSILON),
    "dot": lambda x, y, axes, **_: (x * y).sum(axes),
    "squared_error": lambda x, y, axes, **_: ((x - y) * (x - y)).mean(axes),
    "cosine": lambda x, y, axes, **_: (x * y).sum(axes) * jax.lax.rsqrt(
        (x * x).sum(axes)) * jax.lax.rsqrt((y * y).sum(axes)),
    "gelu_mean": lambda x, axes, **_: gelu(x).mean(axes),
    "normalise_l2": lambda x, **_: x / jnp.maximum(
        jnp.sqrt((promote(x) ** 2).sum(-1, keepdims=True)), 1e-12).astype(x.dtype),
    "weighted_sum": lambda x, weight, **_: (x * weight[:, :, None]).sum(1),
    "softmax": softmax,
    "log_softmax": lambda x, axis, **_: jax.nn.log_softmax(promote(x), axis).astype(x.dtype),
    "masked_softmax": lambda x, mask, **_: softmax(applyMask(0.125 * x, mask)),
    "causal_softmax": causalSoftmax,
    "layer_norm": layerNorm,
    "layer_norm_gelu": lambda *tensors, **_: gelu(layerNorm(*tensors)),
    "add_layer_norm": addLayerNorm, "modulated_norm": modulatedNorm, "rms_norm": rmsNorm,
    "add_rms_norm": lambda x, y, weight, **_: (x + y, rmsNorm(x + y, weight)),
    "gated_rms_norm": lambda x, gate, weight, **_: rmsNorm(x * jax.nn.silu(gate), weight),
    "batch_norm": lambda x, *state, **_: batchNorm(x, *state),
    "batch_norm_relu": lambda x, *state, **_: jax.nn.relu(batchNorm(x, *state)),
    "batch_norm_add_relu": lambda x, y, *state, **_: jax.nn.relu(batchNorm(x, *state) + y),
    "group_norm": groupNorm,
    "group_norm_silu": lambda *tensors, **sizes: jax.nn.silu(groupNorm(*tensors, **sizes)),
    "rope_halves": ropeHalves, "rope_interleaved": ropeInterleaved,
    "rope_pair": lambda q, k, *angles, **_: (ropeHalves(q, *angles), ropeHalves(k, *angles)),
    "fm": lambda x, **_: fmVector(x).sum(1), "fm_vector": lambda x, **_: fmVector(x),
    "cross": lambda first, x, product, bias, **_: first * (product + bias) + x,
    "mask_fill": lambda x, mask, **_: applyMask(x, mask),
    "tril": lambda x, **_: jnp.tril(x),
    "cumsum": lambda x, axis, **_: jnp.cumsum(promote(x), axis).astype(x.dtype),
    "mask_lengths": maskLengths, "pool_lengths": poolLengths,
}


def compute(kind):
    """As xla.KINDS has it."""
    def run(state, *inputs, **sizes):
        weights = [state[tensors.nameWeight(i)] for i in range(len(state))]
        return EXPRESSIONS[kind](*inputs, *weights, **sizes)
    return run


KINDS = {kind: compute(kind) for kind in EXPRESSIONS}
