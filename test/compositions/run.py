# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models in numbers, on all cores: no internal error, no difference.

  run.py COUNT [FIRST] [--arch=T,T] [--host] [--jobs=N] [--build=DIR] [--keep=DIR]

Each of the models that generate.py gives for the seeds from FIRST on is
evaluated at every stage of each target, and its kernels are printed, by
fusec-node-suite; --host compiles the kernels for the CPU and runs them, too,
by fusec-host-suite, which takes seconds a model. Failing models stay in the
folder KEEP, with what was said of them. 20,000 models take a quarter of an hour
of one core:

  run.py 20000 1000000
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import generate

CHUNK = 50  # models a process


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=1000000)
    parser.add_argument("--arch", default="sm_90a,sm_80")
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", type=pathlib.Path, default=root / "build/release")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("failed-compositions"))
    return parser.parse_args()


def runSuite(command, names):
    """What went wrong, by case: a crash is found by running each alone."""
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    messages = {line["test"]: line["message"] for line in lines if line["result"] != "pass"}
    if done.returncode in (0, 1) and (done.returncode == 0) == (not messages):
        return messages
    text = (done.stderr or done.stdout).strip()[-2000:]
    if len(names) == 1:
        return {names[0]: f"exit status {done.returncode}: {text}"}
    for name in names:
        messages.update(runSuite([*command, f"--filter=^{name}$"], [name]))
    return messages or {names[0]: f"exit status {done.returncode} of all: {text}"}


def runChunk(options, first, count):
    """The number of models, and what failed: (case, target, message)."""
    failures = []
    with tempfile.TemporaryDirectory(prefix="compositions-") as folder:
        cases = pathlib.Path(folder) / "cases"
        names = generate.generate(cases, first, count)
        suites = [("fusec-node-suite", "onnx", ["--device=reference"])]
        if options.host:
            suites.append(("fusec-host-suite", "host",
                           [f"--work={folder}/kernels", "--jobs=1"]))
        for target in options.arch.split(","):
            for suite, area, arguments in suites:
                command = [options.build / "test" / area / suite, cases, "--mode=static",
                           f"--arch={target}", *arguments]
                for name, message in runSuite(command, names).items():
                    failures.append((name, f"{suite} --arch={target}", message))
        for name, by, message in failures:
            kept = options.keep / name
            if not kept.exists():
                shutil.copytree(cases / name, kept)
            with open(kept / "message.txt", "a") as file:
                file.write(f"{by}: {message}\n")
    return len(names), failures


def main():
    options = parse()
    options.keep.mkdir(parents=True, exist_ok=True)
    chunks = [(first, min(CHUNK, options.first + options.count - first))
              for first in range(options.first, options.first + options.count, CHUNK)]
    models = failed = finished = 0
    start = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, context) as pool:
        for future in concurrent.futures.as_completed(
                [pool.submit(runChunk, options, *chunk) for chunk in chunks]):
            count, failures = future.result()
            models += count
            finished += 1
            failed += len({name for name, _, _ in failures})
            for name, by, message in failures:
                print(f"{name}, {by}: {message.splitlines()[0]}", flush=True)
            if sys.stdout.isatty() or finished % 10 == 0 or finished == len(chunks):
                rate = models / (time.monotonic() - start)
                print(f"{finished} of {len(chunks)} chunks: {models} models, {failed} failed, "
                      f"{rate:.1f} a second", flush=True)
    last = options.first + options.count - 1
    print(f"{models} models of the seeds {options.first} to {last}, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
