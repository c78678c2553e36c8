# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows `embeddings`: what a recommender looks up, before its layers. Each table
has its columns of one tensor of ids; what they name is summed, or taken as it
is, and all tables' vectors lie side by side. Some tables hold integers of 8 or 4
bits, times a scale for each row."""

from tensors import Tensor, countDistinct

# Rows of 26 tables, drawn once: none fits into a second-level cache.
TABLES = (206300, 207562, 326732, 385220, 129757, 167041, 350218, 121881, 363579, 189976,
          325233, 227113, 314507, 205876, 115095, 216539, 175604, 167848, 213504, 353325,
          303780, 290986, 227740, 116143, 115929, 253857)
ALONE = (400000,)
# Ids of each table's bags in MLPerf's DLRM of several hot ids.
# Of each type of table that is none of floats: bits, and the largest integer.
NARROW = {"int8": (8, 127), "int4": (4, 7)}
MLPERF_IDS = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)


def listTable(rows, width, distinct, tableType):
    """As PyTorch holds it, in floats, and what is read of it."""
    if not tableType:
        return [Tensor((rows, width), isWeight=True, read=width * distinct)]
    size = width * NARROW[tableType][0] // 8
    return [Tensor((rows, width), isWeight=True, read=0),
            Tensor((rows, size), "i8", isWeight=True, read=size * distinct),
            Tensor((rows,), "fp32", isWeight=True, read=distinct)]


def listTensors(batch, counts, width, tables, tableType=None):
    """Ids are drawn below each table's size; `below` holds for all of them."""
    needed = [tensor for rows, count in zip(tables, counts, strict=True)
              for tensor in listTable(rows, width, countDistinct(rows, batch * count), tableType)]
    return ([Tensor((batch, sum(counts)), "i64", below=min(tables)), *needed],
            [Tensor((batch, width * len(tables)))])


TENSORS = {"bags": listTensors, "lookups": listTensors}  # lookups have one id a table


def row(what, kind, dtype, batch, counts, width, tables, tableType=None):
    """(name, kind, type, sizes)"""
    ids = counts[0] if len(set(counts)) == 1 else sum(counts)
    return (f"embeddings_{what}_{tableType or dtype}_{batch}x{ids}_{width}", kind, dtype,
            {"batch": batch, "counts": counts, "width": width, "tables": tables,
             **({"tableType": tableType} if tableType else {})})


def every(count):
    return (count,) * len(TABLES)


# (batch, ids, width, type) of one table alone.
SHAPES_ALONE = (
    (128, 1, 128, "fp16"), (65536, 1, 256, "fp16"), (262144, 1, 16, "fp32"),
    (262144, 1, 64, "fp32"), (262144, 2, 32, "fp16"), (65536, 3, 128, "fp32"),
    (2048, 10, 16, "fp16"), (262144, 10, 16, "fp32"), (65536, 20, 64, "fp16"),
    (8192, 27, 256, "fp16"), (16384, 50, 32, "fp32"), (128, 100, 256, "fp32"),
    (2048, 100, 128, "fp16"), (16384, 100, 64, "fp16"),
)

ROWS = [
    row("bags", "bags", "fp16", 8192, every(10), 64, TABLES),
    row("bags", "bags", "fp32", 8192, every(10), 64, TABLES),
    *(row("bags", "bags", "fp16", 8192, every(10), 64, TABLES, each) for each in NARROW),
    row("bags", "bags", "fp16", 128, every(10), 64, TABLES),
    row("bags", "bags", "fp16", 2048, every(10), 128, TABLES),
    row("mlperf", "bags", "fp16", 2048, MLPERF_IDS, 128, TABLES),
    row("mlperf", "bags", "fp16", 16384, MLPERF_IDS, 128, TABLES),
    row("bags", "bags", "fp16", 65536, every(1), 128, TABLES),
    row("lookups", "lookups", "fp32", 2048, every(1), 128, TABLES),
    row("lookups", "lookups", "fp32", 65536, every(1), 16, TABLES),
    *(row("alone", "bags" if ids > 1 else "lookups", dtype, batch, (ids,), width, ALONE)
      for batch, ids, width, dtype in SHAPES_ALONE),
]
