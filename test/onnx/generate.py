# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the ONNX node tests as folders that a program without Python can run.

  generate.py OUT                 writes OUT/<test>/ and OUT/expected.txt
  generate.py OUT --update        also replaces expected.txt beside this file

OUT/<test>/ holds model.onnx, in_<i>.npy, out_<i>.npy, model_symbolic.onnx where
it has a meaning, and case.json:
  {"name", "expect": "pass" | "refused", "reason", "operators", "model": path,
   "inputs":  [{"name", "file", "const": bool}],
   "outputs": [{"name", "file", "rtol", "atol"}],
   "symbolic": {"model": "model_symbolic.onnx"} | {"reason"}}
A refused test has its model only. bfloat16 is stored as two raw bytes (|V2).
The data are deterministic: onnx seeds its generator before each test.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import sys
import warnings

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import membership
import symbolic

HERE = pathlib.Path(__file__).resolve().parent

# The cases state one relative tolerance (1e-3) for all types, below one unit in
# the last place of bfloat16: a result may be two units off in any type.
EPSILON = {TensorProto.FLOAT16: 2.0 ** -10, TensorProto.BFLOAT16: 2.0 ** -7}


def collect():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return sorted(collect_testcases(None), key=lambda case: case.name)


def toArray(data, value):
    """A case's datum in the type that the model declares, C-contiguous."""
    if isinstance(data, TensorProto):
        data = numpy_helper.to_array(data)
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    return numpy.array(data, dtype=dtype, order="C")


def writeArray(path, array, value):
    if value.type.tensor_type.elem_type == TensorProto.BFLOAT16:
        array = array.view(numpy.uint16).view("|V2")
    numpy.save(path, array, allow_pickle=False)


def writeModel(path, model):
    path.write_bytes(model.SerializeToString(deterministic=True))


def writeData(folder, case, model, record):
    """Writes arrays and the symbolic model of a test that belongs."""
    if len(case.data_sets) != 1:
        raise SystemExit(f"{case.name}: expected 1 data set, got {len(case.data_sets)}")
    inputs, outputs = case.data_sets[0]
    constants = membership.findConstants(model)
    feeds, results = {}, []
    for index, (value, data) in enumerate(zip(model.graph.input, inputs, strict=True)):
        feeds[value.name] = toArray(data, value)
        name = f"in_{index}.npy"
        writeArray(folder / name, feeds[value.name], value)
        record["inputs"].append(
            {"name": value.name, "file": name, "const": value.name in constants})
    for index, (value, data) in enumerate(zip(model.graph.output, outputs, strict=True)):
        results.append(toArray(data, value))
        name = f"out_{index}.npy"
        writeArray(folder / name, results[-1], value)
        rtol = max(case.rtol, 2 * EPSILON.get(value.type.tensor_type.elem_type, 0))
        record["outputs"].append(
            {"name": value.name, "file": name, "rtol": rtol, "atol": case.atol})
    try:
        writeModel(folder / "model_symbolic.onnx",
                   symbolic.makeSymbolic(model, feeds, results, constants))
        record["symbolic"] = {"model": "model_symbolic.onnx"}
    except symbolic.NotSymbolic as reason:
        record["symbolic"] = {"reason": str(reason)}


def writeCase(folder, case):
    """Writes one test and gives its line of expected.txt."""
    folder.mkdir()
    record = {"name": case.name, "expect": "pass", "reason": "",
              "operators": sorted({node.op_type for node in case.model.graph.node}),
              "model": "model.onnx", "inputs": [], "outputs": [], "symbolic": {"reason": "refused"}}
    try:
        model = membership.prepare(case.model)
        writeData(folder, case, model, record)
    except membership.Refused as reason:
        model = case.model
        record.update(expect="refused", reason=str(reason))
    writeModel(folder / "model.onnx", model)
    (folder / "case.json").write_text(json.dumps(record, indent=1) + "\n")
    if record["expect"] == "refused":
        return f"{case.name} refused: {record['reason']}"
    if "reason" in record["symbolic"]:
        return f"{case.name} pass not-symbolic: {record['symbolic']['reason']}"
    return f"{case.name} pass"


def stampText():
    """Changes whenever what is written may change."""
    digest = hashlib.sha256(f"{onnx.__version__} {numpy.__version__}".encode())
    for path in sorted(HERE.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest() + "\n"


def generate(out):
    """Fills `out`, unless it already holds what this version would write."""
    stamp = out / "stamp"
    if stamp.exists() and stamp.read_text() == stampText():
        return
    if out.exists() and any(out.iterdir()) and not stamp.exists():
        raise SystemExit(f"{out} exists and was not written by this program; "
                         "name another folder")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    stamp.write_text("incomplete\n")
    lines = [writeCase(out / case.name, case) for case in collect()]
    (out / "expected.txt").write_text("\n".join(lines) + "\n")
    stamp.write_text(stampText())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--update", action="store_true",
                        help="replace the expected.txt beside this program")
    arguments = parser.parse_args()
    generate(arguments.out)
    if arguments.update:
        shutil.copyfile(arguments.out / "expected.txt", HERE / "expected.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
