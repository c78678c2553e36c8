# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rename-inputs.py MODEL OUT: gives a model's inputs and nodes names that
would clear a terminal."""

import sys

import onnx

CLEAR = "\x1b[2J\n"

model = onnx.load(sys.argv[1])
weights = {weight.name for weight in model.graph.initializer}
inputs = [value for value in model.graph.input if value.name not in weights]
names = {value.name: f"{CLEAR}\x9b{i}" for i, value in enumerate(inputs)}
for value in inputs:
    value.name = names[value.name]
for node in model.graph.node:
    node.name = CLEAR + "node"
    node.input[:] = [names.get(name, name) for name in node.input]
onnx.save(model, sys.argv[2])
