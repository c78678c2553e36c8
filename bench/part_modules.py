# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows `parts` in PyTorch, as one writes them for it: each kind's expression of
inputs and weights, which tensors.py lists."""

import torch
from torch import nn
from torch.nn import functional

import tensors

EPSILON = 1e-5
FAR = -1e4  # what a mask leaves of a score
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
         "i64": torch.int64, "i32": torch.int32, "i8": torch.int8, "bool": torch.bool}


def adam(parameter, gradient, first, second):
    first = 0.9 * first + 0.1 * gradient
    second = 0.99 * second + 0.01 * gradient * gradient
    return parameter - 1e-3 * first / (torch.sqrt(second) + 1e-6), first, second


def transpose(x, order, **_):
    return x.permute(order).contiguous()


def patches(x, shape, size):
    batch, channels, height, width = shape
    grid = x.reshape(batch, channels, height // size, size, width // size, size)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(batch, -1, channels * size * size)


def cutSlice(x, axis, start, stop, step=1, **_):
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


def pad(x, axis, before, after, shape):
    sides = [x.new_zeros((*shape[:axis], count, *shape[axis + 1:]))
             for count in (before, after)]
    return torch.cat([side for side in (sides[0], x, sides[1]) if side.numel()], axis)


def oneHot(ids, shape, target):
    return (ids[:, None] == torch.arange(shape[1], device=ids.device)).to(TYPES[target])


def applyMask(x, mask):
    return torch.where(mask, x, FAR)


def causalSoftmax(x, shape):
    upper = torch.full(shape[2:], FAR, dtype=x.dtype, device=x.device).triu(1)
    return torch.softmax(x * 0.125 + upper, -1)


def addLayerNorm(x, y, weight, bias, **_):
    total = x + y
    return total, functional.layer_norm(total, weight.shape, weight, bias, EPSILON)


def modulatedNorm(x, scale, shift, shape):
    normed = functional.layer_norm(x, shape[-1:], eps=EPSILON)
    return normed * (1 + scale[:, None]) + shift[:, None]


def rmsNorm(x, weight, **_):
    return functional.rms_norm(x, weight.shape, weight, EPSILON)


def addRmsNorm(x, y, weight, **_):
    total = x + y
    return total, rmsNorm(total, weight)


def batchNorm(x, mean, variance, weight, bias, **_):
    return functional.batch_norm(x, mean, variance, weight, bias, eps=EPSILON)


def groupNorm(x, weight, bias, shape, groups):
    rows = x.reshape(shape[0], groups, -1)
    normed = functional.layer_norm(rows, rows.shape[-1:], eps=EPSILON).reshape(shape)
    return normed * weight[:, None, None] + bias[:, None, None]


def rotate(a, b, cos, sin):
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    return a * cos - b * sin, b * cos + a * sin


def ropeHalves(x, cos, sin, **_):
    return torch.cat(rotate(*x.chunk(2, -1), cos, sin), -1)


def ropeInterleaved(x, cos, sin, **_):
    return torch.stack(rotate(x[..., 0::2], x[..., 1::2], cos, sin), -1).flatten(-2)


def fmVector(x):
    return 0.5 * (x.sum(1) ** 2 - (x * x).sum(1))


def maskLengths(x, count, shape):
    steps = torch.arange(shape[1], device=x.device)
    return x * (steps < count[:, None]).to(x.dtype)[:, :, None]


def poolLengths(x, count, shape):
    return maskLengths(x, count, shape).sum(1) / torch.clamp(count, min=1).to(x.dtype)[:, None]


EXPRESSIONS = {
    "gelu": lambda x, **_: functional.gelu(x),
    "silu_mul": lambda x, y, **_: functional.silu(x) * y,
    "lerp": lambda x, y, t, **_: x + t * (y - x),
    "where_less": lambda x, y, **_: torch.where(x < y, x, 0.5 * y),
    "exp_log": lambda x, **_: torch.relu(x) + torch.log(1 + torch.exp(-x.abs())),
    "sine_cosine": lambda x, **_: (x.sin(), x.cos()),
    "residual_relu": lambda x, y, **_: (x + y, torch.relu(x + y)),
    "products": lambda x, y, **_: (x * x, x * y, y * y),
    "adam": lambda *states, **_: adam(*states),
    "bias_gelu": lambda x, bias, **_: functional.gelu(x + bias, approximate="tanh"),
    "bias_add_relu": lambda x, y, bias, **_: torch.relu(x + bias + y),
    "gated_halves": lambda x, shape: functional.silu(x[..., :shape[-1]]) * x[..., shape[-1]:],
    "add_transposed": lambda x, y, **_: x + y.t(),
    "outer_sum": lambda x, y, **_: x[:, None] + y[None, :],
    "row_scale": lambda x, scale, shift, **_: x * scale + shift,
    "middle_scale": lambda x, scale, **_: x * scale,
    "channel_affine": lambda x, scale, shift, **_: torch.relu(x * scale[:, None, None] +
                                                              shift[:, None, None]),
    "cast": lambda x, target, **_: x.to(TYPES[target]),
    "dequantise": lambda x, scale, **_: x.to(scale.dtype) * scale[:, None],
    "transpose": transpose,
    "transpose_scale": lambda x, order, **_: torch.relu(0.5 * x.permute(order).contiguous()),
    "split_heads": lambda x, shape: tuple(x[:, :, i].transpose(1, 2).contiguous()
                                          for i in range(shape[2])),
    "patches": patches,
    "concat": lambda *parts, axis, **_: torch.cat(parts, axis),
    "concat_relu": lambda *parts, axis, **_: torch.relu(torch.cat(parts, axis)),
    "stack": lambda *parts, **_: torch.stack(parts, -2),
    "slice": lambda x, **sizes: cutSlice(x, **sizes).contiguous(),
    "slice_gelu": lambda x, **sizes: functional.gelu(cutSlice(x, **sizes)),
    "split_three": lambda x, **_: tuple(part.contiguous() for part in x.chunk(3, -1)),
    "roll": lambda x, shifts, **_: torch.roll(x, shifts, (1, 2)),
    "flip": lambda x, axis, **_: torch.flip(x, (axis,)),
    "pad": pad,
    "pad_relu": lambda x, **sizes: torch.relu(pad(x, **sizes)),
    "gather": lambda table, ids, **_: table[ids],
    "gather_scaled": lambda table, ids, scale, **_: table[ids] * scale[:, None],
    "gather_columns": lambda x, ids, **_: x[:, ids],
    "gather_along": lambda x, ids, **_: torch.gather(x, 1, ids),
    "one_hot": oneHot,
    "sum": lambda x, axes, **_: x.sum(axes), "mean": lambda x, axes, **_: x.mean(axes),
    "max": lambda x, axes, **_: x.amax(axes), "min": lambda x, axes, **_: x.amin(axes),
    "prod": lambda x, axes, **_: x.prod(*axes),
    "argmax": lambda x, axes, **_: x.argmax(*axes), "argmin": lambda x, axes, **_: x.argmin(*axes),
    "sum_squares": lambda x, axes, **_: (x * x).sum(axes),
    "l2": lambda x, axes, **_: torch.sqrt((x * x).sum(axes)),
    "logsumexp": lambda x, axes, **_: torch.logsumexp(x, axes),
    "variance": lambda x, axes, **_: x.var(axes, correction=0),
    "standardise": lambda x, axes, **_: (x - x.mean(axes, keepdim=True)) * torch.rsqrt(
        x.var(axes, correction=0, keepdim=True) + EPSILON),
    "dot": lambda x, y, axes, **_: (x * y).sum(axes),
    "squared_error": lambda x, y, axes, **_: ((x - y) * (x - y)).mean(axes),
    "cosine": lambda x, y, axes, **_: (x * y).sum(axes) * torch.rsqrt(
        (x * x).sum(axes)) * torch.rsqrt((y * y).sum(axes)),
    "gelu_mean": lambda x, axes, **_: functional.gelu(x).mean(axes),
    "normalise_l2": lambda x, **_: functional.normalize(x, dim=-1),
    "weighted_sum": lambda x, weight, **_: (x * weight[:, :, None]).sum(1),
    "softmax": lambda x, axis, **_: torch.softmax(x, axis),
    "log_softmax": lambda x, axis, **_: torch.log_softmax(x, axis),
    "masked_softmax": lambda x, mask, **_: torch.softmax(applyMask(0.125 * x, mask), -1),
    "causal_softmax": causalSoftmax,
    "layer_norm": lambda x, weight, bias, **_: functional.layer_norm(x, weight.shape, weight, bias,
                                                                     EPSILON),
    "layer_norm_gelu": lambda x, weight, bias, **_: functional.gelu(
        functional.layer_norm(x, weight.shape, weight, bias, EPSILON)),
    "add_layer_norm": addLayerNorm, "modulated_norm": modulatedNorm, "rms_norm": rmsNorm,
    "add_rms_norm": addRmsNorm,
    "gated_rms_norm": lambda x, gate, weight, **_: rmsNorm(x * functional.silu(gate), weight),
    "batch_norm": batchNorm,
    "batch_norm_relu": lambda x, *state, **_: torch.relu(batchNorm(x, *state)),
    "batch_norm_add_relu": lambda x, y, *state, **_: torch.relu(batchNorm(x, *state) + y),
    "group_norm": groupNorm,
    "group_norm_silu": lambda x, *state, **sizes: functional.silu(groupNorm(x, *state, **sizes)),
    "rope_halves": ropeHalves, "rope_interleaved": ropeInterleaved,
    "rope_pair": lambda q, k, *angles, **_: (ropeHalves(q, *angles), ropeHalves(k, *angles)),
    "fm": lambda x, **_: fmVector(x).sum(1), "fm_vector": lambda x, **_: fmVector(x),
    "cross": lambda first, x, product, bias, **_: first * (product + bias) + x,
    "cumsum": lambda x, axis, **_: x.cumsum(axis),
    "mask_fill": lambda x, mask, **_: applyMask(x, mask),
    "tril": lambda x, **_: x.tril(),
    "mask_lengths": maskLengths, "pool_lengths": poolLengths,
}


class Expression(nn.Module):
    def __init__(self, function, sizes, weights):
        super().__init__()
        self.function, self.sizes = function, sizes
        # Dynamo unpacks no ParameterList.
        self.names = [tensors.nameWeight(i) for i in range(len(weights))]
        for name, weight in zip(self.names, weights):
            self.register_parameter(name, nn.Parameter(weight, requires_grad=False))

    def forward(self, *inputs):
        weights = [getattr(self, name) for name in self.names]
        return self.function(*inputs, *weights, **self.sizes)


def draw(tensor, dtype):
    chosen = TYPES[tensor.dtype or dtype]
    if tensor.dtype == "bool":
        return torch.rand(tensor.shape) < 0.75
    if tensor.below:
        return torch.randint(0, tensor.below, tensor.shape, dtype=chosen)
    values = torch.randn(tensor.shape, dtype=chosen)
    return {"normal": lambda: values, "near one": lambda: 1 + 0.1 * values,
            "positive": lambda: 0.5 + values.abs()}[tensor.values]()


def build(workload):
    """(module, inputs) on the current default device."""
    sizes = dict(workload.sizes)
    declared, _ = tensors.TENSORS[workload.kind](**sizes)
    inputs = tuple(draw(each, workload.dtype) for each in declared if not each.isWeight)
    weights = [draw(each, workload.dtype) for each in declared if each.isWeight]
    return Expression(EXPRESSIONS[workload.kind], sizes, weights).eval(), inputs
