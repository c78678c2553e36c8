#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures fusec against what else runs the same models on this GPU; --help has
examples. README.md states the method."""

import json
import pathlib
import re
import sys
import tempfile
import time

import check
import plot
import profiles
import sources
import summary
from options import DONE, TOOLCHAIN, UNSUPPORTED, USAGE, WRONG, findFusec, parseArguments
from process import PROFILE, WorkerProcess
from workloads import CEILINGS, GROUPS, WORKLOADS

HERE = pathlib.Path(__file__).resolve().parent


MUCH_BYTES = 4e9  # of device memory, that --list says


class FormerError(ValueError):
    """What --update names cannot be kept, or --check's be measured again."""


class Comparison:
    def __init__(self, options):
        self.options = options
        self.results = {"workloads": {}, "left_out": []}
        self.former = {}  # rows of --out that are kept
        self.profiles = {}  # build -> workload -> profile; "" is fusec
        self.started = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        self.excluded = {}  # workload -> contender -> why it is not tried again

    def run(self, names=None):
        """Restarts the worker after a crash, without what crashed it."""
        remaining = list(names or self.options.workloads)
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
            if at[1] == PROFILE and not why and status == 0:
                continue  # a process that a profiler was in times no other row
            why = why or f"crashed, exit status {status}"
            print(f"  {at[1]}: {why}", file=sys.stderr, flush=True)
            name = remaining[0]
            if at[1] == PROFILE:
                continue  # its row is stored
            if at[1] in self.options.peers and at[1] != "eager":
                self.excluded.setdefault(name, {})[at[1]] = why
            else:
                self.store(name, {"failure": f"{at[1]}: {why}", "contenders": {},
                                  "dtype": WORKLOADS[name].dtype}, {})
                remaining.pop(0)
        self.results["left_out"] = remaining
        return True

    def follow(self, worker, remaining):
        """Until the worker ends: (its last step, why it was ended)."""
        at, limit, raised = ["", ""], 180, None
        while True:
            try:
                record = worker.next(limit)
            except TimeoutError:
                return at, f"hung: nothing for {limit} s"
            if record is None:
                return at, raised
            if "raised" in record:
                raised = record["raised"]
            elif "at" in record:
                at, limit = record["at"], record["limit_s"]
            elif "machine" in record:
                self.results["machine"] = record["machine"]
                self.readFormer()
            elif "profiled" in record:
                self.storeProfile(record["profiled"], record["build"], record["profile"])
            else:
                remaining.remove(record["workload"])
                self.store(record["workload"], record["row"], record["samples"])
            if at[1] == "build" and time.time() > self.options.deadline:
                return None, "no time"

    def store(self, name, row, samples):
        row.update(floor_ms=WORKLOADS[name].floorMs(self.ceilings()), run=self.started,
                   sources=self.options.sources,
                   empty_ms=self.results["machine"].get("empty_ms", 0))
        summary.compareWorkload(row, samples)
        if self.options.samples:
            row["samples_ms"] = {n: [round(t, 5) for t in times] for n, times in samples.items()}
        self.results["workloads"][name] = row
        self.profiles.get("", {}).pop(name, None)  # of the row that was kept
        self.write()
        self.writeProfiles()

    def storeProfile(self, name, build, profile):
        about = {key: self.results["workloads"][name][key] for key in ("run", "sources")}
        rows = self.profiles.setdefault("" if build == "fusec" else build, {})
        rows[name] = {**about, **profile}
        self.writeProfiles()

    def writeProfiles(self):
        """Of the rows that are in the results; those of other builds of this run alone."""
        for build, rows in self.profiles.items():
            path = profiles.pathBeside(self.path(), build)
            rows = {name: rows[name] for name in self.rows() if name in rows}
            if rows or path.exists():
                path.write_text(profiles.format(
                    {"device": self.results["machine"]["device"], "rows": rows}), "utf-8")

    def ceilings(self):
        machine = self.results["machine"]
        return CEILINGS.get(machine["device"]) or machine["ceilings"]

    def path(self):
        device = re.sub(r"[^a-z0-9]+", "-", self.results["machine"]["device"].lower()).strip("-")
        return self.options.out or HERE / "results" / f"{device}.json"

    def readFormer(self):
        """Before anything is measured: one file holds what one kind of device did."""
        path, device = self.path(), self.results["machine"]["device"]
        if self.options.former and not self.options.before:
            checked = self.options.former["machine"]["device"]
            if checked != device:
                raise FormerError(f"{self.options.check}: expected results of {device}, got those "
                                  f"of {checked}; --before compares two builds here")
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
        kept = profiles.pathBeside(path)
        if kept.exists():
            try:
                self.profiles[""] = profiles.load(kept)["rows"]
            except ValueError as failure:
                raise FormerError(str(failure)) from failure

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
        plot.write(results, path.with_suffix(".svg"),
                   sources.getNewest(self.results["workloads"].values()))
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


def describeNeed(workload):
    """Of device memory, where it is much."""
    size = workload.deviceBytes() or 0
    return f"{size / 1e9:.0f} GB of device memory" if size > MUCH_BYTES else ""


def printSummary(rows, groups, reference):
    """Rows that other sources than `reference` made are marked."""
    print(summary.formatTable(rows, sources.findOthers(rows, reference)))
    others = sources.describeOthers(rows, reference)
    if others:
        print("\n" + others)
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
    rows = results["workloads"]
    reference = sources.hashTree() or sources.getNewest(rows.values())
    plot.write(results, path.with_suffix(".svg"), reference)
    printSummary(rows, summary.summariseGroups(rows, GROUPS), reference)
    return judge(rows)


def judgeAgainst(comparison, options):
    """--check and --before: what is slower; the status."""
    tolerance, former = options.tolerance / 100, options.former
    if options.before:
        former = None
    elif former["machine"].get("torch") != comparison.results["machine"].get("torch"):
        print(f"{options.check}: by PyTorch {former['machine'].get('torch')}: what both runs "
              "measured beside fusec may not be the same code", file=sys.stderr)
    rows, left = comparison.results["workloads"], comparison.results["left_out"]
    verdicts = check.judgeRows(rows, former, tolerance)
    suspects = [name for name, found in verdicts.items() if found["verdict"] == check.SLOWER]
    if options.before:
        options.peers = check.changePlaces(options.peers)
    if suspects and comparison.run(suspects):
        again = [name for name in suspects if name not in comparison.results["left_out"]]
        check.confirm(verdicts, check.judgeRows({n: rows[n] for n in again}, former, tolerance))
    comparison.results["left_out"] = left
    print(check.formatVerdicts(verdicts))
    gone = [name for name in former["workloads"] if name not in WORKLOADS] if former else []
    if gone:
        print("no workloads any more: " + ", ".join(gone), file=sys.stderr)
    before = former["profiles"] if former else comparison.profiles.get(check.BEFORE, {})
    steps = check.formatSteps(verdicts, before, comparison.profiles.get("", {}))
    print(f"\n{steps}" if steps else "", end="\n" if steps else "")
    isSlower = any(found["verdict"] == check.SLOWER for found in verdicts.values())
    return WRONG if isSlower else judge(rows)


def main(arguments=None):
    options = parseArguments(arguments)
    if options.list:
        for name in options.workloads:
            print(f"{name:56} {WORKLOADS[name].dtype} {describeNeed(WORKLOADS[name])}".rstrip())
        return DONE
    if options.report:
        return report(options.report)
    missing = findFusec(options) if "fusec" in options.peers else None
    if missing:
        print(missing, file=sys.stderr)
        return TOOLCHAIN
    if not options.out and (options.check or options.builds):
        options.out = pathlib.Path(tempfile.mkdtemp(prefix="fusec-check-")) / "rows.json"
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
    rows, status = comparison.results["workloads"], None
    if options.check or options.before:
        status = judgeAgainst(comparison, options)
    else:
        printSummary(rows, groups, sources.getNewest(rows.values()))
    if comparison.results["left_out"]:
        print("\nleft out, no time: " + ", ".join(comparison.results["left_out"]))
    print(f"\nwrote {comparison.path()}", file=sys.stderr)
    return judge(rows) if status is None else status


if __name__ == "__main__":
    sys.exit(main())
