#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/cold_cache.py     # what it does, shown on this device

A second-level cache in which nothing of earlier runs is left.

Zeros that are written over 256 MiB do not drive out lines that were loaded by
`evict_last`, of which PyTorch's compiler makes use wherever neighbours do not lie side by
side: whoever asks for them again finds some. Other lines that are to stay do: the same
memory is read by `evict_last` first, and its lines are told that they need not stay."""

import argparse
import statistics

import torch
import triton
import triton.language as tl

METHOD = "evict_last too"  # a row's `cache`; those without were measured behind zeros alone
BYTES = 256 << 20  # more than any second-level cache so far
LEAST_CAPABILITY = (8, 0)  # that knows lines that are to stay
BLOCK = 4096  # words
LINE = 32  # words
NEVER = 0x7fe1c0de  # in memory that holds zeros
ROWS, COLUMNS, TILE = 1021, 4099, (16, 256)
INPUTS, RUNS = 24, 48
WAIT_CYCLES = 20_000_000  # until the host has enqueued all of a series


@triton.jit
def readToStay(words, BLOCK: tl.constexpr, NEVER: tl.constexpr):
    at = words + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.load(at, eviction_policy="evict_last")
    tl.store(at, found, mask=found == NEVER)


@triton.jit
def releaseLines(words, BLOCK: tl.constexpr, LINE: tl.constexpr):
    line = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.inline_asm_elementwise("applypriority.global.L2::evict_normal [$1], 128; mov.u32 $0, 0;",
                              "=r,l", [(words + line * LINE).to(tl.int64)], dtype=tl.int32,
                              is_pure=False, pack=1)


class ColdCache:
    def __init__(self):
        self.memory = torch.zeros(BYTES // 4, dtype=torch.int32, device="cuda")

    def overwrite(self):
        self.memory.zero_()

    def empty(self):
        """Enqueues it on PyTorch's stream. What is left in the cache is to be written back."""
        words = self.memory.numel()
        if torch.cuda.get_device_capability() >= LEAST_CAPABILITY:
            readToStay[(words // BLOCK,)](self.memory, BLOCK, NEVER)
            releaseLines[(words // LINE // BLOCK,)](self.memory, BLOCK, LINE)
        self.overwrite()


@triton.jit
def transposeTile(source, target, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
                  ALONG: tl.constexpr, ACROSS: tl.constexpr):
    """As PyTorch's compiler does: a thread's loads are apart by a row."""
    a = tl.program_id(1) * ALONG + tl.arange(0, ALONG)[:, None]
    b = tl.program_id(0) * ACROSS + tl.arange(0, ACROSS)[None, :]
    mask = (a < COLUMNS) & (b < ROWS)
    found = tl.load(source + a + b * COLUMNS, mask=mask, eviction_policy="evict_last")
    tl.store(target + a * ROWS + b, found, mask=mask)


def show():
    """Medians of a transposition whose loads ask to stay."""
    cache = ColdCache()
    inputs = [torch.randn(ROWS, COLUMNS, device="cuda").half() for _ in range(INPUTS)]
    outputs = [torch.empty(COLUMNS, ROWS, device="cuda", dtype=torch.float16) for _ in inputs]
    along, across = TILE
    grid = triton.cdiv(ROWS, across), triton.cdiv(COLUMNS, along)

    def time(clear, isSame):
        pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(RUNS)]
        torch.cuda._sleep(WAIT_CYCLES)
        for run, (before, after) in enumerate(pairs):
            at = 0 if isSame else run % INPUTS
            clear()
            before.record()
            transposeTile[grid](inputs[at], outputs[at], ROWS, COLUMNS, along, across,
                                num_warps=8)
            after.record()
        torch.cuda.synchronize()
        return statistics.median(b.elapsed_time(a) for b, a in pairs) * 1e3

    for clear in (cache.overwrite, cache.empty) * 2:
        time(clear, True)
        print(f"{clear.__name__}: {INPUTS} inputs in turn {time(clear, False):.2f} us, "
              f"one input {time(clear, True):.2f} us")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__,
                            formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    show()
