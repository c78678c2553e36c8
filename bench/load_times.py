#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast a bundle loads from the page cache, with and without the hashes of its weights.

    bench/large_tables.py model.onnx --gigabytes=12
    build/release/tools/fusec compile model.onnx -o model.fusec
    bench/load_times.py build/release/runtime/libfusec_rt.so model.fusec

The file is read once before, and what waits to be written to disks is. Each setting
loads the model and frees it, in turn. A first load does not count, and stays: the
driver's context, which takes longer to make than gigabytes to load, goes with the last
model of a process. Python alone."""

import argparse
import os
import pathlib
import statistics
import time

import fusec_runtime

SETTINGS = ("never", "always")
BLOCK = 64 << 20


def readOnce(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(BLOCK):
            pass


def measure(library, options):
    """setting -> seconds of each load."""
    def load(setting):
        return library.load(options.bundle, driver=options.driver, hashWeights=setting)

    def measureOnce(setting):
        start = time.perf_counter()
        model = load(setting)
        took = time.perf_counter() - start
        del model
        return took

    first = load("never")
    times = {setting: [] for setting in SETTINGS}
    for _ in range(options.times):
        for setting, taken in times.items():
            taken.append(measureOnce(setting))
    del first
    return times


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libfusec_rt.so")
    parser.add_argument("bundle", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=5, help="loads of each setting")
    parser.add_argument("--driver", help="libcuda.so; default: the system's")
    options = parser.parse_args(arguments)
    if options.times < 1:
        parser.error(f"--times: expected at least 1, got {options.times}")
    try:
        library = fusec_runtime.Library(options.library)
        readOnce(options.bundle)
        os.sync()
        times = measure(library, options)
    except (OSError, RuntimeError) as failure:
        raise SystemExit(str(failure)) from failure
    size = options.bundle.stat().st_size / 1e9
    print("| hashes of weights | fastest s | median s | GB/s, fastest |\n|---|---:|---:|---:|")
    for setting, taken in times.items():
        print(f"| {setting} | {min(taken):.3f} | {statistics.median(taken):.3f} | "
              f"{size / min(taken):.1f} |")


if __name__ == "__main__":
    main()
