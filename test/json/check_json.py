# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_json.py FUSEC FAKE_DRIVER SOURCE: every command with --json, on good
input and bad, prints one JSON object that docs/json-schema.json allows, and
nothing that the schema does not know. A fake driver stands in for a GPU; its
kernels do nothing."""

import os
import re
import subprocess
import sys
import tempfile

import jsonschema

from check_bench import against, bench, served, sweep
from checking import (FAKE_DRIVER, MODELS, NAME, RAW, SCHEMA, SOURCE, TOOL, error_kind, expect,
                      failures, parse, run, strict, write_models)


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
