# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `fusec bench --json` prints, on a fake driver and a fake NVML."""

import json
import os

from checking import FAKE_DRIVER, error_kind, expect, parse, run


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
    # A size for which there is no memory leaves those before it.
    told = run(4, "bench", "two.fusec", *short, "--dim", "n=3,1000000,5")
    error_kind(told, "toolchain")
    expect([row["dims"] for row in told["result"]["sweep"]] == [{"n": 3}], f"sweep: {told}")
    for wrong in (("--dim", "n=1,1"), ("--dim", "n=1,2", "--dim", "n=3"), ("--dim", "n=1,"),
                  ("--dim", "n=1,2", "--dim", "n=3,4"), ("--dim", "typo=1,2"), ("--dim", "n=1,-2"),
                  ("--dim", "n=1,2", "--profile"), ("--dim", "n=1,2", "--against=two.fusec"),
                  ("--dim", "n=1,2", "--input", "x=x.npy")):
        error_kind(run(2, "bench", "two.fusec", *short, *wrong), "usage")
    with open("sweep.json", "w") as file:
        json.dump({"command": "bench", "result": told["result"]}, file)
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
    steps = told["result"]["against"]["steps"]
    expect(any(step["notable"] and not step["step_before"] for step in steps),
           f"against: expected a step that only the slower one has: {steps}")
    told = run(0, "bench", "named.fusec", *given, "--against=slow.fusec", env=clock)
    expect(told["result"]["against"]["steps"] is None, "against: steps of a faster run")
    before = run(0, *short, "--profile")
    told = run(5, *short, scale(before, "profiled.json", 1 / 1.05))
    steps = told["result"]["against"]["steps"]
    expect(steps and all(step["step"] == step["step_before"] for step in steps),
           f"against: steps of a file {steps}")
    expect(run(0, *short, "--profile", "--against=same.json")["result"]["against"]["steps"]
           is None, "against: steps without a profile in the file")

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
