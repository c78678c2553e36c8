# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FBGEMM's lookups and bags for inference, all tables in one launch, as a graph.

It takes ids table by table in 32 bits, which is prepared before: the time is the
kernel's alone. Its package lies in the folder that FUSEC_BENCH_FBGEMM names."""

import itertools
import os
import sys

import torch

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


def makeTables(module, inference):
    """Its operator, with copies of the tables."""
    weights = [table.weight.detach() for table in module.tables]
    half, device = weights[0].dtype == torch.float16, weights[0].device
    kind = inference.SparseType.FP16 if half else inference.SparseType.FP32
    place = inference.EmbeddingLocation.DEVICE if device.type == "cuda" else \
        inference.EmbeddingLocation.HOST
    operator = inference.IntNBitTableBatchedEmbeddingBagsCodegen(
        [(f"t{i}", *weight.shape, kind, place) for i, weight in enumerate(weights)],
        device=device, output_dtype=kind, bounds_check_mode=inference.BoundsCheckMode.NONE)
    operator.initialize_weights()
    for (rows, _), weight in zip(operator.split_embedding_weights(), weights, strict=True):
        rows[:, :weight[0].nbytes].copy_(weight.view(torch.uint8))
    return operator


def makeRun(module, ids):
    """() -> what the module gives."""
    operator = makeTables(module, load())
    bags = listIds(module, ids)
    indices = torch.cat([each.flatten() for each in bags]).int()
    counts = [each.shape[1] for each in bags for _ in range(len(ids))]
    offsets = torch.tensor([0, *itertools.accumulate(counts)], dtype=torch.int32,
                           device=ids.device)
    return lambda: operator(indices, offsets)


def makeFbgemm(setting):
    if setting.workload.rows != "embeddings":
        return None
    return capture(Contender(makeRun(setting.module, *setting.inputs)))
