# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cuBLASLt's matmul with its own epilogue of bias and activation: the fastest, on
this device, of the algorithms that its heuristics propose."""

import ctypes
import functools
import statistics
from ctypes import POINTER, Structure, byref, c_float, c_int, c_int32, c_int64, c_size_t
from ctypes import c_uint64, c_void_p

import torch

from peers import Contender

COMPUTE_F32, COMPUTE_TF32 = 68, 77
TYPES = {torch.float32: 0, torch.float16: 2, torch.bfloat16: 14}  # cudaDataType
SCALE_F32 = 0
TRANS_A, EPILOGUE, BIAS_POINTER = 3, 7, 8  # of a matmul's description
TRANSPOSED = 1
EPILOGUES = {"relu": 6, "gelu": 36}  # with bias; GELU is the tanh form
MAX_WORKSPACE = 1  # of a preference
WORKSPACE_BYTES = 64 << 20
PROPOSALS = 16
TUNING_RUNS = 7
FLUSH_BYTES = 256 << 20


class Proposal(Structure):
    """cublasLtMatmulHeuristicResult_t."""
    _fields_ = [("algorithm", c_uint64 * 8), ("workspace", c_size_t), ("state", c_int),
                ("waves", c_float), ("reserved", c_int * 4)]


@functools.lru_cache
def loadLibrary():
    """The one that PyTorch has loaded."""
    torch.mm(*(torch.zeros(16, 16, device="cuda") for _ in range(2)))
    with open("/proc/self/maps", encoding="ascii") as maps:
        path = next(line.split()[-1] for line in maps if "libcublasLt.so" in line)
    return ctypes.CDLL(path)


def call(name, *arguments):
    status = getattr(loadLibrary(), name)(*arguments)
    if status:
        raise RuntimeError(f"{name}: status {status}")


def makeHandle(function, *arguments):
    handle = c_void_p()
    call(function, byref(handle), *arguments)
    return handle


def makeLayout(dtype, rows, columns):
    """Column-major and dense."""
    return makeHandle("cublasLtMatrixLayoutCreate", c_int(TYPES[dtype]), c_uint64(rows),
                      c_uint64(columns), c_int64(rows))


class Matmul:
    """y^T = act(w x^T + bias), all column-major: the row-major linear layer."""

    def __init__(self, x, w, bias, activation, mayUseTf32):
        (m, k), n, dtype = x.shape, w.shape[0], x.dtype
        self.kept = (x, w, bias)
        self.y = torch.empty(m, n, device=x.device, dtype=dtype)
        self.workspace = torch.empty(WORKSPACE_BYTES, device=x.device, dtype=torch.uint8)
        self.handle = makeHandle("cublasLtCreate")
        compute = COMPUTE_TF32 if dtype == torch.float32 and mayUseTf32 else COMPUTE_F32
        self.description = makeHandle("cublasLtMatmulDescCreate", c_int(compute), c_int(SCALE_F32))
        self.describe(TRANS_A, c_int32(TRANSPOSED))
        self.describe(EPILOGUE, c_int32(EPILOGUES[activation]))
        self.describe(BIAS_POINTER, c_void_p(bias.data_ptr()))
        self.a, self.b = makeLayout(dtype, k, n), makeLayout(dtype, k, m)
        self.d = makeLayout(dtype, n, m)
        self.one, self.zero = c_float(1), c_float(0)

    def describe(self, attribute, value):
        call("cublasLtMatmulDescSetAttribute", self.description, c_int(attribute), byref(value),
             c_size_t(ctypes.sizeof(value)))

    def propose(self):
        preference = makeHandle("cublasLtMatmulPreferenceCreate")
        call("cublasLtMatmulPreferenceSetAttribute", preference, c_int(MAX_WORKSPACE),
             byref(c_uint64(WORKSPACE_BYTES)), c_size_t(8))
        proposals, count = (Proposal * PROPOSALS)(), c_int()
        call("cublasLtMatmulAlgoGetHeuristic", self.handle, self.description, self.a, self.b,
             self.d, self.d, preference, c_int(PROPOSALS),
             ctypes.cast(proposals, POINTER(Proposal)), byref(count))
        call("cublasLtMatmulPreferenceDestroy", preference)
        return [proposal for proposal in proposals[:count.value] if not proposal.state]

    def run(self, proposal):
        x, w, _ = self.kept
        call("cublasLtMatmul", self.handle, self.description, byref(self.one),
             c_void_p(w.data_ptr()), self.a, c_void_p(x.data_ptr()), self.b, byref(self.zero),
             c_void_p(self.y.data_ptr()), self.d, c_void_p(self.y.data_ptr()), self.d,
             byref(proposal.algorithm), c_void_p(self.workspace.data_ptr()),
             c_size_t(WORKSPACE_BYTES), c_void_p(torch.cuda.current_stream().cuda_stream))
        return self.y


def pickFastest(matmul, proposals):
    """Rounds of all proposals in turn, like the comparison itself."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    times = [[] for _ in proposals]
    for _ in range(TUNING_RUNS):
        for proposal, mine in zip(proposals, times):
            before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.zero_()
            before.record()
            matmul.run(proposal)
            after.record()
            torch.cuda.synchronize()
            mine.append(before.elapsed_time(after))
    medians = [statistics.median(mine) for mine in times]
    return min(range(len(proposals)), key=medians.__getitem__)


def makeCublasLt(setting):
    if setting.workload.kind != "linear":
        return None
    layer, (x,) = setting.module.linear, setting.inputs
    matmul = Matmul(x, layer.weight.detach(), layer.bias.detach(),
                    setting.workload.sizes["activation"], not setting.workload.isExact)
    proposals = matmul.propose()
    if not proposals:
        raise RuntimeError("no algorithm for this matmul")
    best = pickFastest(matmul, proposals)
    return Contender(lambda: matmul.run(proposals[best]),
                     {"proposals": len(proposals), "chosen": best},
                     poison=lambda: matmul.y.fill_(float("nan")))
