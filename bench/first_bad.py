#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/first_bad.py rows.json commits --tolerance 2

What tools/bisect.sh --pack leaves to say: from the one row of rows.json, which
bench/compare.py measured with the build of each line of `commits` (NAME COMMIT
SUBJECT, oldest first) and with an older one as fusec, the times of all and the first
commit from which on the row is slower than with that one."""

import argparse
import json
import pathlib
import statistics
import sys

import check
import compare_steps
import profiles
import summary
from peers import GRAPH

EPILOGUE = """exit status: 0 the commit is named, 1 the newest commit that ran is not slower,
2 usage, 3 a file cannot be read."""

NAMED, NONE, UNREADABLE = 0, 1, 3


def readCommits(path):
    """[(name, commit, subject)]."""
    found = [line.split(None, 2) for line in path.read_text("utf-8").splitlines()]
    return [(each + [""])[:3] for each in found if len(each) >= 2]


def judge(row, commits, tolerance):
    """name -> verdict against fusec, of builds that ran; more than 1 is slower."""
    found = {}
    for name, *_ in commits:
        rounds = row["against"].get(name, {}).get("rounds")
        if rounds:
            best = summary.pickBest(row["contenders"], [name, name + GRAPH])
            resampled = summary.resampleMedians(rounds, name)
            found[name] = check.decide(
                {**summary.describeRatio(statistics.median(rounds), resampled),
                 "ms": row["contenders"][best]["median_ms"]}, tolerance)
    return found


def findFirst(verdicts):
    """(the last that is not slower or None, the first after it or None)."""
    names = list(verdicts)
    good = [place for place, name in enumerate(names)
            if verdicts[name]["verdict"] != check.SLOWER]
    first = good[-1] + 1 if good else 0
    return names[first - 1] if first else None, names[first] if first < len(names) else None


def formatTimes(row, commits, verdicts):
    lines = ["| build | commit | ms | as long (95%) | | subject |", "|---|---|---:|---|---|---|",
             f"| good | | {check.getOwnTime(row):.4f} | | | |"]
    for name, commit, subject in commits:
        found = verdicts.get(name)
        shown = [f"{found['ms']:.4f}", "{ratio:.3f} ({low:.3f}-{high:.3f})".format(**found),
                 found["verdict"]] if found else ["", "", "did not run"]
        lines.append("| " + " | ".join([name, commit[:9], *shown,
                                        compare_steps.shorten(subject, 70)]) + " |")
    return "\n".join(lines)


def formatSteps(path, name, last, first):
    before = profiles.pathBeside(path, last or "")
    after = profiles.pathBeside(path, first)
    try:
        rows = [profiles.load(each)["rows"] for each in (before, after)]
        return compare_steps.formatRows(*rows, [name])
    except (ValueError, KeyError) as failure:
        return f"its steps are not known: {failure}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", metavar="ROWS.json", type=pathlib.Path)
    parser.add_argument("commits", metavar="COMMITS", type=pathlib.Path)
    parser.add_argument("--tolerance", metavar="PERCENT", type=float, default=2)
    options = parser.parse_args(arguments)
    try:
        (name, row), = json.loads(options.rows.read_text("utf-8"))["workloads"].items()
        commits = readCommits(options.commits)
        verdicts = judge(row, commits, options.tolerance / 100)
        print(formatTimes(row, commits, verdicts) + "\n")
    except (OSError, ValueError, KeyError, TypeError) as failure:
        print(f"expected one row of bench/compare.py in {options.rows}, where fusec ran, and lines "
              f"in {options.commits}: {failure!r}", file=sys.stderr)
        return UNREADABLE
    last, first = findFirst(verdicts)
    if not first:
        print(f"{name} is not slower with {last or 'any build'} than with the older build")
        return NONE
    places = [each[0] for each in commits]
    between = places[places.index(last) + 1 if last else 0:places.index(first) + 1]
    _, commit, subject = commits[places.index(first)]
    print(f"the first bad commit of {name}: {commit}\n  {subject}")
    print(f"the last good one: {commits[places.index(last)][1] if last else 'the older build'}")
    if len(between) > 1:
        print(f"or one of {', '.join(between[:-1])} before it, which did not run")
    print("\n" + formatSteps(options.rows, name, last, first))
    return NAMED


if __name__ == "__main__":
    sys.exit(main())
