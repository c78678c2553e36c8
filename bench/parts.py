# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows `parts`: what recommenders, transformers and vision models do beside
matmuls, in shapes that were fixed before they were measured. Those of cumulative
sums came later than the others, before theirs were measured.

Pads are zeros in a concat, and groups are normalised as rows.
"""


def rows(kind, dtypes, *shapes, **rest):
    """(kind, type, sizes) for each shape and type."""
    return [(kind, dtype, {"shape": shape, **rest})
            for shape in shapes for dtype in dtypes.split()]


def describe(value):
    return "_".join(map(str, value)) if isinstance(value, tuple) else str(value)


def name(kind, dtype, sizes):
    shape, *rest = sizes.values()
    return "_".join(["parts", kind, dtype, "x".join(map(str, shape)), *map(describe, rest)])


ALL = "fp32 fp16 bf16"
BOTH = "fp32 fp16"

POINTWISE = [
    *rows("gelu", BOTH, (2053,), (1 << 24,)), *rows("gelu", "bf16", (16384, 11008)),
    *rows("gelu", "fp32", (1000003,), (4097, 4095)),
    *rows("silu_mul", "bf16", (4096, 11008), (333, 11007)), *rows("lerp", BOTH, (8192, 4096)),
    *rows("lerp", "fp32", (511, 129)), *rows("where_less", BOTH, (2047, 2049)),
    *rows("where_less", "fp16", (16384, 4096)), *rows("exp_log", BOTH, (65536, 39)),
    *rows("exp_log", "fp32", (8192, 8192)), *rows("sine_cosine", BOTH, (4096, 4096)),
    *rows("sine_cosine", "fp32", (333, 1001)), *rows("residual_relu", BOTH, (8192, 4096)),
    *rows("residual_relu", "fp16", (1023, 4095)), *rows("products", "fp32", (4096, 8192)),
    *rows("products", "bf16", (1000, 3001)), *rows("adam", "fp32", (1 << 24,), (999983,)),
    *rows("bias_gelu", "fp16 bf16", (8192, 16384)),
    *rows("bias_gelu", "fp32", (2048, 3072), (131, 197)),
    *rows("bias_add_relu", BOTH, (16384, 1024)), *rows("bias_add_relu", "fp16", (4095, 1023)),
    *rows("gated_halves", "bf16", (8192, 11008), (77, 1365)),
    *rows("gated_halves", "fp32", (4096, 4096)), *rows("add_transposed", BOTH, (8192, 8192)),
    *rows("add_transposed", "fp32", (1023, 2049)), *rows("outer_sum", BOTH, (8192, 8192)),
    *rows("outer_sum", "fp16", (3001, 1999)), *rows("row_scale", BOTH, (32768, 1024)),
    *rows("row_scale", "fp16", (10007, 333)), *rows("middle_scale", BOTH, (256, 197, 768)),
    *rows("middle_scale", "fp32", (2048, 39, 16)),
    *rows("channel_affine", BOTH, (64, 256, 56, 56)),
    *rows("channel_affine", "fp16", (32, 1024, 7, 7)),
    *rows("cast", "fp16", (8192, 8192), source="fp32", target="fp16"),
    *rows("cast", "fp32", (8192, 8192), source="fp16", target="fp32"),
    *rows("cast", "bf16", (4095, 4097), source="fp32", target="bf16"),
    *rows("cast", "fp32", (4096, 4096), source="i32", target="fp32"),
    *rows("cast", "fp16", (999, 1001), source="i64", target="fp16"),
    *rows("dequantise", "fp16", (11008, 4096), (1023, 777)),
]

MOVES = [
    *rows("transpose", ALL, (8192, 8192), order=(1, 0)),
    *rows("transpose", BOTH, (1021, 4099), order=(1, 0)),
    *rows("transpose", "fp32", (65536, 39), order=(1, 0)),
    *rows("transpose", BOTH, (64, 512, 1024), order=(0, 2, 1)),
    *rows("transpose", "fp16", (128, 197, 768), order=(1, 0, 2)),
    *rows("transpose", "fp32", (96, 130, 514), order=(2, 1, 0)),
    *rows("transpose", BOTH, (64, 128, 56, 56), order=(0, 2, 3, 1)),
    *rows("transpose", "fp16", (64, 56, 56, 128), (16, 224, 224, 3), order=(0, 3, 1, 2)),
    *rows("transpose", "fp16", (16, 2048, 16, 64), (5, 333, 12, 80), order=(0, 2, 1, 3)),
    *rows("transpose", "fp32", (32, 48, 64, 80), order=(3, 2, 1, 0)),
    *rows("transpose_scale", BOTH, (4096, 8192), order=(1, 0)),
    *rows("split_heads", "fp16", (8, 2048, 3, 16, 64), (64, 197, 3, 12, 64)),
    *rows("patches", BOTH, (64, 3, 224, 224), size=16),
    *rows("concat", "fp16", (16384,), axis=1, widths=(13, 16, 32, 64, 100, 128, 256, 512)),
    *rows("concat", "fp32", (16384,), axis=1, widths=(64, 128, 256, 512)),
    *rows("concat", "fp32", (2048,), axis=1, widths=(1, 3, 5, 7, 11, 13)),
    *rows("concat", "fp16", (16, 4096), axis=1, widths=(1024, 37, 512)),
    *rows("concat", "fp16", (4096,), axis=0, widths=(8192, 4096, 1)),
    *rows("concat", "fp16", (64, 56, 56), axis=1, widths=(64, 32, 32)),
    *rows("concat_relu", BOTH, (65536,), axis=1, widths=(16, 64, 432)),
    *rows("stack", BOTH, (65536, 16), count=27), *rows("stack", "fp16", (2048, 128), count=27),
    *rows("slice", BOTH, (16384, 4096), axis=1, start=1024, stop=3072),
    *rows("slice", "fp16", (8191, 1537), axis=1, start=1, stop=1536),
    *rows("slice", "fp32", (4096, 8192), axis=1, start=1, stop=8192, step=2),
    *rows("slice", "fp16", (64, 197, 768), axis=1, start=1, stop=197),
    *rows("slice", "fp32", (16, 64, 256, 256), axis=3, start=16, stop=240),
    *rows("slice_gelu", BOTH, (8192, 8192), axis=1, start=4096, stop=8192),
    *rows("split_three", "fp16", (16384, 3072)), *rows("split_three", "fp32", (1001, 999)),
    *rows("roll", "fp16", (64, 56, 56, 96), (64, 28, 28, 192), shifts=(3, 3)),
    *rows("flip", "fp32", (64, 3, 224, 224), axis=3), *rows("flip", "fp16", (4096, 4097), axis=1),
    *rows("pad", BOTH, (8192, 4095), axis=1, before=0, after=1),
    *rows("pad", "fp16", (512, 200, 512), axis=1, before=0, after=56),
    *rows("pad", "fp32", (64, 64, 112, 112), axis=3, before=1, after=1),
    *rows("pad_relu", "fp16", (16384, 1000), axis=1, before=12, after=12),
]

GATHERS = [
    *rows("gather", BOTH, (262144, 128), rows=524288),
    *rows("gather", "fp32", (262144, 16), rows=1000003),
    *rows("gather", "fp16", (128, 64), rows=100000),
    *rows("gather", "bf16", (16384, 4096), rows=32000),
    *rows("gather", BOTH, (8192, 10, 64), rows=250000),
    *rows("gather", "fp32", (4097, 33), rows=77777),
    *rows("gather_scaled", BOTH, (131072, 64), rows=400000),
    *rows("gather_columns", BOTH, (8192, 4096), count=1024),
    *rows("gather_columns", "fp32", (4095, 999), count=333),
    *rows("gather_along", BOTH, (8192, 1024), count=100),
    *rows("gather_along", "fp32", (65536, 39), count=10),
    *rows("one_hot", "fp32", (16384, 1000), (999, 31), target="fp32"),
    *rows("one_hot", "fp16", (16384, 1000), target="fp16"),
]

REDUCTIONS = [
    *rows("sum_squares", "fp32 bf16", (8192, 8192), axes=(0, 1)),
    *rows("sum_squares", "fp32", (1000003,), axes=(0,)),
    *rows("sum", BOTH, (65536, 512), axes=(0,)),
    *rows("sum", "fp32", (1000003, 3), (4099, 257), axes=(0,)),
    *rows("sum", BOTH, (65536, 512), (1 << 20, 16), (128, 262144), axes=(1,)),
    *rows("sum", "fp32", (33, 1001, 77), axes=(1,)),
    *rows("sum", "fp16", (64, 256, 56, 56), axes=(0, 2, 3)),
    *rows("sum", "fp32", (8, 1024, 4096), axes=(0, 1)),
    *rows("sum", "fp32", (100, 1 << 20), axes=(0, 1)),
    *rows("mean", "fp16 fp32", (64, 1024, 512), axes=(1,)),
    *rows("mean", BOTH, (256, 512, 7, 7), axes=(2, 3)),
    *rows("mean", "bf16", (16384, 4096), axes=(1,)),
    *rows("mean", "fp32", (32, 39, 1000), axes=(0, 2)),
    *rows("max", BOTH, (16384, 4096), axes=(1,)), *rows("max", "fp32", (8192, 50, 64), axes=(1,)),
    *rows("max", "fp16", (4095, 4097), axes=(0,)), *rows("min", BOTH, (32, 4096, 512), axes=(1,)),
    *rows("min", "fp32", (16777259,), axes=(0,)), *rows("prod", BOTH, (131072, 64), axes=(1,)),
    *rows("prod", "fp32", (65536, 27, 16), axes=(1,)),
    *rows("argmax", "fp16", (8192, 32000), (2048, 50257), axes=(1,)),
    *rows("argmax", "fp32", (65536, 10), (3, 1000003), axes=(1,)),
    *rows("argmax", "fp16", (1, 1 << 24), axes=(1,)), *rows("argmin", "fp32", (1000003, 3), axes=(0,)),
    *rows("argmax", "fp16", (64, 21, 224, 224), axes=(1,)),
    *rows("argmin", "fp32", (16384, 1024), axes=(1,)),
    *rows("argmin", "fp32", (4096, 1001), axes=(0,)), *rows("l2", BOTH, (65536, 768), axes=(1,)),
    *rows("l2", "fp32", (4096, 8192), axes=(0,)),
    *rows("logsumexp", "fp32", (4096, 32000), (65536, 64), axes=(1,)),
    *rows("logsumexp", "fp32", (1023, 50257), axes=(1,)),
    *rows("variance", BOTH, (16384, 4096), axes=(1,)),
    *rows("variance", "fp32", (64, 128, 28, 28), axes=(0, 2, 3)),
    *rows("dot", BOTH, (65536, 128), axes=(1,)), *rows("dot", "fp32", (16384, 27, 64), axes=(2,)),
    *rows("squared_error", BOTH, (8192, 4096), axes=(0, 1)),
    *rows("squared_error", "fp32", (999983,), axes=(0,)),
    *rows("cosine", BOTH, (65536, 256), axes=(1,)),
    *rows("gelu_mean", BOTH, (256, 197, 768), axes=(1,)),
    *rows("normalise_l2", BOTH, (65536, 128)), *rows("normalise_l2", "fp32", (10007, 333)),
    *rows("weighted_sum", BOTH, (4096, 100, 64)), *rows("weighted_sum", "fp32", (1023, 50, 33)),
]

SOFTMAXES = [
    *rows("softmax", BOTH, (256, 65536), (65536, 256), axis=1),
    *rows("softmax", "bf16", (8192, 32000), axis=1),
    *rows("softmax", "fp16", (32, 12, 512, 512), axis=3),
    *rows("softmax", "fp32", (4097, 1001), (1, 262144), axis=1),
    *rows("softmax", "fp32", (64, 1000, 128), axis=1),
    *rows("softmax", BOTH, (8, 16384, 64), axis=1), *rows("softmax", "fp16", (65536, 512), axis=0),
    *rows("softmax", "fp16", (8192, 39), (4, 1024), axis=1),
    *rows("log_softmax", BOTH, (4096, 32000), axis=1),
    *rows("log_softmax", "fp16", (2047, 50257), axis=1),
    *rows("log_softmax", "fp32", (131072, 10), axis=1),
    *rows("masked_softmax", BOTH, (16, 12, 512, 512)),
    *rows("masked_softmax", "fp16", (4, 16, 197, 197)),
    *rows("causal_softmax", "fp16 bf16", (2, 16, 2048, 2048)),
    *rows("causal_softmax", "fp32", (3, 5, 333, 333)),
]

NORMS = [
    *rows("layer_norm", BOTH, (131072, 96), (16384, 4096)),
    *rows("layer_norm", "bf16", (8192, 8192)),
    *rows("layer_norm", "fp32", (12608, 768), (1001, 999)),
    *rows("layer_norm", "fp16", (64, 16384), (8, 768)),
    *rows("layer_norm", "fp32", (1, 1048576)),
    *rows("layer_norm_gelu", BOTH, (16384, 3072)),
    *rows("add_layer_norm", "fp16 bf16", (16384, 1024)),
    *rows("add_layer_norm", "fp32", (12608, 768)),
    *rows("modulated_norm", "fp16", (64, 256, 1152)),
    *rows("modulated_norm", "fp32", (8, 1024, 768)), *rows("rms_norm", ALL, (16384, 4096)),
    *rows("rms_norm", "bf16", (1, 8192), (16, 4096), (333, 5121)),
    *rows("rms_norm", "fp16", (4096, 32, 128)), *rows("add_rms_norm", "fp16 bf16", (8192, 4096)),
    *rows("gated_rms_norm", "bf16", (8192, 4096)), *rows("batch_norm", BOTH, (64, 256, 56, 56)),
    *rows("batch_norm_relu", BOTH, (32, 64, 112, 112)),
    *rows("batch_norm_relu", "fp32", (65536, 400)),
    *rows("batch_norm_add_relu", BOTH, (64, 512, 28, 28)),
    *rows("batch_norm_add_relu", "fp16", (33, 2048, 7, 7)),
    *rows("group_norm", BOTH, (16, 320, 64, 64), groups=32),
    *rows("group_norm", "fp32", (7, 96, 33, 33), groups=32),
    *rows("group_norm", "fp16", (8, 64, 128, 128), groups=1),
    *rows("group_norm", "fp32", (1, 64, 512, 512), groups=64),  # instances
    *rows("group_norm_silu", BOTH, (16, 512, 32, 32), groups=32),
    # Instances whose channels come last, and a batch's own moments.
    *rows("standardise", BOTH, (8, 16384, 64), axes=(1,)),
    *rows("standardise", "fp32", (65536, 512), axes=(0,)),
]

OTHERS = [
    *rows("rope_interleaved", "fp16", (8, 4096, 32, 128)),
    *rows("rope_interleaved", "fp32", (4, 2048, 16, 64)),
    *rows("rope_interleaved", "bf16", (1, 333, 5, 80)),
    *rows("rope_halves", "fp16 bf16", (8, 4096, 32, 128)),
    *rows("rope_halves", "fp32", (4, 2048, 16, 64)),
    *rows("rope_halves", "fp16", (1, 1001, 7, 96)), *rows("rope_pair", BOTH, (4, 4096, 16, 128)),
    *rows("fm", BOTH, (65536, 39, 16)), *rows("fm", "fp32", (2048, 39, 16), (16383, 26, 10)),
    *rows("fm_vector", BOTH, (65536, 39, 16)), *rows("cross", BOTH, (16384, 1024)),
    *rows("cross", "fp32", (4095, 429)), *rows("mask_fill", BOTH, (16, 12, 512, 512)),
    *rows("mask_fill", "fp32", (3, 5, 197, 197)), *rows("tril", BOTH, (64, 1024, 1024)),
    *rows("tril", "fp16", (12, 333, 333)), *rows("mask_lengths", BOTH, (4096, 50, 64)),
    *rows("mask_lengths", "fp16", (333, 77, 129)), *rows("pool_lengths", BOTH, (4096, 100, 64)),
    *rows("pool_lengths", "fp32", (1001, 50, 33)),
]

SCANS = [
    *rows("cumsum", BOTH, (65536, 512), (8192, 8192), axis=0),
    *rows("cumsum", BOTH, (8192, 8192), (64, 1 << 20), axis=1),
    *rows("cumsum", "fp32", (1 << 24,), (33566777,), (1 << 28,), (1000003, 3), axis=0),
    *rows("cumsum", "fp32", (64, 1024, 512), axis=1), *rows("cumsum", "fp32", (4, 65536), axis=1),
    *rows("cumsum", "fp16", (2047, 50257), (65536, 39), axis=1),
]

# Of a group each is stated alone.
FAMILIES = {"pointwise": POINTWISE, "moves": MOVES, "gathers": GATHERS, "reductions": REDUCTIONS,
            "softmax": SOFTMAXES, "norms": NORMS, "scans": SCANS, "others": OTHERS}
