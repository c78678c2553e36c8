# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of norms, ranges, variances and softmaxes of few long rows, which are reduced in
parts or by teams of blocks."""

import numpy
from onnx import TensorProto, helper

from cases import TYPES, Case, nameOf

# Variances of few long rows: of columns, of several axes apart, and of everything.
LONG_VARIANCES = [("f32", (100003, 3), (0,)), ("f16", (1, 262147), (1,)), ("f32", (60, 2, 5001), (0, 2)), ("f16", (512, 515), (0, 1)),
                  ("f32", (20001, 16), (0,)), ("f32", (512, 512), (0,))]


def makeLongVariances():
    for kind, sizes, axes in LONG_VARIANCES:
        case = Case(nameOf("long_variance", kind, sizes, *axes), 2e-3 if kind == "f16" else 1e-4)
        x = (case.draw(kind, *sizes) + 1).astype(TYPES[kind][0])
        apart = case.node("Sub", case.input("x", x), case.node("ReduceMean", "x", axes=axes))
        square = case.node("Mul", apart, apart)
        case.nodes.append(helper.make_node("ReduceMean", [square], ["y"], axes=axes, keepdims=0))
        case.output("y", x.astype(float).var(axes), kind)
        yield case


# Rows that blocks reduce in parts and store a part of each: of whole vectors and odd,
# whose last part has fewer items, and of several axes.
LONG_NORMS = [("f32", (1, 300007)), ("f16", (1, 262144)), ("bf16", (2, 140001)), ("f32", (2, 12, 96, 130))]


def makeLongNorms():
    for kind, sizes in LONG_NORMS:
        # On the host a thread adds up a part item by item.
        allowed = {"f32": 1e-4, "f16": 2e-3, "bf16": 2e-2}[kind]
        x = Case("draws", 0).draw(kind, *sizes)
        x = (x / 2 + 1).astype(TYPES[kind][0])
        wide = x.astype(float)
        rest = tuple(range(1, len(sizes)))
        apart = wide - wide.mean(rest, keepdims=True)
        normal = apart / numpy.sqrt((apart * apart).mean(rest, keepdims=True) + 1e-5)
        scale = Case("draws", 0).draw(kind, *sizes[1:])
        case = Case(nameOf("long_norm", kind, sizes), allowed, batch={"x": "batch"})
        case.nodes.append(helper.make_node("LayerNormalization", [case.input("x", x), case.input("s", scale)], ["y"], axis=1))
        case.output("y", normal * scale, kind)
        yield case
        # Of one reduction, and of two that do not depend on one another.
        case = Case(nameOf("long_ranges", kind, sizes), allowed)
        name, axes = case.input("x", x), list(rest)
        least, most = (case.node(operator, name, axes=axes, keepdims=1) for operator in ("ReduceMin", "ReduceMax"))
        case.nodes.append(helper.make_node("Div", [case.node("Sub", name, least), case.node("Sub", most, least)], ["y"]))
        low, high = wide.min(rest, keepdims=True), wide.max(rest, keepdims=True)
        case.output("y", (wide - low) / (high - low), kind)
        yield case
        if len(sizes) < 4:
            continue
        case = Case(nameOf("long_instance_norm", kind, sizes), allowed)
        factor, shift = case.draw(kind, sizes[1]), case.draw(kind, sizes[1])
        case.nodes.append(helper.make_node("InstanceNormalization",
                                           [case.input("x", x), case.constant(factor), case.constant(shift)], ["y"]))
        apart = wide - wide.mean((2, 3), keepdims=True)
        normal = apart / numpy.sqrt((apart * apart).mean((2, 3), keepdims=True) + 1e-5)
        case.output("y", normal * factor[:, None, None] + shift[:, None, None], kind)
        yield case
        # Of a named batch it is one block's, as those of rows.py are.
        case = Case(nameOf("long_group_norm", kind, sizes), allowed, batch=None, opset=21)
        factor, shift = case.draw(kind, sizes[1]), case.draw(kind, sizes[1])
        case.nodes.append(helper.make_node("GroupNormalization",
                                           [case.input("x", x), case.constant(factor), case.constant(shift)], ["y"], num_groups=1))
        apart = wide - wide.mean(rest, keepdims=True)
        normal = apart / numpy.sqrt((apart * apart).mean(rest, keepdims=True) + 1e-5)
        case.output("y", normal * factor[:, None, None] + shift[:, None, None], kind)
        yield case


# Rows that the registers of many blocks hold together, which meet in memory: groups of
# several channels, fewer and more rows than there are such teams at a time.
TEAM_NORMS = [("f32", (12, 1, 524288)), ("f16", (8, 2, 524288))]


def makeTeamNorms():
    for kind, sizes in TEAM_NORMS:
        allowed = {"f32": 1e-4, "f16": 4e-3, "bf16": 2e-2}[kind]
        case = Case(nameOf("team_norm", kind, sizes), allowed, opset=21)
        x = (case.draw(kind, *sizes) / 2 + 1).astype(TYPES[kind][0])
        factor, shift = case.draw(kind, sizes[1]), case.draw(kind, sizes[1])
        case.nodes.append(helper.make_node("GroupNormalization",
                                           [case.input("x", x), case.constant(factor), case.constant(shift)], ["y"], num_groups=1))
        wide = x.astype(float)
        apart = wide - wide.mean((1, 2), keepdims=True)
        normal = apart / numpy.sqrt((apart * apart).mean((1, 2), keepdims=True) + 1e-5)
        case.output("y", normal * factor[:, None] + shift[:, None], kind)
        yield case
    # With the mean and the deviation's inverse beside it. The evaluator and the host add
    # up a row item by item, whose mean is no farther from 0 therefore.
    case = Case(nameOf("team_norm", "f32", (2, 524288), "moments"), 2e-3)
    x = (case.draw("f32", 2, 524288) + 4).astype(numpy.float32)
    case.nodes.append(helper.make_node("LayerNormalization", [case.input("x", x), case.constant(numpy.ones(1, numpy.float32))],
                                       ["y", "mean", "inverse"], axis=1))
    apart = x - x.astype(float).mean(1, keepdims=True)
    inverse = 1 / numpy.sqrt((apart * apart).mean(1, keepdims=True) + 1e-5)
    case.output("y", apart * inverse, "f32")
    case.output("mean", x.astype(float).mean(1, keepdims=True), "f32")
    case.output("inverse", inverse, "f32")
    yield case


def makeTeamSquares():
    """By their squares alone, which need no mean."""
    for kind, sizes in (("f32", (3, 524288)), ("bf16", (8, 524288))):
        case = Case(nameOf("team_squares", kind, sizes), {"f32": 1e-4, "bf16": 2e-2}[kind])
        x = case.draw(kind, *sizes)
        wider = case.node("Cast", case.input("x", x), to=TensorProto.FLOAT)
        mean = case.node("ReduceMean", case.node("Mul", wider, wider), axes=[1])
        ratio = case.node("Div", wider, case.node("Sqrt", mean))
        case.nodes.append(helper.make_node("Cast", [ratio], ["y"], to=TYPES[kind][1]))
        wide = x.astype(float)
        case.output("y", wide / numpy.sqrt((wide * wide).mean(1, keepdims=True)), kind)
        yield case


def makeTeamSoftmax():
    for form in ("Softmax", "LogSoftmax"):
        case = Case(nameOf("team_" + form.lower(), "f32", (8, 524288)), 1e-4)
        x = case.draw("f32", 8, 524288)
        # All of one value but a largest; infinities, of which some blocks have nothing else.
        x[0], x[0, 300001] = 0, 60
        x[1, 7::2], x[2, :400000] = -numpy.inf, -numpy.inf
        case.nodes.append(helper.make_node(form, [case.input("x", x)], ["y"], axis=1))
        below = x.astype(float) - x.max(1, keepdims=True)
        powers = numpy.exp(below)
        total = powers.sum(1, keepdims=True)
        case.output("y", powers / total if form == "Softmax" else below - numpy.log(total), "f32")
        yield case


def makeAll():
    for make in (makeLongVariances, makeLongNorms, makeTeamNorms, makeTeamSquares, makeTeamSoftmax):
        yield from make()
