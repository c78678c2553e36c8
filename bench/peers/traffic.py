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
# Words that are stored together: whole lines, evenly among those that are not.
CHUNK = 1024
EACH_ONCE = 1 << 20  # blocks of threads, so that none has a second one of words
FLOPS_A_BYTE = 100  # with more, what bounds the workload is something else
NEVER = 0x7fe1c0de  # no sum of words; where it is one, a word of the output is wrong


def measureBriefly(run, quantiles):
    """A tenth of the time that Triton takes for a configuration: there are thirty of them
    for each size, and a row took 3.4 s longer by that."""
    return triton.testing.do_bench(run, warmup=2, rep=12, quantiles=quantiles)


@triton.autotune([triton.Config({"BLOCK": block, "BLOCKS_A_UNIT": blocks, "EVICT": evict},
                                num_warps=warps, num_stages=1)
                  for block, warps in ((1024, 1), (1024, 2), (2048, 4), (4096, 4), (8192, 8))
                  for blocks in (4, 8, EACH_ONCE) for evict in ("", "evict_first")],
                 key=["count", "written"], do_bench=measureBriefly)
@triton.jit
def trafficKernel(source, target, count, written, CHUNK: tl.constexpr, RATIO: tl.constexpr,
                  SPREADS: tl.constexpr, NEVER: tl.constexpr, BLOCK: tl.constexpr,
                  BLOCKS_A_UNIT: tl.constexpr, EVICT: tl.constexpr):
    """Each RATIO-th chunk of `count` words is the next of target's; where it SPREADS,
    each chunk is the next RATIO of target's."""
    lanes = tl.arange(0, BLOCK)
    seen = tl.zeros((BLOCK,), tl.int32)
    for first in range(tl.program_id(0) * BLOCK, written if SPREADS else count,
                       tl.num_programs(0) * BLOCK):
        at = first + lanes
        chunk = at // CHUNK
        fewer = chunk // RATIO * CHUNK + at % CHUNK
        if SPREADS:
            words = tl.load(source + fewer, mask=at < written, other=0)
            tl.store(target + at, words, mask=at < written, eviction_policy=EVICT)
        else:
            words = tl.load(source + at, mask=at < count, other=0, eviction_policy=EVICT)
            tl.store(target + fewer, words, eviction_policy=EVICT,
                     mask=(chunk % RATIO == 0) & (fewer < written) & (at < count))
        seen ^= words
    tl.store(target + lanes, seen, mask=seen == NEVER)


def divideChunks(count, written):
    """(chunks that are read, how many of the one a chunk of the other is, whether
    more is written)."""
    read, stored = max(triton.cdiv(count, CHUNK), 1), triton.cdiv(written, CHUNK)
    spreads = stored > read
    return read, triton.cdiv(stored, read) if spreads else read // stored, spreads


def makeTraffic(setting):
    flops, size = setting.workload.leastWork()
    if flops > FLOPS_A_BYTE * size:
        return None
    outputs = listTensors(setting.module(*setting.inputs))
    stored = sum(output.nbytes for output in outputs)
    del outputs
    written = triton.cdiv(stored, WORD.itemsize)
    chunks, ratio, spreads = divideChunks((size - stored) // WORD.itemsize, written)
    count = chunks * CHUNK
    dtype = DTYPES[setting.workload.dtype]
    perWord = WORD.itemsize // dtype.itemsize
    source = torch.randn(count * perWord, device="cuda", dtype=dtype)
    target = torch.empty(written * perWord, device="cuda", dtype=dtype)
    units = torch.cuda.get_device_properties().multi_processor_count

    def launch():
        trafficKernel[lambda meta: (min(units * meta["BLOCKS_A_UNIT"],
                                        triton.cdiv(max(count, written), meta["BLOCK"])),)](
            source.view(WORD), target.view(WORD), count, written, CHUNK, ratio, spreads, NEVER)

    def part():
        rows = source.view(chunks, -1)
        rows = rows.repeat_interleave(ratio, 0) if spreads else rows[::ratio]
        return rows.flatten()[:target.numel()].double()

    contender = finish(launch, target)
    contender.part = part
    return contender
