# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The least bytes of a workload and nothing else: a kernel that reads as many as
the inputs and weights have and writes as many as the output has. It takes what
the floor leaves out, launch and flushed lines, and is the fastest of some
configurations: no proof that a kernel of that workload cannot be faster."""

import torch
import triton
import triton.language as tl

from modules import DTYPES
from peers import listTensors
from peers.handwritten import finish

WORD = torch.int32
CHUNK = 1024  # words that are stored together
LINE = 32  # words of a line; of parts of one Triton stores each word by itself
SHIFT = 42  # of a step's fraction: chunks are divided exactly up to 8 GiB, 2^21 of them
EACH_ONCE = 1 << 20  # blocks of threads, so that none has a second one of words
FLOPS_A_BYTE = 100  # with more, what bounds the workload is something else
NEVER = 0x7fe1c0de  # no sum of words; where it is one, a word of the output is wrong


def measureBriefly(run, quantiles):
    """A tenth of the time that Triton takes for a configuration: there are thirty of them
    for each size, and a row took 3.4 s longer by that."""
    return triton.testing.do_bench(run, warmup=2, rep=12, quantiles=quantiles)


@triton.autotune([triton.Config({"CHUNKS": chunks, "BLOCKS_A_UNIT": blocks, "EVICT": evict},
                                num_warps=warps, num_stages=1)
                  for chunks, warps in ((1, 1), (1, 2), (2, 4), (4, 4), (8, 8))
                  for blocks in (4, 8, EACH_ONCE) for evict in ("", "evict_first")],
                 key=["count", "written", "sourceStep"], do_bench=measureBriefly)
@triton.jit
def trafficKernel(source, target, count, written, sourceStep, targetStep, CHUNK: tl.constexpr,
                  SHIFT: tl.constexpr, NEVER: tl.constexpr, CHUNKS: tl.constexpr,
                  BLOCKS_A_UNIT: tl.constexpr, EVICT: tl.constexpr):
    """Each of `count` steps reads a chunk and writes it where none was written before."""
    lanes = tl.arange(0, CHUNK)[None, :]
    seen = tl.zeros((CHUNKS, CHUNK), tl.int32)
    for first in range(tl.program_id(0) * CHUNKS, count, tl.num_programs(0) * CHUNKS):
        # A multiplication for each chunk, none for each word: a division would be felt.
        step = (first + tl.arange(0, CHUNKS)).to(tl.int64)
        chunk = step * targetStep >> SHIFT
        isNew = (step < count) & (chunk != (step - 1) * targetStep >> SHIFT)
        read = (step * sourceStep >> SHIFT)[:, None] * CHUNK + lanes
        stored = chunk[:, None] * CHUNK + lanes
        words = tl.load(source + read, mask=(step < count)[:, None], other=0,
                        eviction_policy=EVICT)
        tl.store(target + stored, words, mask=isNew[:, None] & (stored < written),
                 eviction_policy=EVICT)
        seen ^= words
    tl.store(target + tl.arange(0, CHUNKS)[:, None] * CHUNK + lanes, seen, mask=seen == NEVER)


def divideChunks(read, stored):
    """(steps, what one of them goes on in the source, and in the target), in chunks times
    2^SHIFT: with n steps the i-th is at chunk i * read // n, and at i * stored // n."""
    count = max(read, stored)
    return count, *(-(-(chunks << SHIFT) // count) for chunks in (read, stored))


def listTaken(count, sourceStep, targetStep, device=None):
    """Of each chunk that is stored, the one it is of the source."""
    step = torch.arange(count, device=device)
    isNew = step * targetStep >> SHIFT != (step - 1) * targetStep >> SHIFT
    return (step * sourceStep >> SHIFT)[isNew]


def makeTraffic(setting):
    flops, size = setting.workload.leastWork()
    if flops > FLOPS_A_BYTE * size:
        return None
    outputs = listTensors(setting.module(*setting.inputs))
    stored = sum(output.nbytes for output in outputs)
    del outputs
    written = triton.cdiv(stored, LINE * WORD.itemsize) * LINE
    read = max(triton.cdiv(size - stored, CHUNK * WORD.itemsize), 1)
    count, *steps = divideChunks(read, triton.cdiv(written, CHUNK))
    dtype = DTYPES[setting.workload.dtype]
    perWord = WORD.itemsize // dtype.itemsize
    source = torch.randn(read * CHUNK * perWord, device="cuda", dtype=dtype)
    target = torch.empty(written * perWord, device="cuda", dtype=dtype)
    units = torch.cuda.get_device_properties().multi_processor_count

    def launch():
        trafficKernel[lambda meta: (min(units * meta["BLOCKS_A_UNIT"],
                                        triton.cdiv(count, meta["CHUNKS"])),)](
            source.view(WORD), target.view(WORD), count, written, *steps, CHUNK, SHIFT, NEVER)

    def part():
        rows = source.view(read, -1)[listTaken(count, *steps, source.device)]
        return rows.flatten()[:target.numel()].double()

    contender = finish(launch, target)
    contender.part = part
    return contender
