# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The least bytes of a workload and nothing else: a kernel that reads as many as
the inputs and weights have and writes as many as the output has. It takes what
the floor leaves out, launch and flushed lines, and is the fastest of some
configurations: no proof that a kernel of that workload cannot be faster."""

import torch
import triton
import triton.language as tl

from peers import Contender
from peers.handwritten import finish

WORD = torch.int32
# Words that are stored together: whole lines, evenly among those that are not.
CHUNK = 1024
EACH_ONCE = 1 << 20  # blocks of threads, so that none has a second one of words
FLOPS_A_BYTE = 100  # with more, what bounds the workload is something else
NEVER = 0x7fe1c0de  # no sum of words; where it is one, a word of the output is wrong


@triton.autotune([triton.Config({"BLOCK": block, "BLOCKS_A_UNIT": blocks, "EVICT": evict},
                                num_warps=warps, num_stages=1)
                  for block, warps in ((1024, 1), (1024, 2), (2048, 4), (4096, 4), (8192, 8))
                  for blocks in (4, 8, EACH_ONCE) for evict in ("", "evict_first")],
                 key=["count", "written"])
@triton.jit
def trafficKernel(source, target, count, written, CHUNK: tl.constexpr, RATIO: tl.constexpr,
                  NEVER: tl.constexpr, BLOCK: tl.constexpr, BLOCKS_A_UNIT: tl.constexpr,
                  EVICT: tl.constexpr):
    """Reads `count` words; each RATIO-th chunk of them is the next of target's."""
    lanes = tl.arange(0, BLOCK)
    seen = tl.zeros((BLOCK,), tl.int32)
    for first in range(tl.program_id(0) * BLOCK, count, tl.num_programs(0) * BLOCK):
        at = first + lanes
        words = tl.load(source + at, mask=at < count, other=0, eviction_policy=EVICT)
        chunk = at // CHUNK
        to = chunk // RATIO * CHUNK + at % CHUNK
        tl.store(target + to, words, mask=(chunk % RATIO == 0) & (to < written) & (at < count),
                 eviction_policy=EVICT)
        seen ^= words
    tl.store(target + lanes, seen, mask=seen == NEVER)


def makeTraffic(setting):
    flops, size = setting.workload.leastWork()
    if flops > FLOPS_A_BYTE * size:
        return None
    output = setting.module(*setting.inputs)
    written = triton.cdiv(output.nbytes, WORD.itemsize)
    count = (size - output.nbytes) // WORD.itemsize
    chunks = triton.cdiv(count, CHUNK)
    ratio = chunks // triton.cdiv(written, CHUNK)
    if ratio < 1:
        return None  # more is written than read
    perWord = WORD.itemsize // output.element_size()
    source = torch.randn(chunks * CHUNK * perWord, device="cuda", dtype=output.dtype)
    target = torch.empty(written * perWord, device="cuda", dtype=output.dtype)
    units = torch.cuda.get_device_properties().multi_processor_count

    def launch():
        trafficKernel[lambda meta: (min(units * meta["BLOCKS_A_UNIT"],
                                        triton.cdiv(count, meta["BLOCK"])),)](
            source.view(WORD), target.view(WORD), count, written, CHUNK, ratio, NEVER)

    def part():
        return source.view(chunks, -1)[::ratio].flatten()[:target.numel()].double()

    contender = finish(launch, target)
    contender.part = part
    return contender
