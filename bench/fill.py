#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/fill.py --caches DIR --rows parts --jobs 8       # then:
  bench/compare.py --caches DIR --rows parts --peers eager,compile,autotune,traffic,fusec

Fills the caches that compare.py --caches finds: runs several of it side by side, on one
GPU, and throws their times away. What compilers chose by measuring, while others had the
GPU too, is taken out of the caches again, so that the run that counts chooses anew; what
they compiled stays. XLA keeps choices in what it compiles and is left to that run.

Options that are not listed go to compare.py."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import options as command
from workloads import WORKLOADS

DONE, FAILED = 0, 1
EPILOGUE = "exit status: 0 done, 1 a run side by side failed, 2 usage."
PEERS = "eager,compile,autotune,traffic,triton,fusec"
# Of PyTorch's compiler, and of Triton where it is asked to keep them.
CHOICES = ("*.best_config", "*.autotune.json")
LINES = 3


def shareOut(names, jobs):
    """Neighbours are of one kind, and take as long: each run has every jobs-th row."""
    return [share for share in (names[job::jobs] for job in range(jobs)) if share]


def forget(caches):
    """How many choices there were."""
    found = [path for pattern in CHOICES for path in caches.rglob(pattern)]
    for path in found:
        path.unlink()
    return len(found)


def fill(names, options, others):
    """Whether every run ended well, or only some row failed in it."""
    with tempfile.TemporaryDirectory(prefix="fusec-fill-") as folder:
        runs = []
        for job, share in enumerate(shareOut(names, options.jobs)):
            log = pathlib.Path(folder, f"{job}.log")
            with log.open("w", encoding="utf-8") as lines:
                runs.append((log, subprocess.Popen(  # pylint: disable=consider-using-with
                    [sys.executable, command.HERE / "compare.py", "--only", ",".join(share),
                     "--caches", options.caches, "--peers", options.peers, "--no-profiles",
                     "--rounds", str(command.LEAST_ROUNDS), "--out", f"{folder}/{job}.json",
                     *others], stdout=lines, stderr=subprocess.STDOUT)))
        isGood = True
        for job, (log, run) in enumerate(runs):
            status = run.wait()
            if status in (command.DONE, command.UNSUPPORTED):
                print(f"run {job + 1} of {len(runs)} done", flush=True)
                continue
            isGood = False
            end = log.read_text("utf-8", errors="replace").splitlines()[-LINES:]
            print(f"run {job + 1} of {len(runs)}: exit status {status}: " + " ".join(end),
                  file=sys.stderr, flush=True)
    return isGood


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    command.addChoice(parser)
    parser.add_argument("--caches", metavar="DIR", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=4, metavar="N",
                        help="runs side by side, whose tensors have to fit the GPU; default: 4")
    parser.add_argument("--peers", metavar="NAME,...", default=PEERS, help=f"default: {PEERS}")
    options, others = parser.parse_known_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs: expected a positive number, got {options.jobs}")
    return parser, options, others


def main(arguments=None):
    parser, options, others = parse(arguments)
    names = command.chooseWorkloads(parser, options)
    options.caches.mkdir(parents=True, exist_ok=True)
    print(f"{len(names)} of {len(WORKLOADS)} rows, {options.jobs} runs side by side", flush=True)
    isGood = fill(names, options, others)
    print(f"{forget(options.caches)} choices taken out of {options.caches}")
    return DONE if isGood else FAILED


if __name__ == "__main__":
    sys.exit(main())
