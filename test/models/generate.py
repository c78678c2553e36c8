# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the real models as cases of the form that test/onnx/generate.py states.

  generate.py OUT

OUT/<model>.<export>/     PyTorch's inputs and output
OUT/<model>.dynbatch.b1/  and .b7: ONNX Runtime's output on other inputs, for
                          batches that the export did not see
An output of a case has "norm" in place of rtol and atol: the bound on
|got - expected| / |expected| over the whole tensor.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import sys

import numpy
import onnx
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
BOUND = 1e-5
BATCHES = (1, 7)


def redraw(array, batch, random):
    """Another array for `batch` rows. Floats are drawn anew; integers are
    indices, so each column takes values that this column already has."""
    shape = (batch, *array.shape[1:])
    if array.dtype.kind == "f":
        return random.standard_normal(shape).astype(array.dtype)
    rows = random.integers(0, array.shape[0], shape)
    return numpy.take_along_axis(array, rows, axis=0)


def isBatched(value):
    dims = value.type.tensor_type.shape.dim
    return len(dims) > 0 and dims[0].HasField("dim_param")


def declaredSizes(value, batch):
    return [dim.dim_value if dim.HasField("dim_value") else batch
            for dim in value.type.tensor_type.shape.dim]


def writeCase(folder, path, feeds, output, outputName):
    folder.mkdir()
    record = {"name": folder.name, "expect": "pass", "reason": "", "operators": [],
              "model": f"../{path.name}", "inputs": [], "outputs": [],
              "symbolic": {"reason": "as exported"}}
    for index, (name, array) in enumerate(feeds.items()):
        numpy.save(folder / f"in_{index}.npy", array)
        record["inputs"].append(
            {"name": name, "file": f"in_{index}.npy", "const": False})
    numpy.save(folder / "out_0.npy", output)
    record["outputs"].append({"name": outputName, "file": "out_0.npy", "norm": BOUND})
    (folder / "case.json").write_text(json.dumps(record, indent=1) + "\n")


def writeModel(out, path):
    graph = onnx.load(path).graph
    data = numpy.load(path.with_name(path.name.split(".")[0] + ".npz"))
    feeds = {value.name: numpy.ascontiguousarray(data[f"arr_{index}"])
             for index, value in enumerate(graph.input)}
    name = graph.output[0].name
    shutil.copyfile(path, out / path.name)
    writeCase(out / path.stem, path, feeds, data["output"], name)
    if not path.stem.endswith(".dynbatch"):
        return
    onnxruntime.set_default_logger_severity(3)
    runtime = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for batch in BATCHES:
        random = numpy.random.default_rng(batch)
        other = {value.name: redraw(feeds[value.name], batch, random)
                 if isBatched(value) else feeds[value.name] for value in graph.input}
        (output,) = runtime.run([name], other)
        # A Squeeze without axes drops a batch of 1 there, against the declared
        # sizes; here it drops sizes that are statically 1 only.
        output = output.reshape(declaredSizes(graph.output[0], batch))
        writeCase(out / f"{path.stem}.b{batch}", path, other, output, name)


def main(out):
    """Fills `out` once; again only after a change of this file or of a model."""
    digest = hashlib.sha256()
    paths = sorted(HERE.glob("*.onnx"))
    for path in [pathlib.Path(__file__), *paths, *sorted(HERE.glob("*.npz"))]:
        digest.update(path.read_bytes())
    stamp = out / "stamp"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return 0
    if out.exists() and any(out.iterdir()) and not stamp.exists():
        raise SystemExit(f"{out} exists and was not written by this program; "
                         "name another folder")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    stamp.write_text("incomplete")
    for path in paths:
        writeModel(out, path)
    stamp.write_text(digest.hexdigest())
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    sys.exit(main(parser.parse_args().out))
