# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""XLA through JAX, in this process, on PyTorch's tensors without a copy.

JAX runs on streams of its own, which PyTorch's events do not see. A sample is
therefore the wall time of n pairs (flush, run) minus that of n flushes, over n:
both enqueued at once by compiled functions, so that the flush hides the host's
work before each run as it does for the others.
"""

import functools
import math
import time

import torch
import jax
import jax.numpy as jnp
import numpy

import workloads
from peers import Contender, listTensors, xla_parts

FLUSH_BYTES = 256 << 20
SAMPLE_MS, LEAST_RUNS, MOST_RUNS = 12, 5, 200
BRIEF = 6  # times fewer runs
FLUSHES_TO_TIME = 50
PAIRS_IN_FLIGHT = 8  # XLA enqueues 32 computations before it waits for one of them
HIDE_FACTOR = 1.5

jax.config.update("jax_enable_x64", True)  # indices have 64 bits


def applyLayers(state, prefix, count, x, last):
    for i in range(count):
        x = x @ state[f"{prefix}.{2 * i}.weight"].T + state[f"{prefix}.{2 * i}.bias"]
        x = jax.nn.relu(x) if i < count - 1 else last(x)
    return x


def lookUp(state, ids):
    return [state[f"tables.{i}.weight"].at[ids[:, i]].get(mode="promise_in_bounds")
            for i in range(len(workloads.TABLE_ROWS))]


def bags(state, ids, isSummed=True, **sizes):
    parts, first = [], 0
    for i, count in enumerate(sizes["counts"]):
        found = state[f"tables.{i}.weight"].at[ids[:, first:first + count]].get(
            mode="promise_in_bounds")
        parts.append(found.sum(1) if isSummed else found[:, 0])
        first += count
    return jnp.concatenate(parts, 1)


def lookups(state, ids, **sizes):
    return bags(state, ids, isSummed=False, **sizes)


def outerDlrm(state, dense, sparse, bottom, top, **_):
    ids = (sparse + 1) % state["rows"]
    x = applyLayers(state, "bottom", len(bottom) + 1, dense, lambda z: z)
    x = jnp.concatenate([x, *lookUp(state, ids)], -1)
    products = (x[:, :, None] * x[:, None, :]).reshape(x.shape[0], -1)
    return applyLayers(state, "top", len(top) + 1, products, jax.nn.sigmoid)[:, 0]


def dotDlrm(state, dense, sparse, bottom, top, **_):
    ids = sparse % state["rows"]
    x = applyLayers(state, "bottom", len(bottom) + 1, dense, jax.nn.relu)
    vectors = jnp.stack([x, *lookUp(state, ids)], 1)
    i, j = numpy.tril_indices(workloads.VECTORS, -1)
    dots = jnp.einsum("bie,bje->bij", vectors, vectors)[:, i, j]
    features = jnp.concatenate([x, dots], 1)
    return applyLayers(state, "top", len(top) + 1, features, jax.nn.sigmoid)[:, 0]


def loraLinear(state, prefix, x):
    plain = x @ state[f"{prefix}.linear.weight"].T + state[f"{prefix}.linear.bias"]
    return plain + 0.5 * (x @ state[f"{prefix}.a"] @ state[f"{prefix}.b"])


def lora(state, x, **_):
    return jax.nn.sigmoid(loraLinear(state, "second", jax.nn.relu(loraLinear(state, "first", x))))


def loraLayer(state, x, **_):
    return jax.nn.relu(loraLinear(state, "layer", x))


def gating(state, x, **_):
    return jax.nn.sigmoid(x @ state["w1"] + state["b1"]) * (x @ state["w2"] + state["b2"])


def swiGlu(state, x, **_):
    return jax.nn.silu(x @ state["gate.weight"].T) * (x @ state["up.weight"].T)


def linear(state, x, activation, **_):
    y = x @ state["linear.weight"].T + state["linear.bias"]
    return jax.nn.relu(y) if activation == "relu" else jax.nn.gelu(y, approximate=True)


def rmsNormLinear(state, x, **_):
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6).astype(x.dtype)
    return (x * scale * state["weight"]) @ state["linear.weight"].T


def addMulSigmoid(state, x, y, bias, **_):
    del state
    return jax.nn.sigmoid(x + 0.5 * y + bias)


def rope(state, x, angles, sign=1, **_):
    del state
    cos, sin = jnp.cos(angles)[None, :, None, :], sign * jnp.sin(angles)[None, :, None, :]
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def ropeBackward(state, dy, angles, **_):
    return rope(state, dy, angles, sign=-1)


KINDS = {"outer_dlrm": outerDlrm, "dot_dlrm": dotDlrm, "lora": lora, "lora_layer": loraLayer,
         "gating": gating, "swiglu": swiGlu, "linear": linear, "rmsnorm_linear": rmsNormLinear,
         "add_mul_sigmoid": addMulSigmoid, "rope": rope, "rope_backward": ropeBackward,
         "bags": bags, "lookups": lookups, **xla_parts.KINDS}


def compileFunction(workload, state, inputs):
    """(state, *inputs) -> output, compiled for these shapes."""
    precision = None
    if workload.dtype == "fp32":
        precision = "float32" if workload.isExact else "tensorfloat32"
    jax.config.update("jax_default_matmul_precision", precision)

    def run(state, *inputs):
        return KINDS[workload.kind](state, *inputs, **dict(workload.sizes))

    function = jax.jit(run)
    jax.block_until_ready(function(state, *inputs))
    return function


class Flush:
    """Overwrites what the caches hold, as often before a run as hides the host's work
    for both."""

    def __init__(self):
        # Of words, since a thread of XLA's kernels stores four elements of any size: with
        # bytes that were read, too, a flush took .32 ms, and most of a row's time.
        self.step = jax.jit(jnp.zeros_like, donate_argnums=0, keep_unused=True)
        self.buffer = self.step(jnp.zeros(FLUSH_BYTES // 4, jnp.uint32)).block_until_ready()
        self.times = 1
        wallMs(lambda: None, FLUSHES_TO_TIME, self)
        self.ms = wallMs(lambda: None, FLUSHES_TO_TIME, self) / FLUSHES_TO_TIME

    def enqueue(self):
        for _ in range(self.times):
            self.buffer = self.step(self.buffer)

    def hide(self, enqueue):
        """Chooses how often."""
        self.times = 1
        start = time.perf_counter()
        for _ in range(PAIRS_IN_FLIGHT):
            self.enqueue()
            last = enqueue()
        hostMs = (time.perf_counter() - start) * 1e3 / PAIRS_IN_FLIGHT
        jax.block_until_ready(last)
        self.times = math.ceil(HIDE_FACTOR * hostMs / self.ms)


@functools.cache
def getFlush():
    """One for all rows: it takes longer to compile than many a model."""
    return Flush()


def wallMs(enqueue, count, flush):
    start = time.perf_counter()
    last = None
    for _ in range(count):
        flush.enqueue()
        last = enqueue()
    flush.buffer.block_until_ready()
    if last is not None:
        jax.block_until_ready(last)
    return (time.perf_counter() - start) * 1e3


def makeXla(setting):
    def share(tensor):
        return jax.dlpack.from_dlpack(tensor.detach().contiguous())

    state = {name: share(tensor) for name, tensor in setting.module.state_dict().items()}
    inputs = [share(tensor) for tensor in setting.inputs]
    torch.cuda.synchronize()
    start = time.monotonic()
    function = compileFunction(setting.workload, state, inputs)
    seconds = time.monotonic() - start
    flush = getFlush()

    def enqueue():
        return function(state, *inputs)

    def once(count):
        return (wallMs(enqueue, count, flush) - wallMs(lambda: None, count, flush)) / count

    once(3)
    flush.hide(enqueue)
    count = math.ceil(SAMPLE_MS / max(once(5), 1e-3))
    count = min(max(count, LEAST_RUNS), MOST_RUNS)

    def sample(isBrief):
        return once(max(count // BRIEF, LEAST_RUNS) if isBrief else count)

    def run():
        return [torch.from_dlpack(each)
                for each in listTensors(jax.block_until_ready(enqueue()))]

    return Contender(run, {"compile_s": seconds, "runs_a_sample": count,
                           "flushes_a_run": flush.times},
                     sample=sample)
