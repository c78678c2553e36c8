# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns the leading size of a node test into a name, where that has a meaning.

A leading size that the first input and the first output share becomes 'batch';
whether the output really follows the input is found by evaluating the model at
another size with onnx's own reference evaluator, not by knowing operators.
"""

import itertools

import numpy
import onnx
from onnx.reference import ReferenceEvaluator

NAME = "batch"


class NotSymbolic(Exception):
    """The test has no symbolic form; the message is the reason."""


def grow(array):
    """The array with its first row once more at the end."""
    return numpy.concatenate([array, array[:1]], axis=0)


def evaluate(evaluator, feeds):
    try:
        with numpy.errstate(all="ignore"):
            return [numpy.asarray(y) for y in evaluator.run(None, feeds)]
    except Exception:  # The evaluator has no common base for its errors.
        return None


def findFollowing(model, feeds, outputs, constants):
    """The inputs to rename, and the outputs whose leading size follows them."""
    names = [v.name for v in model.graph.input if v.name not in constants]
    if not names:
        raise NotSymbolic("no input besides constants")
    if feeds[names[0]].ndim == 0:
        raise NotSymbolic("the first input is a scalar")
    if outputs[0].ndim == 0:
        raise NotSymbolic("the first output is a scalar")
    size, outSize = feeds[names[0]].shape[0], outputs[0].shape[0]
    if size != outSize:
        raise NotSymbolic(f"leading sizes {size} and {outSize} differ")
    if size == 0:
        raise NotSymbolic("the leading size is 0")
    evaluator = ReferenceEvaluator(model)
    others = [n for n in names[1:] if feeds[n].ndim and feeds[n].shape[0] == size]
    legal = False
    for count in range(len(others), -1, -1):
        for chosen in itertools.combinations(others, count):
            renamed = {names[0], *chosen}
            grown = {n: grow(a) if n in renamed else a for n, a in feeds.items()}
            results = evaluate(evaluator, grown)
            if results is None:
                continue
            legal = True
            follows = [y.ndim == x.ndim and y.ndim > 0 and
                       y.shape == (size + 1, *x.shape[1:])
                       for x, y in zip(outputs, results)]
            if follows[0]:
                # An output of a third shape keeps no declared sizes.
                fixed = [y.shape == x.shape for x, y in zip(outputs, results)]
                return renamed, follows, fixed
    raise NotSymbolic("the output does not follow the input's leading size"
                      if legal else "another leading size is not legal")


def makeSymbolic(model, feeds, outputs, constants):
    """The model with a named leading size; raises NotSymbolic."""
    renamed, follows, fixed = findFollowing(model, feeds, outputs, constants)
    symbolic = onnx.ModelProto()
    symbolic.CopyFrom(model)
    del symbolic.graph.value_info[:]
    for value in symbolic.graph.input:
        if value.name in renamed:
            value.type.tensor_type.shape.dim[0].dim_param = NAME
    for value, follow, keep in zip(symbolic.graph.output, follows, fixed):
        shape = value.type.tensor_type.shape
        if follow and len(shape.dim) > 0:
            shape.dim[0].dim_param = NAME
        elif not keep:
            value.type.tensor_type.ClearField("shape")
    return symbolic
