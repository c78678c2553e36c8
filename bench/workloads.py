# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured: names, types, sizes and the least work of each workload.

Fixed here before it is measured, and free of any framework. modules.py holds
the PyTorch form of each kind, peers/xla.py the JAX form.
"""

import dataclasses

import embeddings
import parts
import tensors

ELEMENT_BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}

# Rows of the 26 tables, in the proportions of the Criteo data, capped at a million.
TABLE_ROWS = (1460, 583, 1000000, 800000, 305, 24, 12517, 633, 3, 93145, 5683, 900000, 3194, 27,
              14992, 700000, 10, 5652, 2173, 4, 750000, 18, 15, 286181, 105, 142572)
DENSE_FEATURES = 13
VECTORS = len(TABLE_ROWS) + 1
PAIRS = VECTORS * (VECTORS - 1) // 2

# What a device sustains, TFLOP/s and GB/s read + written; others are measured.
# fp32 stands for products in TF32, which every contender may use; one of full
# precision takes three of them.
CEILINGS = {"NVIDIA H200": {"fp16": 700, "bf16": 700, "fp32": 350, "copy_GBps": 4257}}

LISTED = {**tensors.TENSORS, **embeddings.TENSORS}  # kinds of which all tensors are known

LAUNCH_MS = 0.001  # a kernel that does nothing, in a graph


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    kind: str
    dtype: str
    sizes: dict
    rows: str = "table"  # or "grid", "narrow", "prompt", "odd", "exact", "long", "parts",
    # "embeddings"
    family: str = ""  # of `parts`

    @property
    def isExact(self):
        """Whether no contender may multiply fp32 in TF32."""
        return self.rows == "exact"

    def deviceBytes(self):
        """What a measurement holds at once, about: all tensors, fusec's copies of
        weights and outputs, and the reference in double precision. None where the
        kind does not list its tensors."""
        if self.kind not in LISTED:
            return None
        inputs, outputs = LISTED[self.kind](**self.sizes)
        copied = [*outputs, *(tensor for tensor in inputs if tensor.isWeight)]
        return sum(tensor.bytesOf(tensor.count(), self.dtype) for tensor in
                   (*inputs, *outputs, *copied)) + \
            sum(8 * tensor.count() for tensor in (*inputs, *outputs) if not tensor.dtype)

    def groups(self):
        """The statements about grids that it belongs to."""
        if self.rows == "embeddings":
            return ("embeddings",)
        if self.rows in ("narrow", "prompt", "odd", "long"):
            return (f"{self.rows} linear",)
        if self.isExact:
            return ("linear exact fp32",)
        if self.rows == "parts":
            return ("parts", f"parts {self.family}")
        if self.rows != "grid":
            return ()
        if self.kind != "linear":
            return (self.kind,)
        if self.dtype == "fp32":
            return ("linear tf32",)
        return ("linear 16-bit", f"linear {self.dtype} {self.sizes['activation']}")

    def leastWork(self):
        """(flops, bytes): each input and weight read once, each output written
        once, products that repeat by symmetry counted once. Of kinds whose tensors
        are listed, operations are not what bounds them."""
        if self.kind in LISTED:
            return 0, sum(tensor.leastBytes(self.dtype)
                          for side in LISTED[self.kind](**self.sizes) for tensor in side)
        flops, elements, otherBytes = COSTS[self.kind](**self.sizes)
        return flops, elements * ELEMENT_BYTES[self.dtype] + otherBytes

    def floorMs(self, ceilings):
        flops, size = self.leastWork()
        products = 3 if self.isExact else 1
        return max(products * flops / ceilings[self.dtype] * 1e-9,
                   size / ceilings["copy_GBps"] * 1e-6, LAUNCH_MS)


def layerCost(widths):
    pairs = list(zip(widths, widths[1:]))
    return sum(2 * a * b for a, b in pairs), sum(a * b + b for a, b in pairs)


def dlrmCost(batch, bottom, top, width, features, interaction):
    bottomFlops, bottomWeights = layerCost([DENSE_FEATURES, *bottom, width])
    topFlops, topWeights = layerCost([features, *top, 1])
    perSample = DENSE_FEATURES + len(TABLE_ROWS) * width + 1
    return (batch * (bottomFlops + topFlops + interaction),
            bottomWeights + topWeights + batch * perSample, 8 * len(TABLE_ROWS) * batch)


def outerCost(batch, bottom, top, width):
    across = width * VECTORS
    return dlrmCost(batch, bottom, top, width, across * (across + 1) // 2, 0)


def dotCost(batch, bottom, top, width):
    return dlrmCost(batch, bottom, top, width, width + PAIRS, 2 * PAIRS * width)


def loraCost(m, width, rank):
    half, quarter = width // 2, width // 4
    weights = width * half + half * quarter
    adapters = rank * (width + half + half + quarter)
    return 2 * m * (weights + adapters), m * (width + quarter) + weights + adapters, 0


def loraLayerCost(m, k, n, rank):
    weights = k * n + rank * (k + n)
    return 2 * m * weights, m * (k + n) + weights + n, 0


def linearCost(m, k, n, activation):
    del activation
    return 2 * m * k * n, m * k + k * n + n + m * n, 0


def gateCost(biases):
    return lambda m, k, n: (4 * m * k * n, m * k + 2 * k * n + biases * n + m * n, 0)


def rmsNormLinearCost(m, k, n):
    return 2 * m * k * n, m * k + k + k * n + m * n, 0


def ropeCost(batch, sequence, heads, size):
    elements = batch * sequence * heads * size
    return 3 * elements, 2 * elements + sequence * size // 2, 0


COSTS = {
    "outer_dlrm": outerCost,
    "dot_dlrm": dotCost,
    "lora": loraCost,
    "lora_layer": loraLayerCost,
    "gating": gateCost(biases=2),
    "swiglu": gateCost(biases=0),
    "linear": linearCost,
    "rmsnorm_linear": rmsNormLinearCost,
    "add_mul_sigmoid": lambda m, n: (4 * m * n, 3 * m * n + n, 0),
    "rope": ropeCost,
    "rope_backward": ropeCost,
}

SMALL = {"bottom": (32,), "top": (32,), "width": 16}
MAIN = {"bottom": (512, 256, 64), "top": (512, 256), "width": 16}
MLPERF = {"bottom": (512, 256), "top": (1024, 1024, 512, 256), "width": 128}
ROPE = {"batch": 32, "sequence": 2048, "heads": 8, "size": 256}


def gate(m, k, n):
    return {"m": m, "k": k, "n": n}


def loraLayer(m, k, n, rank):
    return {**gate(m, k, n), "rank": rank}


def linear(m, k, n, activation):
    return {"m": m, "k": k, "n": n, "activation": activation}


TABLE = [
    Workload("dlrm_outer_small_b64", "outer_dlrm", "fp32", {"batch": 64, **SMALL}),
    Workload("dlrm_outer_main_b128", "outer_dlrm", "fp32", {"batch": 128, **MAIN}),
    Workload("dlrm_outer_main_b2048", "outer_dlrm", "fp32", {"batch": 2048, **MAIN}),
    Workload("dlrm_dot_kaggle_b128", "dot_dlrm", "fp32", {"batch": 128, **MAIN}),
    Workload("dlrm_dot_kaggle_b2048", "dot_dlrm", "fp32", {"batch": 2048, **MAIN}),
    Workload("dlrm_dot_kaggle_b65536", "dot_dlrm", "fp32", {"batch": 65536, **MAIN}),
    Workload("dlrm_outer_main_b128_fp16", "outer_dlrm", "fp16", {"batch": 128, **MAIN}),
    Workload("dlrm_outer_main_b2048_fp16", "outer_dlrm", "fp16", {"batch": 2048, **MAIN}),
    Workload("dlrm_dot_kaggle_b128_fp16", "dot_dlrm", "fp16", {"batch": 128, **MAIN}),
    Workload("dlrm_dot_kaggle_b2048_fp16", "dot_dlrm", "fp16", {"batch": 2048, **MAIN}),
    Workload("dlrm_dot_kaggle_b65536_fp16", "dot_dlrm", "fp16", {"batch": 65536, **MAIN}),
    Workload("dlrm_dot_mlperf_b2048", "dot_dlrm", "fp16", {"batch": 2048, **MLPERF}),
    Workload("dlrm_dot_mlperf_b65536", "dot_dlrm", "fp16", {"batch": 65536, **MLPERF}),
    Workload("lora_toy_b7", "lora", "fp32", {"m": 7, "width": 16, "rank": 5}),
    Workload("lora_4096_b8192", "lora", "fp16", {"m": 8192, "width": 4096, "rank": 16}),
    # What rank 16 and 64 cost over the dense layer: by `dense` in the same rounds.
    Workload("linear_relu_8192_4096", "linear", "fp16", linear(8192, 4096, 4096, "relu")),
    Workload("lora_r16_8192_4096", "lora_layer", "fp16", loraLayer(8192, 4096, 4096, 16)),
    Workload("lora_r64_8192_4096", "lora_layer", "fp16", loraLayer(8192, 4096, 4096, 64)),
    Workload("gating_seed_4m", "gating", "fp16", gate(4 << 20, 128, 64)),
    Workload("gating_seed_size256", "gating", "fp16", gate(4 << 16, 128, 64)),
    Workload("swiglu_8192_4096_11008", "swiglu", "bf16", gate(8192, 4096, 11008)),
    Workload("linear_relu_4096", "linear", "fp16", linear(4096, 4096, 4096, "relu")),
    Workload("linear_gelu_8192", "linear", "bf16", linear(8192, 8192, 8192, "gelu")),
    Workload("linear_relu_16_4096", "linear", "fp16", linear(16, 4096, 4096, "relu")),
    Workload("lora_r16_16_4096", "lora_layer", "fp16", loraLayer(16, 4096, 4096, 16)),
    Workload("rmsnorm_linear_8192_4096", "rmsnorm_linear", "bf16", gate(8192, 4096, 4096)),
    Workload("add_mul_sigmoid_65536x512", "add_mul_sigmoid", "fp32", {"m": 65536, "n": 512}),
    Workload("rope_fwd", "rope", "fp32", ROPE),
    Workload("rope_bwd", "rope_backward", "fp32", ROPE),
    Workload("rope_fwd_fp16", "rope", "fp16", ROPE),
]

# (m, k, n) of the matmuls with bias and activation: cubes, then the shapes of
# a transformer's layers with few and many tokens.
LINEAR_GRID = [
    *((size, size, size) for size in (1024, 2048, 4096, 8192, 16384)),
    (2048, 4096, 16384), (2048, 16384, 4096), (8192, 1024, 4096), (16384, 4096, 4096),
]
LINEAR_GRID_TYPES = (("fp16", "relu"), ("bf16", "gelu"), ("fp32", "relu"))

# (m, k, n) of the gates: cubes, then a transformer's widths from few to many tokens.
GATE_GRID = [
    *((size, size, size) for size in (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)),
    *((tokens, 4096, 11008) for tokens in (64, 256, 1024, 4096, 16384)),
]
GATE_GRID_KINDS = (("swiglu", "bf16"), ("gating", "fp16"))

GRID = [
    *(Workload(f"grid_linear_{activation}_{dtype}_{m}x{k}x{n}", "linear", dtype,
               linear(m, k, n, activation), rows="grid")
      for dtype, activation in LINEAR_GRID_TYPES for m, k, n in LINEAR_GRID),
    *(Workload(f"grid_{kind}_{dtype}_{m}x{k}x{n}", kind, dtype, gate(m, k, n), rows="grid")
      for kind, dtype in GATE_GRID_KINDS for m, k, n in GATE_GRID),
]


def layers(rows, shapes, tokens):
    """Linear layers of some (k, n), each with some numbers of tokens."""
    return [Workload(f"{rows}_linear_relu_fp16_{m}x{k}x{n}", "linear", "fp16",
                     linear(m, k, n, "relu"), rows=rows) for k, n in shapes for m in tokens]


# A transformer's, with the tokens that it decodes at a time, with those of a
# short prompt, and with as many as there happen to be: primes.
NARROW = layers("narrow", ((4096, 4096), (4096, 12288), (4096, 11008), (11008, 4096)),
                (1, 8, 16, 32, 64, 128))
PROMPT = layers("prompt", ((4096, 4096), (4096, 12288), (11008, 4096)),
                (160, 192, 256, 320, 384, 512, 768))
ODD = layers("odd", ((4096, 4096), (4096, 12288), (11008, 4096)),
             (67, 101, 139, 211, 281, 353, 457, 691))

# fp32 as PyTorch multiplies it unless told otherwise.
EXACT_SHAPES = [
    *((tokens, 4096, 4096) for tokens in (1, 8, 16, 32, 64, 128, 256, 512)),
    *((size, size, size) for size in (1024, 2048, 4096)),
    (8192, 1024, 4096), (16, 4096, 11008), (128, 11008, 4096),
]
EXACT = [Workload(f"exact_linear_relu_fp32_{m}x{k}x{n}", "linear", "fp32",
                  linear(m, k, n, "relu"), rows="exact") for m, k, n in EXACT_SHAPES]

# (m, k, n) of products with few tiles and a long K: from 1 to 264 tiles of 128
# x 256, K from 4096 to a million, some of them of few divisors.
LONG_SHAPES = [
    (128, 4096, 256), (128, 65536, 256), (128, 1 << 20, 256), (128, 131072, 512),
    (256, 16384, 512), (256, 262144, 512), (512, 65536, 512), (1024, 8192, 512),
    (512, 40008, 768), (1000, 100000, 1000), (1024, 32768, 1024), (2048, 93528, 512),
    (2048, 186624, 512), (2048, 16384, 1024), (1408, 24576, 3072), (2816, 12288, 3072),
]
LONG = [Workload(f"long_linear_{activation}_{dtype}_{m}x{k}x{n}", "linear", dtype,
                 linear(m, k, n, activation), rows="long")
        for dtype, activation in LINEAR_GRID_TYPES for m, k, n in LONG_SHAPES]

PARTS = [Workload(parts.name(*row), *row, rows="parts", family=family)
         for family, chosen in parts.FAMILIES.items() for row in chosen]
EMBEDDINGS = [Workload(*row, rows="embeddings") for row in embeddings.ROWS]

GRIDS = [*GRID, *NARROW, *PROMPT, *ODD, *EXACT, *LONG, *PARTS, *EMBEDDINGS]

# Names of workloads by group.
GROUPS = {group: [workload.name for workload in GRIDS if group in workload.groups()]
          for group in dict.fromkeys(group for workload in GRIDS for group in workload.groups())}

WORKLOADS = {workload.name: workload for workload in [*TABLE, *GRIDS]}
