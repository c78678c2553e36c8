#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes cases of moves at random to a folder: pads (negative ones, too), slices,
concats of few and of many parts, rotations, differences of halves and interleaved
channels that are taken apart, one behind another, whose rows begin anywhere.
usage: random_moves.py FOLDER COUNT [FIRST]"""

import pathlib
import sys

import numpy
from onnx import helper

from cases import Case

KINDS = ["f32", "f16", "bf16", "i8", "i64"]
NORMS = {"f16": 1e-3, "bf16": 1e-2}  # differences of differences round once
LEADING = [1, 2, 3, 7, 13, 32, 65, 127, 515]
ROWS = [1, 5, 7, 9, 13, 17, 31, 33, 63, 65, 127, 129, 255, 333, 511, 1001, 4095]
MOST_ELEMENTS = 60_000
MOST_MOVES = 3
WIDTHS = [1, 2, 3, 7, 8, 10, 16, 33]  # of what is added
MOST_PARTS = 28


class Moves:
    """A tensor, what the graph calls it, and the moves that change both."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        kind = str(self.random.choice(KINDS))
        self.case = Case(f"random_moves_{seed}_{kind}", NORMS.get(kind, 0), batch=None)
        shape = [int(n) for n in self.random.choice(LEADING, self.random.integers(0, 3))]
        row = int(self.random.choice(ROWS))
        while shape and numpy.prod(shape) * row > MOST_ELEMENTS:
            shape.pop()
        self.kind, self.value = kind, self.case.draw(kind, *shape, row)
        self.name = self.case.input("x", self.value)

    def below(self, most):
        return int(self.random.integers(0, most))

    def add(self, operator, value, *inputs, **attributes):
        self.name, self.value = self.case.node(operator, *inputs, **attributes), value

    def cut(self, axis, first, last):
        numbers = [self.case.constant(numpy.array([n], numpy.int64)) for n in (first, last, axis)]
        return self.case.node("Slice", self.name, *numbers), \
            self.value.take(range(first, last), axis)

    def pad(self, axis):
        front, back = self.below(11) - 2, self.below(11) - 2
        size = self.value.shape[axis]
        kept = self.value.take(range(max(0, -front), size - max(0, -back)), axis)
        if not kept.size:
            return
        rank = self.value.ndim
        pads, widths = numpy.zeros(2 * rank, numpy.int64), [(0, 0)] * rank
        pads[axis], pads[rank + axis] = front, back
        widths[axis] = max(front, 0), max(back, 0)
        self.add("Pad", numpy.pad(kept, widths), self.name, self.case.constant(pads))

    def slice(self, axis):
        size = self.value.shape[axis]
        first = self.below(size // 2 + 1) if size > 1 else 0
        self.name, self.value = self.cut(axis, first, first + 1 + self.below(size - first))

    def concat(self, axis, others=1):
        named = [(self.name, self.value)]
        for width in self.random.choice(WIDTHS, others):
            shape = list(self.value.shape)
            shape[axis] = int(width)
            other = self.case.draw(self.kind, *shape)
            named.insert(self.below(len(named) + 1),
                         (self.case.input(f"y{len(self.case.inputs)}", other), other))
        self.add("Concat", numpy.concatenate([value for _, value in named], axis),
                 *[name for name, _ in named], axis=axis)

    def join(self, axis):
        across = self.value.size // self.value.shape[axis]
        most = min(MOST_PARTS, 2 * MOST_ELEMENTS // (max(1, across) * max(WIDTHS)))
        self.concat(axis, 1 + self.below(max(1, most)))

    def rotate(self, axis):
        size = self.value.shape[axis]
        by = self.below(size)
        if by:
            parts = self.cut(axis, by, size), self.cut(axis, 0, by)
            self.add("Concat", numpy.concatenate([value for _, value in parts], axis),
                     *[name for name, _ in parts], axis=axis)

    def subtractHalves(self, axis):
        size = self.value.shape[axis]
        if size > 1:
            (a, left), (b, right) = self.cut(axis, 0, size // 2), self.cut(axis, size - size // 2, size)
            self.add("Sub", (left - right).astype(left.dtype), a, b)

    def separateChannels(self, _):
        channels = 2 + self.below(3)
        *across, row = self.value.shape
        pixels = row // channels
        if not pixels:
            return
        self.name, self.value = self.cut(self.value.ndim - 1, 0, pixels * channels)
        shape = numpy.array([*across, pixels, channels])
        self.add("Reshape", self.value.reshape(shape), self.name, self.case.constant(shape))
        order = (*range(len(across)), len(across) + 1, len(across))
        self.add("Transpose", self.value.transpose(order), self.name, perm=order)


def make(seed):
    moves = Moves(seed)
    for _ in range(1 + moves.below(MOST_MOVES)):
        axis = moves.value.ndim - 1 if moves.below(4) else moves.below(moves.value.ndim)
        move = (moves.pad, moves.slice, moves.concat, moves.join, moves.rotate,
                moves.subtractHalves, moves.separateChannels)[moves.below(7)]
        move(axis)
    moves.case.nodes.append(helper.make_node("Neg", [moves.name], ["y"]))
    moves.case.output("y", -moves.value, moves.kind)
    return moves.case


def main():
    folder, count, *first = sys.argv[1:]
    for seed in range(int(count)):
        make(seed + int(*first or [0])).write(pathlib.Path(folder))


if __name__ == "__main__":
    main()
