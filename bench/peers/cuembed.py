# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's cuEmbed: a launch a table, and a concat where there are several, as a graph.

As for FBGEMM, ids lie table by table before the time is taken. Its headers lie in
the folder that FUSEC_BENCH_CUEMBED names; nvcc compiles cuembed.cu with them."""

import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

import torch

from peers import Contender
from peers.fbgemm import listIds
from peers.pytorch import capture

VARIABLE = "FUSEC_BENCH_CUEMBED"
HEADER = "cuembed/include/embedding_lookup.cuh"
SOURCE = pathlib.Path(__file__).with_name("cuembed.cu")
ARGUMENTS = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
             ctypes.c_void_p, ctypes.c_void_p]
LIMIT_S = 90


@functools.lru_cache
def loadLibrary(arch):
    headers = os.environ.get(VARIABLE)
    if not headers or not os.path.exists(os.path.join(headers, HEADER)):
        raise RuntimeError(f"{VARIABLE}: expected the folder that holds {HEADER}, got "
                           f"'{headers or ''}'")
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    with tempfile.TemporaryDirectory(prefix="fusec-bench-") as folder:
        path = os.path.join(folder, "cuembed.so")
        process = subprocess.run(
            [nvcc, "-O3", "-std=c++17", f"-arch={arch}", "-shared", "-Xcompiler", "-fPIC",
             f"-I{headers}", str(SOURCE), "-o", path],
            text=True, check=False, timeout=LIMIT_S, capture_output=True)
        if process.returncode:
            raise RuntimeError(f"nvcc: exit status {process.returncode}: {process.stderr[-600:]}")
        return ctypes.CDLL(path)


def makeCuEmbed(setting):
    if setting.workload.rows != "embeddings" or "tableType" in setting.workload.sizes:
        return None
    major, minor = torch.cuda.get_device_capability()
    library = loadLibrary(f"sm_{major}{minor}")
    weights = [table.weight.detach() for table in setting.module.tables]
    launch = library.sumBags16 if weights[0].dtype == torch.float16 else library.sumBags32
    launch.argtypes, launch.restype = ARGUMENTS, None
    bags = listIds(setting.module, *setting.inputs)
    sums = [weight.new_empty(len(ids), weight.shape[1]) for weight, ids in zip(weights, bags)]

    def run():
        stream = torch.cuda.current_stream().cuda_stream
        for weight, ids, total in zip(weights, bags, sums):
            launch(weight.data_ptr(), weight.shape[1], ids.data_ptr(), *ids.shape,
                   total.data_ptr(), stream)
        return torch.cat(sums, 1) if len(sums) > 1 else sums[0]

    return capture(Contender(run))
