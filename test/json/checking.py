# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs fusec with --json and holds what it prints against the schema: what the
checks of single commands share. The program's arguments are check_json.py's."""

import json
import os
import subprocess
import sys

import jsonschema
import numpy
import onnx.parser

TOOL, FAKE_DRIVER, SOURCE = sys.argv[1:]
MODELS = os.path.join(SOURCE, "test", "models")
LIMIT_S = 120
failures = []

# A quote, a backslash, bytes that are no UTF-8, and what clears a terminal.
RAW = b'"\\\x1b[2J\n\xff\xc3(\x01\xed\xa0\x80'
PLACE = b"N" * len(RAW)

# Models in ONNX's own text form.
TEXTS = {
    "two": """<ir_version: 8, opset_import: ["" : 17]>
two (float[n,64] x, float[64,48] a, float[48,640] b) => (float[n,48] y, float[n,640] z) {
  y = MatMul(x, a)
  s = Softmax(y)
  z = MatMul(s, b)
}""",
    "named": """<ir_version: 8, opset_import: ["" : 17]>
named (float[batch,8] x, float[other,8] z) => (float[batch,8] y) {
  [PLACE] sum = Add(x, z)
  [last] y = Mul(sum, z)
}""",
    "bad": """<ir_version: 8, opset_import: ["" : 17]>
bad (float[4,8] x) => (float[4,8] y) {
  [PLACE] t = Frobnicate(x)
  [second] y = Unheard(t)
}""",
    "outer": """<ir_version: 8, opset_import: ["" : 17]>
outer (float[a,k] x, float[k,b] y) => (float[a,b] z) {
  t = MatMul(x, y)
  z = Relu(t)
}""",
    "nothing": """<ir_version: 8, opset_import: ["" : 17]>
nothing (float[n,8] x) => (float[n,8] y) {
  y = Exp(x)
}""",
}


def strict(schema):
    """The schema, but that objects have no fields beside those it lists."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: strict(value) for key, value in schema.items()}
    if "object" in str(schema.get("type")) and "properties" in schema:
        result.setdefault("additionalProperties", False)
    return result


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key twice among {keys}")
    return dict(pairs)


def parse(data):
    return json.loads(data.decode("utf-8"), parse_constant=refuse_constant,
                      object_pairs_hook=unique)


with open(os.path.join(SOURCE, "docs", "json-schema.json")) as file:
    SCHEMA = json.load(file)
jsonschema.Draft202012Validator.check_schema(SCHEMA)
VALIDATOR = jsonschema.Draft202012Validator(strict(SCHEMA))


def run(status, *arguments, env=None):
    """What fusec printed, or None where that is wrong; `status` is what it has
    to exit with."""
    # What is freed is overwritten (glibc), so that nothing printed can refer to it.
    given = {**os.environ, "FUSEC_DRIVER": FAKE_DRIVER, "FUSEC_CUPTI": "none.so",
             "FUSEC_NVML": "none.so", "MALLOC_PERTURB_": "165", **(env or {})}
    done = subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=LIMIT_S, env=given)

    def fail(text):
        failures.append(f"fusec {' '.join(map(str, arguments))}: {text}")

    if done.returncode != status:
        fail(f"expected status {status}, got {done.returncode}: "
             f"{done.stdout[-600:]} {done.stderr.decode(errors='replace')}")
        return None
    if b"error:" in done.stderr or b"warning:" in done.stderr:
        fail(f"expected progress alone on stderr, got {done.stderr}")
    try:
        told = parse(done.stdout)
        VALIDATOR.validate(told)
    except (ValueError, jsonschema.ValidationError) as error:
        fail(error)
        return None
    if told.get("error", {"exit_code": 0})["exit_code"] != status:
        fail(f"expected exit_code {status}, got {told.get('error')}")
    if status == 0 and "result" not in told:
        fail("expected a result")
    if told["command"] != (arguments[0] if arguments[0] != "--json" else None):
        fail(f"got command {told['command']}")
    return told


def expect(condition, text):
    if not condition:
        failures.append(text)


def error_kind(told, kind):
    expect(told and told["error"]["kind"] == kind,
           f"expected an error of kind '{kind}', got {told and told['error']}")


def write_models():
    for name, text in TEXTS.items():
        model = onnx.parser.parse_model(text.replace("PLACE", PLACE.decode()))
        with open(name + ".onnx", "wb") as file:
            file.write(model.SerializeToString().replace(PLACE, RAW))
    with open("garbage.onnx", "wb") as file:
        file.write(b"this is no model")
    numpy.savez("data.npz", x=numpy.ones((4, 8), "f"), z=numpy.ones((4, 8), "f"),
                y=numpy.full((4, 8), 2, "f"))
    numpy.savez("wrong.npz", x=numpy.ones((4, 8), "f"), z=numpy.ones((4, 8), "f"),
                y=numpy.full((4, 8), numpy.nan, "f"))
    numpy.save("x.npy", numpy.full((4, 8), 1000, "f"))


NAME = RAW.decode("utf-8", errors="replace")
