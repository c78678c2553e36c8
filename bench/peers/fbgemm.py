# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FBGEMM's lookups and bags for inference, all tables in one launch, as a graph.

It takes ids table by table in 32 bits, which is prepared before: the time is the
kernel's alone. Tables of integers have a scale and a shift in 16 bits before each
row. Its package lies in the folder that FUSEC_BENCH_FBGEMM names."""

import itertools
import os
import sys

import torch

import embeddings
from peers import Contender
from peers.pytorch import capture

VARIABLE = "FUSEC_BENCH_FBGEMM"


def listIds(module, ids):
    """Of each table, [batch, ids a bag]."""
    return [ids[:, first:end].contiguous() for first, end in module.columns]


def load():
    folder = os.environ.get(VARIABLE)
    if not folder or not os.path.isdir(os.path.join(folder, "fbgemm_gpu")):
        raise RuntimeError(f"{VARIABLE}: expected the folder that holds fbgemm_gpu, got "
                           f"'{folder or ''}'")
    if folder not in sys.path:
        sys.path.append(folder)
    from fbgemm_gpu import split_table_batched_embeddings_ops_inference as inference
    return inference


def packRows(weight, tableType):
    """A row's bytes, its scale and its shift of a table whose integers begin at 0;
    of 4 bits the first of two columns is the low half of a byte."""
    bits, most = embeddings.NARROW[tableType]
    scales = weight.float().abs().amax(1, keepdim=True) / most
    least = -most - 1
    integers = (weight.float() / scales).round().to(torch.int32) - least
    if bits == 4:
        integers = integers[:, 0::2] | integers[:, 1::2] << 4
    return integers.to(torch.uint8), torch.cat([scales, scales * least], 1).half()


def fillTables(operator, weights, tableType):
    for (rows, shifts), weight in zip(operator.split_embedding_weights(), weights, strict=True):
        if tableType:
            integers, factors = packRows(weight, tableType)
            rows.copy_(integers)
            shifts.copy_(factors.view(torch.uint8))
        else:
            rows[:, :weight[0].nbytes].copy_(weight.view(torch.uint8))


def makeTables(module, inference, tableType):
    """Its operator, with copies of the tables."""
    weights = [table.weight.detach() for table in module.tables]
    half, device = weights[0].dtype == torch.float16, weights[0].device
    output = inference.SparseType.FP16 if half else inference.SparseType.FP32
    kind = inference.SparseType[tableType.upper()] if tableType else output
    place = inference.EmbeddingLocation.DEVICE if device.type == "cuda" else \
        inference.EmbeddingLocation.HOST
    operator = inference.IntNBitTableBatchedEmbeddingBagsCodegen(
        [(f"t{i}", *weight.shape, kind, place) for i, weight in enumerate(weights)],
        device=device, output_dtype=output, bounds_check_mode=inference.BoundsCheckMode.NONE)
    operator.initialize_weights()
    fillTables(operator, weights, tableType)
    return operator


def makeRun(module, ids, tableType=None):
    """() -> what the module gives."""
    operator = makeTables(module, load(), tableType)
    bags = listIds(module, ids)
    indices = torch.cat([each.flatten() for each in bags]).int()
    counts = [each.shape[1] for each in bags for _ in range(len(ids))]
    offsets = torch.tensor([0, *itertools.accumulate(counts)], dtype=torch.int32,
                           device=ids.device)
    return lambda: operator(indices, offsets)


def makeFbgemm(setting):
    if setting.workload.rows != "embeddings":
        return None
    return capture(Contender(makeRun(setting.module, *setting.inputs,
                                     setting.workload.sizes.get("tableType"))))
