#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/compare_steps.py before-profiles.json after-profiles.json
  bench/compare_steps.py before-profiles.json after-profiles.json 'dlrm_*' --all

Names the steps that made rows slower, from the profiles of two builds, which
bench/compare.py keeps. Steps are matched by their nodes, then by their kernel,
then by their name; what is left is gone or new. Without ROW: the rows whose steps
take longer in all by more than --tolerance."""

import argparse
import fnmatch
import pathlib
import sys

import profiles

EPILOGUE = """exit status: 0 done, whether rows are slower or not, 2 usage, or no row is in both
files, 3 a file cannot be read."""

DONE, USAGE, UNREADABLE = 0, 2, 3
TOLERANCE = 2  # per cent
# Smaller differences of a step are not shown: of the row, and microseconds.
LEAST_SHARE, LEAST_US = 0.005, 0.3
NAME_LENGTH, NODES_LENGTH = 44, 60
HEADER = ["| row | step | nodes | before us | after us | difference us | of the loss |",
          "|---|---|---|---:|---:|---:|---:|"]


def matchSteps(before, after):
    """Pairs in the order of a run; None stands for what the other has not."""
    partners, free = {}, list(range(len(before)))  # of after's places
    for key in (lambda step: tuple(step.get("nodes") or ()), lambda step: step.get("kernel"),
                lambda step: step["name"]):
        for place, step in enumerate(after):
            if place in partners or not key(step):
                continue
            mine = next((each for each in free if key(before[each]) == key(step)), None)
            if mine is not None:
                partners[place] = mine
                free.remove(mine)
    # What is gone stands where it was: before the first whose partner came after it.
    pairs = []
    for place, step in enumerate(after):
        partner = partners.get(place)
        while free and partner is not None and free[0] < partner:
            pairs.append((before[free.pop(0)], None))
        pairs.append((None if partner is None else before[partner], step))
    return pairs + [(before[each], None) for each in free]


def getTime(step):
    return step["us"] if step else 0


def sumSteps(row):
    return sum(step["us"] for step in row["steps"])


def shorten(text, most):
    """For a cell of a table; control characters do not reach a terminal."""
    text = "".join(c if c.isprintable() else "\ufffd" for c in text).replace("|", "\\|")
    return text if len(text) <= most else text[:most - 3] + "..."


def formatRow(name, before, after, showsAll=False):
    """Lines of the table: the steps that differ, and their sum."""
    total = sumSteps(after) - sumSteps(before)
    least = 0 if showsAll else max(LEAST_US, LEAST_SHARE * sumSteps(before))
    lines = []
    for old, new in matchSteps(before["steps"], after["steps"]):
        difference = getTime(new) - getTime(old)
        if abs(difference) < least and old and new:
            continue
        step = new or old
        lines.append(formatLine(name, step["name"], " ".join(step.get("nodes", [])),
                                f"{old['us']:.2f}" if old else "new",
                                f"{new['us']:.2f}" if new else "gone", difference, total))
    return lines + [formatLine(name, "all steps", "", f"{sumSteps(before):.2f}",
                               f"{sumSteps(after):.2f}", total, total)]


def formatLine(row, step, nodes, before, after, difference, total):
    share = f"{100 * difference / total:.0f}%" if total > 0 else ""
    return (f"| {row} | {shorten(step, NAME_LENGTH)} | {shorten(nodes, NODES_LENGTH)} | {before} | "
            f"{after} | {difference:+.2f} | {share} |")


def formatRows(before, after, names, showsAll=False):
    """A table of the rows, and what to know about their times."""
    lines = list(HEADER)
    for name in names:
        lines += formatRow(name, before[name], after[name], showsAll)
    methods = {f"{before[name].get('method')} before, {after[name].get('method')} after"
               for name in names if before[name].get("method") != after[name].get("method")}
    if methods:
        lines += ["", "times of the two are not by one method: " + "; ".join(sorted(methods))]
    return "\n".join(lines)


def chooseRows(before, after, patterns, tolerance):
    both = [name for name in after if name in before]
    if patterns:
        return [name for name in both if any(fnmatch.fnmatch(name, each) for each in patterns)]
    return [name for name in both
            if sumSteps(after[name]) > (1 + tolerance / 100) * sumSteps(before[name])]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", metavar="BEFORE.json", type=pathlib.Path)
    parser.add_argument("after", metavar="AFTER.json", type=pathlib.Path)
    parser.add_argument("rows", metavar="ROW", nargs="*", help="names or shell patterns")
    parser.add_argument("--all", action="store_true", help="steps that do not differ, too")
    parser.add_argument("--tolerance", metavar="PERCENT", type=float, default=TOLERANCE,
                        help=f"of rows that are not slower; default: {TOLERANCE}")
    options = parser.parse_args(arguments)
    try:
        before, after = (profiles.load(path)["rows"] for path in (options.before, options.after))
    except ValueError as failure:
        print(failure, file=sys.stderr)
        return UNREADABLE
    names = chooseRows(before, after, options.rows, options.tolerance)
    if not names and (options.rows or not set(before) & set(after)):
        print(f"expected rows of both files, found none like {' '.join(options.rows) or 'that'}; "
              f"both have: {' '.join(name for name in after if name in before) or 'none'}",
              file=sys.stderr)
        return USAGE
    print(formatRows(before, after, names, options.all) if names else
          f"of {len(set(before) & set(after))} rows no sum of steps is longer by more than "
          f"{options.tolerance:g}%")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
