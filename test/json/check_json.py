# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_json.py FUSEC FAKE_DRIVER SOURCE: every command with --json, on good
input and bad, prints one JSON object that docs/json-schema.json allows, and
nothing that the schema does not know. A fake driver stands in for a GPU; its
kernels do nothing."""

import json
import os
import re
import subprocess
import sys
import tempfile

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
    given = {**os.environ, "FUSEC_DRIVER": FAKE_DRIVER, "FUSEC_CUPTI": "none.so",
             "FUSEC_NVML": "none.so", **(env or {})}
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


def check():
    told = run(0, "check", "named.onnx", "--json")
    expect(told and told["result"] == {"supported": True}, "check: expected a supported model")
    expect(told and len(told["warnings"]) == 1, "check: expected one warning")
    told = run(1, "check", "bad.onnx", "--json")
    error_kind(told, "unsupported")
    expect(told and told["result"] == {"supported": False}, "check: expected no support")
    expect(told and len(told["error"]["problems"]) == 2, "check: expected two problems")
    error_kind(run(3, "check", "garbage.onnx", "--json"), "malformed")
    error_kind(run(3, "check", "none.onnx", "--json"), "unreadable")
    error_kind(run(2, "check", "named.onnx", "--dim", "nobody=1", "--json"), "usage")


def explain():
    told = run(0, "explain", "named.onnx", "--json")
    nodes = {node for kernel in told["result"]["kernels"] for node in kernel["nodes"]}
    expect(len(nodes) == 2 and "last" in nodes, f"explain: nodes {nodes}")
    run(0, "explain", "two.onnx", "--json", "--dim", "n=64")
    told = run(0, "explain", os.path.join(MODELS, "lora_mlp_seed.dynbatch.onnx"), "--json")
    expect(told and told["result"]["updates"], "explain: expected low-rank updates")
    for model in sorted(os.listdir(MODELS)):
        if model.endswith(".onnx"):
            run(0, "explain", os.path.join(MODELS, model), "--json", "--arch=sm_80")
    error_kind(run(2, "explain", "two.onnx", "--json", "--arch=sm_1"), "usage")
    error_kind(run(1, "explain", "bad.onnx", "--json"), "unsupported")


def compile_models():
    told = run(0, "compile", "two.onnx", "--json", "--arch=sm_90a,ptx", "-o", "two.fusec")
    expect(told and os.path.getsize("two.fusec") == told["result"]["bytes"], "compile: bytes")
    told = run(0, "compile", "two.onnx", "--json", "--arch=sm_90a,ptx", "-o", "two.fusec", "-q")
    expect(told and told["result"]["from_cache"] == len(told["result"]["kernels"]),
           "compile: expected every kernel from the cache")
    run(0, "compile", "named.onnx", "--json", "--arch=sm_90a", "-o", "named.fusec")
    for emit in ("tensor", "fused", "planned", "cuda", "ptx"):
        run(0, "compile", "two.onnx", "--json", f"--emit={emit}", "-o", "text")
        error_kind(run(2, "compile", "two.onnx", "--json", f"--emit={emit}"), "usage")
    error_kind(run(2, "compile", "two.onnx", "--json", "-o", "-"), "usage")
    error_kind(run(4, "compile", "two.onnx", "--json", "--no-cache", "--nvrtc=none.so", "-o",
                   "none.fusec"), "toolchain")
    error_kind(run(3, "compile", "two.onnx", "--json", "-o", "none/two.fusec"), "unreadable")
    error_kind(run(3, "compile", "two.onnx", "--json", "--tuning=none.json"), "unreadable")
    error_kind(run(3, "compile", "two.onnx", "--json", "--tuning=two.onnx"), "malformed")
    error_kind(run(1, "compile", "bad.onnx", "--json"), "unsupported")


def inspect():
    run(0, "inspect", "two.fusec", "--json")
    told = run(0, "inspect", "named.fusec", "--json", "--images=images")
    step = told["result"]["manifest"]["plans"][0]["steps"][0]
    expect("last" in step["sources"], f"inspect: sources {step['sources']}")
    error_kind(run(3, "inspect", "two.onnx", "--json"), "malformed")
    error_kind(run(3, "inspect", "none.fusec", "--json"), "unreadable")


def verify():
    given = ("verify", "named.onnx", "--json", "--device=reference", "--data")
    told = run(0, *given, "data.npz")
    expect(told and told["result"]["passed"], "verify: expected it to pass")
    told = run(5, *given, "wrong.npz")
    error_kind(told, "verification")
    expect(told and not told["result"]["passed"], "verify: expected it to fail")
    # Kernels of the fake driver write nothing, and outputs were poisoned.
    told = run(5, "verify", "two.onnx", "--json", "--dim", "n=4")
    expect(told and [check["got"] for check in told["result"]["comparisons"]] == ["gpu"] * 2,
           "verify: expected two comparisons of the GPU")
    run(5, "verify", "named.onnx", "--json", "--data", "data.npz", "--every-tensor")
    error_kind(run(4, "verify", "two.onnx", "--json", env={"FUSEC_DRIVER": "none.so"}),
               "toolchain")
    error_kind(run(2, "verify", "two.onnx", "--json"), "usage")
    error_kind(run(2, "verify", "two.onnx", "--json", "--tolerance=-1"), "usage")


def run_models():
    told = run(0, "run", "named.onnx", "--json", "--device=reference", "--input", "x=x.npy",
               "--input", "z=x.npy")
    expect(told and told["result"]["outputs"][0]["min"] == 2e6, f"run: outputs {told}")
    told = run(0, "run", "nothing.onnx", "--json", "--device=reference", "--input", "x.npy")
    expect(told and told["result"]["outputs"][0]["max"] is None, "run: expected no number")
    run(0, "run", "named.fusec", "--json", "--input", "x=x.npy", "--input", "z=x.npy",
        "--output", "y.npy")
    error_kind(run(3, "run", "named.fusec", "--json"), "input")
    error_kind(run(2, "run", "named.fusec", "--json", "--input", "y=x.npy"), "usage")


def bench():
    short = ("--json", "--no-flush", "--runs=7", "--warm-up=1")
    told = run(0, "bench", "two.fusec", *short, "--dim", "n=64")
    result = told["result"]
    expect(len(result["device_ms"]["samples"]) == len(result["host_ms"]["samples"]) == 7 ==
           result["runs"], "bench: expected 7 samples")
    expect(result["inputs"][0] == {"name": "x", "dtype": "f32", "sizes": [64, 64]},
           f"bench: inputs {result['inputs']}")
    expect("none.so" in result["clocks"]["reason"], f"bench: clocks {result['clocks']}")
    nvml = {"FUSEC_NVML": os.path.join(os.path.dirname(FAKE_DRIVER), "libfusec_fake_nvml.so"),
            "FUSEC_FAKE_NVML": "power reasons 4 processes 3"}
    told = run(0, "bench", "two.fusec", *short, "--dim", "n=64", env=nvml)
    clocks = told["result"]["clocks"]
    expect(clocks["sm_mhz"]["max"] == 1980 and clocks["power_w"] is None and
           clocks["held_down_by"] == [{"reason": "power cap", "share": 1}] and
           clocks["other_processes"] == 2, f"bench: clocks {clocks}")
    run(0, "bench", "named.onnx", *short, "--input", "x=x.npy", "--input", "z=x.npy",
        "--graph=on")
    told = run(0, "bench", "two.fusec", *short, "--dim", "n=64", "--profile=trace.json")
    expect(told and len(told["result"]["profile"]["steps"]) == result["launches"],
           f"bench: profile {told}")
    with open("trace.json", "rb") as file:
        parse(file.read())
    with open("profile.json", "w", encoding="utf-8") as file:
        json.dump(told, file)
    explained = run(0, "explain", "two.onnx", "--json", "--measured=profile.json")
    times = [kernel["measured"]["us"] for kernel in explained["result"]["kernels"]]
    expect(times == [step["median_us"] for step in told["result"]["profile"]["steps"]],
           f"explain: measured {times}")
    error_kind(run(2, "explain", "named.onnx", "--json", "--measured=profile.json"), "usage")
    error_kind(run(3, "explain", "two.onnx", "--json", "--measured=two.onnx"), "malformed")
    error_kind(run(3, "explain", "two.onnx", "--json", "--measured=none.json"), "unreadable")
    error_kind(run(2, "bench", "two.fusec", *short, "--profile-by=events"), "usage")
    error_kind(run(2, "bench", "two.fusec", *short), "usage")
    error_kind(run(2, "bench", "two.fusec", *short, "--dim", "n=64", "--runs=0"), "usage")
    error_kind(run(4, "bench", "two.fusec", *short, "--gpu=3"), "toolchain")
    # A device that breaks while it is measured.
    error_kind(run(4, "bench", "two.fusec", *short, "--dim", "n=64", "--graph=off",
                   env={"FUSEC_FAKE_FAIL": "cuLaunchKernelEx 5 700"}), "toolchain")
    with open("two.fusec", "rb") as file:
        damaged = bytearray(file.read())
    damaged[100] ^= 1
    with open("damaged.fusec", "wb") as file:
        file.write(damaged)
    error_kind(run(3, "bench", "damaged.fusec", *short), "malformed")


def served():
    short = ("bench", "two.fusec", "--json", "--no-flush", "--runs=40", "--warm-up=1", "--dim",
             "n=64")
    for option, threads in (("--streams=3", 1), ("--threads=3", 3)):
        load = run(0, *short, option)["result"]["load"]
        expect((load["one"]["streams"], load["one"]["threads"]) == (1, 1), f"load: {load}")
        expect((load["many"]["streams"], load["many"]["threads"]) == (3, threads),
               f"load: {load}")
        expect(all(len(load[kind]["latency_ms"]["samples"]) == load[kind]["runs"] > 1
                   for kind in ("one", "many")), f"load: {load}")
    told = run(0, *short, "--transfers")["result"]["transfers"]
    expect(told["in"]["bytes"] == 4 * (64 * 64 + 64 * 48 + 48 * 640) and
           told["out"]["bytes"] == 64 * (48 + 640) * 4,
           f"transfers: {told}")
    expect(all(len(times["samples"]) == 40 for times in
               (told["with_ms"], told["without_ms"], told["in"]["ms"], told["out"]["ms"])),
           f"transfers: {told}")
    # A thread that fails, and memory that lacks.
    for fault in ("cuLaunchKernelEx 170 700", "cuStreamSynchronize 60 700"):
        error_kind(run(4, *short, "--threads=3", "--graph=off", env={"FUSEC_FAKE_FAIL": fault}),
                   "toolchain")
    error_kind(run(4, *short, "--transfers", env={"FUSEC_FAKE_FAIL": "cuMemAllocHost 1 2"}),
               "toolchain")
    for wrong in (("--streams=2", "--threads=2"), ("--streams=0",), ("--threads=-1",)):
        error_kind(run(2, *short, *wrong), "usage")
    for option in ("--streams=2", "--threads=2", "--transfers"):
        error_kind(run(2, *short[:-1], "n=1,2", option), "usage")


def sweep():
    short = ("--json", "--no-flush", "--runs=7", "--warm-up=1")
    told = run(0, "bench", "two.fusec", *short, "--dim", "n=1,64,7")
    rows = told["result"]["sweep"]
    expect([row["dims"] for row in rows] == [{"n": 1}, {"n": 64}, {"n": 7}], f"sweep: {rows}")
    expect([row["inputs"][0]["sizes"][0] for row in rows] == [1, 64, 7], f"sweep: {rows}")
    # Compiled once, so that the listed sizes stay a named dimension.
    told = run(0, "bench", "outer.onnx", *short, "--dim", "a=2,3", "--dim", "k=8", "--dim",
               "b=4,1")
    expect([row["dims"] for row in told["result"]["sweep"]] ==
           [{"a": a, "b": b} for a in (2, 3) for b in (4, 1)], f"sweep: {told}")
    for wrong in (("--dim", "n=1,1"), ("--dim", "n=1,2", "--dim", "n=3"), ("--dim", "n=1,"),
                  ("--dim", "n=1,2", "--dim", "n=3,4"), ("--dim", "typo=1,2"), ("--dim", "n=1,-2"),
                  ("--dim", "n=1,2", "--profile"), ("--dim", "n=1,2", "--against=two.fusec"),
                  ("--dim", "n=1,2", "--input", "x=x.npy")):
        error_kind(run(2, "bench", "two.fusec", *short, *wrong), "usage")
    with open("sweep.json", "w") as file:
        json.dump(told, file)
    error_kind(run(3, "bench", "two.fusec", *short, "--dim", "n=1", "--against=sweep.json"),
               "malformed")


def scale(before, name, factor, change=None):
    """Writes what bench printed with its times multiplied, and more changed."""
    told = json.loads(json.dumps(before))
    times = told["result"]["device_ms"]
    times["samples"] = [time * factor for time in times["samples"]]
    if change:
        change(told["result"])
    with open(name, "w") as file:
        json.dump(told, file)
    return f"--against={name}"


def against():
    short = ("bench", "two.fusec", "--json", "--no-flush", "--runs=200", "--dim", "n=64")
    before = run(0, *short)
    told = run(0, *short, scale(before, "same.json", 1))
    expect(told and abs(told["result"]["against"]["ratio"] - 1) < 1e-6, f"against: {told}")
    told = run(5, *short, scale(before, "fast.json", 1 / 1.05))
    error_kind(told, "slower")
    expect(told and abs(told["result"]["against"]["ratio"] - 1.05) < 1e-6, "against: ratio")
    run(0, *short, "--against=fast.json", "--tolerance=6")
    run(0, *short, scale(before, "slow.json", 1.05))
    told = run(0, *short, "--against=two.fusec")
    expect(told and told["result"]["against"]["in_turn"], "against: expected rounds in turn")
    run(0, "bench", "two.onnx", *short[2:], "--precision=tf32", "--against=two.fusec")
    # On the fake device with a clock more blocks take longer.
    clock = {"FUSEC_FAKE_CLOCK": "1"}
    run(0, "compile", "named.onnx", "--json", "--arch=sm_90a", "--no-fusion", "-o", "slow.fusec")
    given = ("--json", "--no-flush", "--runs=100", "--input", "x=x.npy", "--input", "z=x.npy")
    told = run(5, "bench", "slow.fusec", *given, "--against=named.fusec", env=clock)
    error_kind(told, "slower")
    expect(told and told["result"]["against"]["in_turn"], "against: expected rounds in turn")
    run(0, "bench", "named.fusec", *given, "--against=slow.fusec", env=clock)

    def device(result):
        result["device"] = "device 0, another"

    def sizes(result):
        result["inputs"][0]["sizes"][0] = 65

    def name(result):
        result["inputs"][0]["name"] = "another"

    def dtype(result):
        result["inputs"][0]["dtype"] = "f33"

    def zero(result):
        result["device_ms"]["samples"][3] = 0

    def no_samples(result):
        del result["device_ms"]["samples"]

    def few(result):
        del result["device_ms"]["samples"][9:]

    for kind, change in (("usage", device), ("usage", sizes), ("usage", name), ("usage", few),
                         ("malformed", dtype), ("malformed", zero), ("malformed", no_samples)):
        status = 2 if kind == "usage" else 3
        error_kind(run(status, *short, scale(before, "changed.json", 1, change)), kind)
    error_kind(run(2, *short[:3], *short[4:], "--against=same.json"), "usage")  # a flushed cache
    error_kind(run(2, *short, "--against=named.fusec"), "usage")
    error_kind(run(2, "bench", "two.fusec", "--json", "--no-flush", "--runs=9", "--dim", "n=64",
                   "--against=same.json"), "usage")
    error_kind(run(3, *short, "--against=none.json"), "unreadable")
    error_kind(run(3, *short, "--against=two.onnx"), "malformed")
    for text in ("[]", "{}", '{"command": "check", "result": {}}', '{"command": "bench"}'):
        with open("other.json", "w") as file:
            file.write(text)
        error_kind(run(3, *short, "--against=other.json"), "malformed")


def tune():
    short = ("tune", "two.onnx", "--json", "--dim", "n=64", "--rounds=1", "--candidates=2", "-q")
    small = {"FUSEC_FAKE_MEMORY": "400000000"}
    told = run(0, *short, "-o", "tuning.json", env=small)
    steps = told["result"]["steps"]
    expect(len(steps) > 1 and all(len(step["candidates"]) == 2 for step in steps),
           f"tune: steps {steps}")
    told = run(0, *short, "--probe=times.csv",
               env={**small, "FUSEC_FAKE_FAIL": "cuLaunchKernelEx 1 2"})
    expect(told and told["result"]["steps"][0]["failure"], "tune: expected a failure")
    told = run(4, *short, "-o", "broken.json",
               env={**small, "FUSEC_FAKE_FAIL": "cuLaunchKernelEx 20 700"})
    expect(told and told["result"]["steps"], "tune: expected what was measured")
    run(0, "tune", "nothing.onnx", "--json", "--dim", "n=64", "-o", "nothing.json", env=small)
    told = run(0, "compile", "two.onnx", "--json", "--tuning=tuning.json", "--arch=sm_80", "-o",
               "tuned.fusec")
    expect(told and "not a target" in str(told["warnings"]), "compile: expected a warning")
    error_kind(run(2, *short), "usage")
    error_kind(run(4, *short, "-o", "t.json", env={"FUSEC_DRIVER": "none.so"}), "toolchain")


def command_lines():
    error_kind(run(2, "--json"), "usage")
    for command in ("compile", "run", "verify", "check", "explain", "inspect", "bench", "tune"):
        told = run(2, command, "--json")
        error_kind(told, "usage")
        error_kind(run(2, command, "some", "--no-such-option", "--json"), "usage")
    # What is behind -- is a file's name.
    done = subprocess.run([TOOL, "check", "--", "--json"], capture_output=True)
    expect(done.returncode == 3 and not done.stdout, "expected --json to be a file's name")
    told = run(3, "check", os.fsdecode(RAW), "--json")
    expect(told and told["model"] == NAME, f"got model {told and told['model']}")
    full = subprocess.run(f"'{TOOL}' check two.onnx --json > /dev/full", shell=True,
                          capture_output=True)
    expect(full.returncode == 3 and b"cannot be written" in full.stderr, f"full: {full}")


def page():
    """The examples of docs/json.md, each below the name of its command."""
    with open(os.path.join(SOURCE, "docs", "json.md")) as text:
        parts = text.read().split("\n## ")
    count = 0
    for part in parts:
        for example in re.findall(r"```json\n(.*?)```", part, re.DOTALL):
            told = parse(example.encode())
            schema = SCHEMA
            if "fusec" not in told:
                name = ("against" if "in_turn" in told else
                        "profile" if "method" in told else "load" if "many" in told else
                        "transfers" if "with_ms" in told else part.split("\n")[0])
                schema = {**SCHEMA["$defs"][name], "$defs": SCHEMA["$defs"]}
            count += 1
            for error in jsonschema.Draft202012Validator(strict(schema)).iter_errors(told):
                failures.append(f"docs/json.md: {error}")
    expect(count >= 11, f"docs/json.md: expected an example of each command, got {count}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["FUSEC_CACHE_DIR"] = os.path.join(folder, "cache")
    write_models()
    for test in (check, explain, compile_models, inspect, verify, run_models, bench,
                 served, sweep, against, tune, command_lines, page):
        try:
            test()
        except (TypeError, KeyError, IndexError) as error:
            failures.append(f"{test.__name__}: {error!r}")
for failure in failures:
    print("FAILED:", failure)
sys.exit(bool(failures))
