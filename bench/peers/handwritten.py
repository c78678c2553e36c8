# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton kernels as one would write them by hand, tuned over a few configurations:
persistent matmul with an epilogue, two matmuls under a gate, RoPE, pointwise.
Also `library`: two matmuls of the library and one pointwise kernel."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from peers import Contender
from peers.pytorch import capture

SMALL_M = 64


@triton.jit
def activate(x, KIND: tl.constexpr):
    if KIND == "relu":
        return tl.maximum(x, 0.0)
    elif KIND == "gelu":
        inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        return x * tl.sigmoid(2 * inner)
    elif KIND == "silu":
        return x * tl.sigmoid(x)
    else:
        return tl.sigmoid(x)


@triton.jit
def placeTile(tile, tilesM, tilesN, GROUP: tl.constexpr):
    """Groups of GROUP rows of tiles, column by column: neighbours share operands."""
    inGroup = GROUP * tilesN
    first = tile // inGroup * GROUP
    size = tl.minimum(tilesM - first, GROUP)
    return first + tile % inGroup % size, tile % inGroup // size


@triton.jit
def storeTile(target, m, n, y, BN: tl.constexpr, SPLIT: tl.constexpr, BM: tl.constexpr):
    if SPLIT:
        halves = tl.permute(tl.reshape(y, (BM, 2, BN // 2)), (0, 2, 1))
        left, right = tl.split(halves)
        target.store([m, n], left)
        target.store([m, n + BN // 2], right)
    else:
        target.store([m, n], y)


@triton.jit
def linearKernel(a, b, bias, c, M, N, K, SMS, BM: tl.constexpr, BN: tl.constexpr,
                 BK: tl.constexpr, GROUP: tl.constexpr, SPLIT: tl.constexpr, KIND: tl.constexpr,
                 PRECISION: tl.constexpr):
    """c = KIND(a b^T + bias); a [M, K], b [N, K]. PRECISION: of fp32 products."""
    tilesM, tilesN = tl.cdiv(M, BM), tl.cdiv(N, BN)
    written = tl.program_id(0) - SMS
    for tile in tl.range(tl.program_id(0), tilesM * tilesN, SMS, flatten=True):
        i, j = placeTile(tile, tilesM, tilesN, GROUP)
        sums = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.cdiv(K, BK)):
            sums = tl.dot(a.load([i * BM, step * BK]), b.load([j * BN, step * BK]).T, sums,
                          input_precision=PRECISION)
        # Computed anew, so that the next tile's loads can begin before.
        written += SMS
        i, j = placeTile(written, tilesM, tilesN, GROUP)
        columns = j * BN + tl.arange(0, BN)
        shift = tl.load(bias + columns, mask=columns < N, other=0.0).to(tl.float32)
        y = activate(sums + shift[None, :], KIND).to(c.dtype)
        storeTile(c, i * BM, j * BN, y, BN, SPLIT, BM)


@triton.jit
def loadWeight(b, n, k, TRANSPOSED: tl.constexpr):
    if TRANSPOSED:
        return b.load([n, k]).T
    else:
        return b.load([k, n])


@triton.jit
def gateKernel(a, b1, b2, bias1, bias2, c, M, N, K, SMS, BM: tl.constexpr, BN: tl.constexpr,
               BK: tl.constexpr, GROUP: tl.constexpr, KIND: tl.constexpr,
               FLATTEN: tl.constexpr, TRANSPOSED: tl.constexpr, BIASED: tl.constexpr):
    """c = KIND(a b1 + bias1) * (a b2 + bias2); b [K, N], or [N, K] if TRANSPOSED."""
    tilesM, tilesN = tl.cdiv(M, BM), tl.cdiv(N, BN)
    written = tl.program_id(0) - SMS
    for tile in tl.range(tl.program_id(0), tilesM * tilesN, SMS, flatten=FLATTEN):
        i, j = placeTile(tile, tilesM, tilesN, GROUP)
        gates = tl.zeros((BM, BN), tl.float32)
        values = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.cdiv(K, BK)):
            x = a.load([i * BM, step * BK])
            gates = tl.dot(x, loadWeight(b1, j * BN, step * BK, TRANSPOSED), gates)
            values = tl.dot(x, loadWeight(b2, j * BN, step * BK, TRANSPOSED), values)
        written += SMS
        i, j = placeTile(written, tilesM, tilesN, GROUP)
        if BIASED:
            columns = j * BN + tl.arange(0, BN)
            inside = columns < N
            gates += tl.load(bias1 + columns, mask=inside, other=0.0).to(tl.float32)[None, :]
            values += tl.load(bias2 + columns, mask=inside, other=0.0).to(tl.float32)[None, :]
        c.store([i * BM, j * BN], (activate(gates, KIND) * values).to(c.dtype))


@triton.jit
def gatePointwiseKernel(g, v, y, count, KIND: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    gates = tl.load(g + at, mask=inside).to(tl.float32)
    values = tl.load(v + at, mask=inside).to(tl.float32)
    tl.store(y + at, (activate(gates, KIND) * values).to(y.dtype.element_ty), mask=inside)


@triton.autotune([triton.Config({"ROWS": rows}, num_warps=warps)
                  for rows, warps in ((1, 4), (2, 4), (4, 4), (4, 8), (8, 8))], key=["M", "N"])
@triton.jit
def addMulSigmoidKernel(x, y, bias, z, M, N: tl.constexpr, ROWS: tl.constexpr):
    columns = tl.arange(0, N)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = rows[:, None] * N + columns[None, :]
    inside = rows[:, None] < M
    left, right = tl.load(x + at, mask=inside), tl.load(y + at, mask=inside)
    result = tl.sigmoid(left + 0.5 * right + tl.load(bias + columns)[None, :])
    tl.store(z + at, result, mask=inside)


@triton.autotune([triton.Config({}, num_warps=warps) for warps in (1, 2, 4, 8)],
                 key=["SEQUENCE", "HEADS", "HALF"])
@triton.jit
def ropeKernel(x, angles, y, SEQUENCE, HEADS: tl.constexpr, HALF: tl.constexpr,
               SIGN: tl.constexpr):
    """A program for all heads of one position."""
    position = tl.program_id(0)
    lanes = tl.arange(0, HALF)
    angle = tl.load(angles + position % SEQUENCE * HALF + lanes).to(tl.float32)
    cos, sin = tl.cos(angle)[None, :], SIGN * tl.sin(angle)[None, :]
    at = (position.to(tl.int64) * HEADS + tl.arange(0, HEADS))[:, None] * 2 * HALF + lanes[None, :]
    a, b = tl.load(x + at).to(tl.float32), tl.load(x + at + HALF).to(tl.float32)
    tl.store(y + at, (a * cos - b * sin).to(y.dtype.element_ty))
    tl.store(y + at + HALF, (b * cos + a * sin).to(y.dtype.element_ty))


def setBlocks(arguments):
    """Descriptors take their boxes from the configuration that is tried."""
    bm, bn, bk = (arguments[name] for name in ("BM", "BN", "BK"))
    arguments["a"].block_shape = [bm, bk]
    for name in ("b", "b1", "b2"):
        if name in arguments:
            arguments[name].block_shape = \
                [bn, bk] if arguments.get("TRANSPOSED", True) else [bk, bn]
    arguments["c"].block_shape = [bm, bn // 2 if arguments.get("SPLIT") else bn]


def makeConfigs(rows, elementBytes):
    """From (BM, BN, BK in bytes, warps, stages, further)."""
    return [triton.Config({"BM": bm, "BN": bn, "BK": bk // elementBytes, "GROUP": 8, **further},
                          num_warps=warps, num_stages=stages, pre_hook=setBlocks)
            for bm, bn, bk, warps, stages, further in rows]


WHOLE, SPLIT = {"SPLIT": False}, {"SPLIT": True}
LINEAR_CONFIGS = [(128, 256, 128, 8, 3, WHOLE), (128, 256, 128, 8, 4, SPLIT),
                  (128, 256, 128, 8, 3, SPLIT), (256, 128, 128, 8, 3, SPLIT),
                  (128, 128, 128, 8, 4, WHOLE), (128, 128, 128, 4, 4, WHOLE),
                  (256, 128, 128, 8, 3, WHOLE), (64, 128, 128, 4, 4, WHOLE)]
LINEAR_SMALL = [(64, 64, 256, 4, 4, WHOLE), (64, 32, 256, 4, 5, WHOLE), (16, 64, 256, 4, 5, WHOLE),
                (16, 32, 512, 4, 5, WHOLE), (16, 32, 256, 2, 6, WHOLE)]
FLAT, NESTED = {"FLATTEN": True}, {"FLATTEN": False}
GATE_CONFIGS = [(128, 128, 128, 8, 4, FLAT), (128, 128, 128, 8, 4, NESTED),
                (128, 128, 128, 8, 3, NESTED), (128, 64, 128, 4, 4, NESTED),
                (256, 64, 128, 8, 4, FLAT), (256, 64, 128, 8, 4, NESTED),
                (64, 128, 128, 4, 4, NESTED)]
GATE_NARROW = [(128, 64, 256, 4, 2, FLAT), (128, 64, 256, 8, 2, FLAT), (128, 64, 128, 4, 3, FLAT),
               (64, 64, 256, 4, 3, FLAT), (256, 64, 128, 8, 3, FLAT)]
GATE_SMALL = [(64, 64, 256, 4, 3, NESTED), (64, 32, 256, 4, 4, NESTED),
              (16, 64, 256, 4, 4, NESTED), (16, 32, 512, 4, 3, NESTED)]


def describe(tensor):
    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), [1, 1])


def launchPersistent(kernel, configs, arguments, m, n, k):
    """Tunes at the first call; then the launch alone."""
    units = torch.cuda.get_device_properties().multi_processor_count
    tuned = triton.autotune(configs, key=["M", "N", "K"])(kernel)

    def grid(meta):
        return (min(units, triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"])),)

    def run():
        tuned[grid](**arguments, M=m, N=n, K=k, SMS=units)

    return run


def makeLinear(setting):
    sizes, (x,) = setting.workload.sizes, setting.inputs
    m, k, n = sizes["m"], sizes["k"], sizes["n"]
    layer = setting.module.linear
    y = torch.empty(m, n, device=x.device, dtype=x.dtype)
    configs = makeConfigs(LINEAR_SMALL if m <= SMALL_M else LINEAR_CONFIGS, x.element_size())
    arguments = {"a": describe(x), "b": describe(layer.weight.detach()),
                 "bias": layer.bias.detach(), "c": describe(y), "KIND": sizes["activation"],
                 "PRECISION": "tf32x3" if setting.workload.isExact else "tf32"}
    return launchPersistent(linearKernel, configs, arguments, m, n, k), y


def makeGate(setting):
    sizes, (x,), module = setting.workload.sizes, setting.inputs, setting.module
    m, k, n = sizes["m"], sizes["k"], sizes["n"]
    y = torch.empty(m, n, device=x.device, dtype=x.dtype)
    rows = GATE_SMALL if m <= SMALL_M else GATE_NARROW if n <= 64 else GATE_CONFIGS
    arguments = {"a": describe(x), "c": describe(y)}
    if setting.workload.kind == "swiglu":
        arguments.update(b1=describe(module.gate.weight.detach()),
                         b2=describe(module.up.weight.detach()), bias1=x, bias2=x, KIND="silu",
                         TRANSPOSED=True, BIASED=False)
    else:
        arguments.update(b1=describe(module.w1.detach()), b2=describe(module.w2.detach()),
                         bias1=module.b1.detach(), bias2=module.b2.detach(), KIND="sigmoid",
                         TRANSPOSED=False, BIASED=True)
    configs = makeConfigs(rows, x.element_size())
    return launchPersistent(gateKernel, configs, arguments, m, n, k), y


def makeAddMulSigmoid(setting):
    x, y, bias = setting.inputs
    z = torch.empty_like(x)
    m, n = x.shape

    def run():
        addMulSigmoidKernel[lambda meta: (triton.cdiv(m, meta["ROWS"]),)](x, y, bias, z, m, n)

    return run, z


def makeRope(setting):
    x, angles = setting.inputs
    y = torch.empty_like(x)
    batch, sequence, heads, size = x.shape
    sign = 1 if setting.workload.kind == "rope" else -1

    def run():
        ropeKernel[(batch * sequence,)](x, angles, y, sequence, heads, size // 2, sign)

    return run, y


MAKERS = {"linear": makeLinear, "gating": makeGate, "swiglu": makeGate,
          "add_mul_sigmoid": makeAddMulSigmoid, "rope": makeRope, "rope_backward": makeRope}


def finish(launch, output):
    """As a graph: Triton's launches cost the host more than the flush can hide."""
    def run():
        launch()
        return output

    run()
    return capture(Contender(run))


def makeTriton(setting):
    maker = MAKERS.get(setting.workload.kind)
    return maker and finish(*maker(setting))


def makeLibrary(setting):
    kind, module = setting.workload.kind, setting.module
    if kind not in ("gating", "swiglu"):
        return None
    (x,), sizes = setting.inputs, setting.workload.sizes
    gates, values, y = (torch.empty(sizes["m"], sizes["n"], device=x.device, dtype=x.dtype)
                        for _ in range(3))
    count, block = y.numel(), 2048

    def launch():
        if kind == "swiglu":
            torch.mm(x, module.gate.weight.t(), out=gates)
            torch.mm(x, module.up.weight.t(), out=values)
        else:
            torch.addmm(module.b1, x, module.w1, out=gates)
            torch.addmm(module.b2, x, module.w2, out=values)
        gatePointwiseKernel[(triton.cdiv(count, block),)](
            gates, values, y, count, "silu" if kind == "swiglu" else "sigmoid", block)

    return finish(launch, y)
