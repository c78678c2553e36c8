#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/compare.py --fusec build/release/tools/fusec \\
                   --library build/release/runtime/libfusec_rt.so
  bench/compare.py --only 'rope_*,gating_*' --peers eager,compile,triton,fusec
  bench/compare.py --rows grid --rounds 100 --out grid.json
  bench/compare.py --quick --budget-seconds 300
  bench/compare.py --list
  bench/compare.py --report bench/results/nvidia-h200.json

Measures fusec against what else can run the same models on this GPU: one run,
the same tensors, every contender once a round, the second-level cache flushed
before each. Prints a table in Markdown; writes all figures as JSON and a plot as
SVG beside it. README.md states the method.
"""

EPILOGUE = """exit status: 0 done, 1 fusec could not compile or run some workload, 2 usage,
4 no GPU, PyTorch or fusec, 5 a result of fusec is wrong."""

import argparse
import fnmatch
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import peers
import plot
import summary
from workloads import CEILINGS, GROUPS, WORKLOADS

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "release"
DONE, UNSUPPORTED, USAGE, TOOLCHAIN, WRONG = 0, 1, 2, 4, 5
QUICK_ROUNDS, LEAST_ROUNDS = 10, 30


class Parser(argparse.ArgumentParser):
    """Help begins with the examples."""

    def format_help(self):
        return f"{__doc__}\n{super().format_help().split(chr(10) * 2, 1)[1]}"


def parseArguments(arguments):
    parser = Parser(formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOGUE,
                    usage="compare.py [options]; --help lists them")
    parser.add_argument("--only", metavar="PATTERN", help="workloads, shell patterns by comma")
    parser.add_argument("--rows", choices=("table", "grid", "narrow", "prompt", "odd", "exact",
                                           "all"),
                        help="the named workloads, the grids of shapes, layers with few rows, "
                        "with those of a short prompt, with odd numbers of them, in fp32 without "
                        "TF32, or all; default: table, or all with --only")
    parser.add_argument("--peers", default=",".join(peers.CONTENDERS), metavar="NAME,...",
                        help="of " + ", ".join(peers.CONTENDERS) + "; eager is always there")
    parser.add_argument("--skip", default="", metavar="NAME,...", help="contenders to leave out")
    parser.add_argument("--rounds", type=int, default=50, help=f"at least {LEAST_ROUNDS}")
    parser.add_argument("--quick", action="store_true",
                        help=f"{QUICK_ROUNDS} rounds, no autotune: for a look, not for a claim")
    parser.add_argument("--fusec", metavar="PATH", default=shutil.which("fusec"),
                        help="the compiler; default: in PATH, else build/release")
    parser.add_argument("--library", metavar="PATH",
                        help="libfusec_rt.so; default: ../lib or ../runtime of the compiler")
    parser.add_argument("--arch", help="fusec's target; default: this GPU's")
    parser.add_argument("--out", metavar="FILE", type=pathlib.Path,
                        help="default: bench/results/GPU.json")
    parser.add_argument("--update", action="store_true",
                        help="keep the workloads of --out that this run does not measure")
    parser.add_argument("--samples", action="store_true", help="write every round's time too")
    parser.add_argument("--budget-seconds", type=float, default=float("inf"), metavar="S",
                        help="begin no workload after this")
    parser.add_argument("--seed", type=int, default=0,
                        help="of weights, inputs and the order of each round")
    parser.add_argument("--verbose", action="store_true", help="tracebacks of failures")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    parser.add_argument("--report", metavar="FILE", type=pathlib.Path,
                        help="measure nothing: table and plot of a former run")
    options = parser.parse_args(arguments)
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds: expected at least {LEAST_ROUNDS}, got {options.rounds}; "
                     "--quick takes fewer")
    options.worker = HERE / "worker.py"
    options.peers = chooseContenders(parser, options)
    options.workloads = chooseWorkloads(parser, options)
    if options.quick:
        options.rounds = QUICK_ROUNDS
    return options


def chooseContenders(parser, options):
    wanted, skipped = options.peers.split(","), set(filter(None, options.skip.split(",")))
    for name in [*wanted, *skipped]:
        if name not in peers.CONTENDERS:
            parser.error(f"expected contenders among {', '.join(peers.CONTENDERS)}, got '{name}'")
    if options.quick:
        skipped.add("autotune")
    wanted = (set(wanted) - skipped) | {"eager"}
    for name, needed in peers.NEEDS.items():
        if name in wanted:
            wanted.add(needed)
    return [name for name in peers.CONTENDERS if name in wanted]


def chooseWorkloads(parser, options):
    rows = options.rows or ("all" if options.only else "table")
    patterns = options.only.split(",") if options.only else ["*"]
    chosen = [w.name for w in WORKLOADS.values() if rows in ("all", w.rows)
              and any(fnmatch.fnmatch(w.name, pattern) for pattern in patterns)]
    if not chosen:
        parser.error(f"--only: no workload is named like '{options.only}'; see --list")
    return chosen


def findFusec(options):
    """None, or what is missing."""
    options.fusec = options.fusec or str(BUILD / "tools" / "fusec")
    if not os.access(options.fusec, os.X_OK):
        return f"{options.fusec}: expected fusec; name it with --fusec"
    folder = pathlib.Path(options.fusec).resolve().parent.parent
    places = [folder / "lib" / "libfusec_rt.so", folder / "runtime" / "libfusec_rt.so"]
    options.library = options.library or next((str(p) for p in places if p.exists()), None)
    if not options.library or not os.path.exists(options.library):
        return (f"{options.library or places[0]}: expected the library; name it with --library")
    return None


class WorkerProcess:
    """A worker and its lines; it is ended where a step takes longer than it may."""

    def __init__(self, options, names, excluded):
        given = {"workloads": names, "excluded": excluded, "peers": options.peers,
                 "rounds": options.rounds, "seed": options.seed, "verbose": options.verbose,
                 "fusec": options.fusec and os.path.abspath(options.fusec),
                 "library": options.library and os.path.abspath(options.library),
                 "arch": options.arch}
        self.caches = tempfile.TemporaryDirectory(prefix="fusec-bench-caches-",
                                                  ignore_cleanup_errors=True)
        environment = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ}
        for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):  # compile times are cold
            environment[name] = os.path.join(self.caches.name, name.lower())
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, options.worker, json.dumps(given)], env=environment, text=True,
            stdout=subprocess.PIPE, start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            with self.process.stdout as lines:
                for line in lines:
                    self.lines.put(json.loads(line))
        finally:  # a line may be cut short by a crash
            self.lines.put(None)

    def next(self, limit):
        """A record; None at the end; TimeoutError after `limit` seconds."""
        try:
            return self.lines.get(timeout=limit)
        except queue.Empty:
            raise TimeoutError from None

    def end(self, patience):
        """Its whole session, compilers included; the exit status."""
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.caches.cleanup()
        return self.process.wait()


class FormerError(ValueError):
    """What --update names cannot be kept."""


class Comparison:
    def __init__(self, options):
        self.options = options
        self.results = {"workloads": {}, "left_out": []}
        self.former = {}  # rows of --out that are kept
        self.started = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        self.excluded = {}  # workload -> contender -> why it is not tried again

    def run(self):
        """Restarts the worker after a crash, without what crashed it."""
        remaining = list(self.options.workloads)
        while remaining:
            worker = WorkerProcess(self.options, remaining, self.excluded)
            why = "interrupted"
            try:
                at, why = self.follow(worker, remaining)
            finally:
                status = worker.end(0 if why else 10)
            if not remaining or at is None:
                break
            if at == ["", "start"] or at == ["", ""]:
                print("the worker did not start: are there PyTorch and a GPU?", file=sys.stderr)
                return False
            why = why or f"crashed, exit status {status}"
            print(f"  {at[1]}: {why}", file=sys.stderr, flush=True)
            name = remaining[0]
            if at[1] in peers.CONTENDERS and at[1] != "eager":
                self.excluded.setdefault(name, {})[at[1]] = why
            else:
                self.store(name, {"failure": f"{at[1]}: {why}", "contenders": {},
                                  "dtype": WORKLOADS[name].dtype}, {})
                remaining.pop(0)
        self.results["left_out"] = remaining
        return True

    def follow(self, worker, remaining):
        """Until the worker ends: (its last step, why it was ended)."""
        at, limit = ["", ""], 180
        while True:
            try:
                record = worker.next(limit)
            except TimeoutError:
                return at, f"hung: nothing for {limit} s"
            if record is None:
                return at, None
            if "at" in record:
                at, limit = record["at"], record["limit_s"]
            elif "machine" in record:
                self.results["machine"] = record["machine"]
                self.readFormer()
            else:
                remaining.remove(record["workload"])
                self.store(record["workload"], record["row"], record["samples"])
            if at[1] == "build" and time.time() > self.options.deadline:
                return None, "no time"

    def store(self, name, row, samples):
        row.update(floor_ms=WORKLOADS[name].floorMs(self.ceilings()), run=self.started)
        summary.compareWorkload(row, samples)
        if self.options.samples:
            row["samples_ms"] = {n: [round(t, 5) for t in times] for n, times in samples.items()}
        self.results["workloads"][name] = row
        self.write()

    def ceilings(self):
        machine = self.results["machine"]
        return CEILINGS.get(machine["device"]) or machine["ceilings"]

    def path(self):
        device = re.sub(r"[^a-z0-9]+", "-", self.results["machine"]["device"].lower()).strip("-")
        return self.options.out or HERE / "results" / f"{device}.json"

    def readFormer(self):
        """Before anything is measured: one file holds what one kind of device did."""
        path, device = self.path(), self.results["machine"]["device"]
        if not self.options.update or not path.exists():
            return
        try:
            former = json.loads(path.read_text())
            self.former, formerDevice = former["workloads"], former["machine"]["device"]
        except (ValueError, KeyError, TypeError) as failure:
            raise FormerError(f"{path}: expected results of a former run: {failure}") from failure
        if formerDevice != device:
            raise FormerError(f"{path}: --update: expected results of {device}, got those of "
                              f"{formerDevice}")

    def rows(self):
        """Of this run and of former ones."""
        rows = {**self.former, **self.results["workloads"]}
        return {name: rows[name] for name in dict.fromkeys([*WORKLOADS, *rows]) if name in rows}

    def write(self):
        rows = roundNumbers(self.rows())
        results = roundNumbers({
            **self.results, "workloads": rows, "groups": summary.summariseGroups(rows, GROUPS),
            "method": {"rounds": self.options.rounds, "seed": self.options.seed,
                       "floor": self.ceilings()}})
        path = self.path()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")  # a run that is ended leaves a whole file
        part.write_text(formatJson(results))
        part.replace(path)
        plot.write(results, path.with_suffix(".svg"))
        return results


def roundNumbers(value):
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: roundNumbers(entry) for key, entry in value.items()}
    return [roundNumbers(entry) for entry in value] if isinstance(value, list) else value


def formatJson(value):
    """An entry a line, but lists of numbers on one."""
    text = json.dumps(value, indent=1)
    return re.sub(r"\[[-+.\de,\s]+\]", lambda found: "[" + " ".join(found[0][1:-1].split()) + "]",
                  text) + "\n"


def printSummary(rows, groups):
    print(summary.formatTable(rows))
    if groups:
        print("\n" + summary.formatGroups(groups))


def judge(rows):
    fusec = [row["contenders"].get("fusec", {}) for row in rows.values()]
    if any(entry.get("wrong") for entry in fusec):
        return WRONG
    failed = any("failure" in row for row in rows.values()) or any("failure" in e for e in fusec)
    return UNSUPPORTED if failed else DONE


def report(path):
    results = json.loads(path.read_text())
    plot.write(results, path.with_suffix(".svg"))
    rows = results["workloads"]
    printSummary(rows, summary.summariseGroups(rows, GROUPS))
    return judge(rows)


def main(arguments=None):
    options = parseArguments(arguments)
    if options.list:
        for name in options.workloads:
            print(f"{name:44} {WORKLOADS[name].dtype}")
        return DONE
    if options.report:
        return report(options.report)
    missing = findFusec(options) if "fusec" in options.peers else None
    if missing:
        print(missing, file=sys.stderr)
        return TOOLCHAIN
    options.deadline = time.time() + min(options.budget_seconds, 1e9)
    comparison = Comparison(options)
    try:
        if not comparison.run():
            return TOOLCHAIN
    except FormerError as failure:
        print(failure, file=sys.stderr)
        return USAGE
    if not comparison.results["workloads"]:
        print("no workload was measured", file=sys.stderr)
        return TOOLCHAIN
    groups = comparison.write()["groups"]
    machine = comparison.results["machine"]
    print(f"{machine['device']}, PyTorch {machine['torch']}; ms, medians of {options.rounds} "
          f"rounds; an empty region reads {machine['empty_ms']:.4f}\n")
    printSummary(comparison.results["workloads"], groups)
    if comparison.results["left_out"]:
        print("\nleft out, no time: " + ", ".join(comparison.results["left_out"]))
    print(f"\nwrote {comparison.path()}", file=sys.stderr)
    return judge(comparison.results["workloads"])


if __name__ == "__main__":
    sys.exit(main())
