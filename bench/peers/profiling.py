# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each kernel of a bundle takes: as `fusec bench --profile` says, and of builds
that have no --profile the names and times of a run's kernels, by torch.profiler."""

import json
import os
import subprocess

import torch
from torch.profiler import ProfilerActivity, profile

import profiles

FLUSH_BYTES = 256 << 20
RUNS, WARM_RUNS = 9, 3
LIMIT_S = 60
FAILURES = (RuntimeError, OSError, ValueError, KeyError, subprocess.TimeoutExpired)


def findCupti():
    """The one that PyTorch has loaded, for fusec to find."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        paths = (line.split()[-1] for line in maps if "libcupti.so" in line)
        return {"FUSEC_CUPTI": path for path in paths}


def ask(command):
    """The JSON object that fusec prints; RuntimeError says why there is none."""
    process = subprocess.run([*map(str, command), "--json"], env={**findCupti(), **os.environ},
                             text=True, check=False, timeout=LIMIT_S, capture_output=True)
    if process.returncode:
        said = " ".join((process.stdout + process.stderr).split())
        raise RuntimeError(f"fusec {command[1]}: exit status {process.returncode}: {said[-300:]}")
    return json.loads(process.stdout)


def profileBundle(fusec, bundle, model, options):
    """`options` are those that `model` was compiled with."""
    report = ask([fusec, "bench", bundle, "--profile", "--quiet", "--seconds=0.5"])
    try:
        explanation = ask([fusec, "explain", model, *options])
    except FAILURES:  # families are not worth the times
        explanation = None
    return profiles.trim(report, explanation)


def shareTimes(ranges):
    """What each takes beyond those before it: a kernel that starts early waits, as
    `fusec bench --profile` counts it, too."""
    times, ended = [], 0
    for start, end in ranges:
        times.append(end - min(max(start, ended), end))
        ended = max(ended, end)
    return times


def profileRuns(run, launches, why):
    """The last `launches` kernels of what a run enqueues."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    for _ in range(WARM_RUNS):
        run()
    names, samples = [], []
    for _ in range(RUNS):
        with profile(activities=[ProfilerActivity.CUDA]) as found:
            flush.zero_()
            torch.cuda.synchronize()
            run()
            torch.cuda.synchronize()
        kernels = [event for event in found.events()
                   if event.device_type == torch.autograd.DeviceType.CUDA
                   and not event.name.startswith(("Memset", "Memcpy"))]
        kernels = sorted(kernels, key=lambda event: event.time_range.start)[-launches:]
        names = [event.name.split("(")[0] for event in kernels]
        samples.append(shareTimes([(event.time_range.start, event.time_range.end)
                                   for event in kernels]))
    whole = [times for times in samples if len(times) == len(names)]
    return profiles.nameOnly(names, zip(*whole), why)


def profileBuild(build, bundle, setting, options, run, launches):
    try:
        return profileBundle(build["fusec"], bundle, setting.onnx[0], options)
    except FAILURES as failure:
        return profileRuns(run, launches, f"{type(failure).__name__}: {failure}")
