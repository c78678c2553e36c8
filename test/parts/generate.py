#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes cases of what is no matmul to a folder: transposes and other moves,
reductions, rows and embedding bags, of aligned sizes and odd ones, with expected
results of numpy in double precision."""

import argparse
import pathlib

import numpy
from onnx import helper

import bags
import length_bags
import long_columns
import masked_bags
import moves
import norm_bags
import norms
import pointwise
import rows
import scans
import staying
from cases import TYPES, Case, nameOf

# Both dimensions of a tile inside, at its edges and beyond it; vectors on both
# sides, on one, on none.
TRANSPOSES = [("f32", (1000, 512), (1, 0)), ("f32", (127, 1013), (1, 0)), ("f16", (264, 72), (1, 0)),
              ("f16", (17, 999), (1, 0)), ("i64", (130, 70), (1, 0)), ("f32", (3, 100, 36), (0, 2, 1)),
              ("f16", (127, 13, 40), (2, 0, 1)), ("f16", (40, 33, 64), (2, 1, 0)),
              ("f32", (2, 16, 19, 24), (0, 2, 3, 1)), ("f32", (0, 32), (1, 0)),
              ("f32", (7, 20, 5, 18), (3, 1, 2, 0)), ("f32", (32, 6, 5, 80), (3, 2, 1, 0)),
              ("f16", (40, 3, 120), (2, 1, 0)), ("f32", (96, 13, 514), (2, 1, 0))]


def makeTransposes():
    for kind, sizes, order in TRANSPOSES:
        case = Case(nameOf("transpose", kind, sizes, "".join(map(str, order))), 0)
        x = case.draw(kind, *sizes)
        case.nodes.append(helper.make_node("Transpose", [case.input("x", x)], ["y"], perm=order))
        case.output("y", x.transpose(order), kind)
        yield case
    # Arithmetic on both sides, a value that needs no tile, two that share one shape,
    # and a row that every point reads; of whole tiles, of rows that begin anywhere
    # and end within a vector, and of chunks that are a thread's second.
    for kind, sizes in [("f32", (129, 130)), ("f16", (72, 200)), ("f32", (1, 31)), ("f32", (128, 192)),
                        ("f16", (131, 259)), ("f32", (33, 257)), ("f16", (203, 77))]:
        # One name would be of two dimensions.
        case = Case(nameOf("sum", kind, sizes), 1e-3 if kind == "f16" else 1e-6, batch=None)
        x, y = case.draw(kind, *sizes), case.draw(kind, *sizes)
        z, row = case.draw(kind, *sizes[::-1]), case.draw(kind, sizes[0])
        product = case.node("Mul", case.input("x", x), case.input("y", y))
        turned = case.node("Transpose", product, perm=(1, 0))
        total = case.node("Add", turned, case.input("z", z))
        case.nodes.append(helper.make_node("Add", [total, case.constant(row)], ["r"]))
        case.nodes.append(helper.make_node("Relu", ["r"], ["s"]))
        r = (x.astype(float) * y).T + z + row
        case.output("r", r, kind)
        case.output("s", numpy.maximum(r, 0), kind)
        yield case


# Rows that are split into parts, and such that are not; the last part is short. Rows that
# begin anywhere, columns of lengths that threads do not share evenly, and columns of which
# each multiprocessor has a block of 20. Parts of several rows of columns that follow one another.
REDUCTIONS = [("f16", (1003, 997), (0, 1)), ("f32", (70001, 13), (0,)), ("f32", (7, 100003), (1,)),
              ("f16", (2, 5000, 64), (1,)), ("f32", (4, 3, 30000), (0, 2)), ("f32", (0, 70000), (0, 1)),
              ("f32", (1, 65536), (0, 1)), ("f32", (3, 1, 5, 1), (1, 3)), ("f16", (5, 1, 9), (1, 2)),
              ("f16", (9, 10007), (1,)), ("f32", (5, 5003), (1,)), ("f16", (2, 197, 1024), (1,)),
              ("f32", (2, 127, 513), (1,)), ("f16", (2, 1000, 512), (1,)), ("f32", (3, 13, 256), (1,)),
              ("f16", (130, 37, 256), (1,)), ("f32", (27, 601, 95), (1,)), ("f32", (3, 20003, 7), (1,)),
              ("f16", (5, 8197, 40), (1,)), ("f32", (2, 3, 10007, 5), (2,))]


def makeReductions():
    for kind, sizes, axes in REDUCTIONS:
        case = Case(nameOf("reduce", kind, sizes, "".join(map(str, axes))), 2e-3 if kind == "f16" else 1e-4)
        x = case.draw(kind, *sizes) / TYPES[kind][0](32)  # halves hold the sum of all
        wide = x.astype(float)
        case.input("x", x)
        square = case.node("Mul", "x", "x")
        total = case.node("ReduceSum", square, case.constant(numpy.array(axes)), keepdims=0)
        case.nodes.append(helper.make_node("Sqrt", [total], ["length"]))
        case.output("length", numpy.sqrt((wide * wide).sum(axes)), kind)
        if x.size:
            case.nodes.append(helper.make_node("ReduceMax", ["x"], ["most"], axes=axes, keepdims=0))
            case.output("most", wide.max(axes), kind)
        yield case


# What threads walk along without keeping it, and shorter columns that they keep: extremes of halves,
# two at a time; planes 4 MB apart, which are begun in other places. NaN in some columns, infinities
# that are all there is in others.
WALKS = [("ReduceMax", "f16", (4, 2048, 1024), 1), ("ReduceMin", "bf16", (3, 8192, 256), 1), ("ReduceMin", "f16", (33, 130, 384), 1),
         ("ReduceMax", "bf16", (10007, 40), 0), ("ReduceMax", "f16", (3, 130, 64), 1), ("ReduceMin", "f16", (257, 6), 0),
         ("ReduceSum", "f16", (4, 4096, 512), 1), ("ReduceSum", "bf16", (33, 133, 768), 1)]


def makeWalks():
    for operator, kind, sizes, axis in WALKS:
        sums = operator == "ReduceSum"
        case = Case(nameOf("walk_" + operator[6:].lower(), kind, sizes, axis), {"f16": 2e-3, "bf16": 2e-2}[kind] if sums else 0, opset=18)
        x = case.draw(kind, *sizes) / TYPES[kind][0](64 if sums else 1)
        if not sums:
            columns = x.reshape(-1, sizes[-1])
            columns[len(columns) // 3, 1] = numpy.nan
            columns[:, 2] = numpy.inf
            columns[:, 3] = -numpy.inf
        case.input("x", x)
        # Sums are of what takes several instructions, which none keeps.
        items = case.node("Sigmoid", "x") if sums else "x"
        case.nodes.append(helper.make_node(operator, [items, case.constant(numpy.array([axis]))], ["y"], keepdims=0))
        find = {"ReduceSum": lambda x, axis: (1 / (1 + numpy.exp(-x))).sum(axis), "ReduceMax": numpy.max, "ReduceMin": numpy.min}[operator]
        case.output("y", find(x.astype(float), axis), kind)
        yield case


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    for make in (makeTransposes, moves.makeAll, pointwise.makeAll, makeReductions, makeWalks, rows.makeAll, norms.makeAll, long_columns.makeAll, scans.makeAll,
                 bags.makeAll, masked_bags.makeAll, length_bags.makeAll, norm_bags.makeAll, staying.makeAll):
        for case in make():
            case.write(folder)


if __name__ == "__main__":
    main()
