# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes each NAME.txt of a folder, a model in ONNX's own text form, to NAME.onnx."""

import pathlib
import sys

import onnx.parser

for text in pathlib.Path(sys.argv[1]).glob("*.txt"):
    model = onnx.parser.parse_model(text.read_text())
    text.with_suffix(".onnx").write_bytes(model.SerializeToString())
