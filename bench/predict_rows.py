#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/predict_rows.py bench/results/nvidia-h200-parts.json
  bench/predict_rows.py bench/results/nvidia-h200-parts.json --only '*gather*' --all

What the cost model says of the rows of results, beside the times that were measured.
Of each row the kernels' times are added up, less what a kernel is placed early behind
another one; of the measured time, the shorter of a run's and of a graph's, what an empty
launch takes is left out. Prints the rows that are not predicted within 15%, or --all, and
how many are. Needs no GPU; models are exported anew, or taken from --caches."""

import argparse
import fnmatch
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

import options as command  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

EPILOGUE = """exit status: 0 done, 1 fusec could not explain some row, 2 usage, 3 a file
cannot be read."""
DONE, REFUSED, UNREADABLE = 0, 1, 3
MOST_OFF = 0.15
OVERLAP_MICROSECONDS = 1.2  # rates.overlap of compiler/schedule/devices


def explain(fusec, name, caches):
    """Microseconds of a run, as the model has them, and its kernels."""
    import accept  # needs PyTorch, which a wrong argument does not
    from peers import own
    workload = WORKLOADS[name]
    with tempfile.TemporaryDirectory(prefix="fusec-predict-") as folder:
        setting = accept.makeSetting(workload, *accept.buildEmpty(workload), folder, caches)
        model, _ = own.exportOnnx(setting)
        said = subprocess.run([fusec, "explain", model, "--json", *own.getOptions(setting)],
                              capture_output=True, text=True, check=True)
    kernels = json.loads(said.stdout)["result"]["kernels"]
    times = [kernel["schedules"][0]["predicted"]["us"] for kernel in kernels]
    return sum(times) - OVERLAP_MICROSECONDS * (len(times) - 1), len(times)


def getMeasured(row):
    """Of the shorter way to run it, without what an empty launch takes; None: neither ran."""
    times = [row["contenders"][name]["median_ms"] for name in ("fusec", "fusec_graph")
             if "median_ms" in row["contenders"].get(name, {})]
    return 1e3 * (min(times) - row["empty_ms"]) if times else None


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--fusec", metavar="PATH", default=shutil.which("fusec") or
                        command.BUILD / "tools" / "fusec",
                        help="default: in PATH, else build/release")
    parser.add_argument("--only", metavar="PATTERN", default="*",
                        help="workloads, shell patterns by comma")
    parser.add_argument("--caches", metavar="DIR", type=pathlib.Path,
                        help="keep exports of models without weights")
    parser.add_argument("--all", action="store_true", help="print all rows")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    try:
        rows = json.loads(options.results.read_text("utf-8"))["workloads"]
    except (OSError, ValueError, KeyError) as failure:
        print(f"{options.results}: expected results of bench/compare.py: {failure!r}",
              file=sys.stderr)
        return UNREADABLE
    print("| row | kernels | predicted us | measured us | ratio |\n|---|--:|--:|--:|--:|")
    near = count = refused = 0
    for name, row in rows.items():
        measured = getMeasured(row)
        if not measured or name not in WORKLOADS or not any(
                fnmatch.fnmatch(name, pattern) for pattern in options.only.split(",")):
            continue
        try:
            predicted, kernels = explain(options.fusec, name, options.caches)
        except subprocess.CalledProcessError as failure:
            print(f"{name}: {' '.join(failure.stderr.split())[:400]}", file=sys.stderr)
            refused += 1
            continue
        isNear = abs(predicted / measured - 1) <= MOST_OFF
        near, count = near + isNear, count + 1
        if options.all or not isNear:
            print(f"| {name} | {kernels} | {predicted:.2f} | {measured:.2f} | "
                  f"{predicted / measured:.2f} |", flush=True)
    print(f"\n{near} of {count} rows are predicted within {MOST_OFF:.0%}")
    return REFUSED if refused else DONE


if __name__ == "__main__":
    sys.exit(main())
