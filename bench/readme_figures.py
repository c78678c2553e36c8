#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/readme_figures.py                     # those of the newest row's sources
  bench/readme_figures.py --sources 4f1c...   # a hash, its beginning, or the date of a run
  bench/readme_figures.py --check             # is README.md what the results say?

Writes the speed-ups that README.md states, between two markers, from the rows of
bench/results that one state of the sources made on one device."""

import argparse
import json
import pathlib
import re
import sys

import sources
import summary
from workloads import GROUPS, TABLE

EPILOGUE = """exit status: 0 done, 1 README.md is not what the results say, 2 usage,
3 README.md has no markers, or results cannot be read."""

DONE, DIFFERENT, USAGE, UNREADABLE = 0, 1, 2, 3
RESULTS = sources.ROOT / "bench" / "results"
README = sources.ROOT / "README.md"
BEGIN, END = "<!-- figures by bench/readme_figures.py: ", "<!-- end of figures -->"
BLOCK = re.compile(re.escape(BEGIN) + r"(?P<key>[^\n]*?) -->\n.*?" + re.escape(END), re.DOTALL)
# What is stated; the other groups are parts of these.
STATED = {"models and layers": [workload.name for workload in TABLE],
          **{group: names for group, names in GROUPS.items()
             if group not in ("linear fp16 relu", "linear bf16 gelu")
             and not group.startswith("parts ")}}
NAMES = {"linear 16-bit": "matmuls in 16 bits", "linear tf32": "matmuls in TF32",
         "swiglu": "SwiGLU", "gating": "gates", "narrow linear": "layers of 1 to 128 rows",
         "prompt linear": "layers of 160 to 768 rows",
         "odd linear": "layers of odd numbers of rows",
         "linear exact fp32": "layers in exact fp32", "long linear": "matmuls of a long K",
         "parts": "what is no matmul", "embeddings": "lookups of tables"}
# A speed-up in words, which would be stated by hand.
BY_HAND = re.compile(r"\d(\.\d+)? ?(x|×|times) (as fast|faster|the speed)|speed-?up of \d", re.I)


def readRows(folder):
    """device -> name -> row, of all files."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        results = json.loads(path.read_text())
        if "workloads" in results:  # else profiles
            found.setdefault(results["machine"]["device"], {}).update(results["workloads"])
    return found


def chooseSources(devices, wanted=None):
    """(device, key) of the newest row, or of the newest that `wanted` names."""
    keys = [(row.get("run", ""), device, sources.getKey(row))
            for device, rows in devices.items() for row in rows.values()]
    keys = [each for each in keys if not wanted or each[2].startswith(wanted)
            or each[2] == sources.UNKNOWN + wanted]
    return max(keys)[1:] if keys else None


def describeSources(key, rows):
    if key.startswith(sources.UNKNOWN):
        return f"of unknown sources, measured by the run of {key[len(sources.UNKNOWN):]} UTC"
    dates = sorted({row["run"][:10] for row in rows.values()})
    dates = " to ".join(dates[::len(dates) - 1 or 1])
    return f"of the sources {sources.shorten(key)}, measured on {dates}"


def formatRatio(entry):
    isKnown = entry and "ratio" in entry
    return "{ratio:.2f} ({low:.2f}-{high:.2f})".format(**entry) if isKnown else ""


def formatFigures(devices, device, key):
    rows = {name: row for name, row in devices[device].items() if sources.getKey(row) == key}
    lines = [f"Speed-ups on an {device}, {describeSources(key, rows)}: geometric means with their "
             "95% intervals, and the least of a row. Rows that were not measured with these "
             "sources, nor with others that make the same program of them, are left out.", "",
             "| | rows | over the fastest peer | least | over bare cuBLAS |",
             "|---|---|---|---|---|"]
    for group, names in STATED.items():
        best = summary.summariseGroup(rows, names, "best_peer")
        if not best or "ratio" not in best:
            continue
        bare = summary.summariseGroup(rows, names, "cublas") if group in GROUPS else None
        lines.append(f"| {NAMES.get(group, group)} | {best['of'] - len(best['missing'])} of "
                     f"{best['of']} | {formatRatio(best)} | {best['worst']['ratio']:.2f} "
                     f"(`{best['worst']['workload']}`) | {formatRatio(bare)} |")
    return "\n".join(lines)


def fill(text, devices, device, key):
    block = f"{BEGIN}{device}; {key} -->\n{formatFigures(devices, device, key)}\n{END}"
    return BLOCK.sub(lambda _: block, text)


def findFaults(text, devices):
    """What is wrong with the figures of README.md's text."""
    found = BLOCK.search(text)
    if not found:
        return [f"expected a line '{BEGIN}...-->' and a later one '{END}'"]
    device, _, key = found["key"].partition("; ")
    faults = [f"'{each[0]}' is stated outside of the markers"
              for each in BY_HAND.finditer(BLOCK.sub("", text))]
    if key not in map(sources.getKey, devices.get(device, {}).values()):
        return [*faults, f"no row on {device or 'that device'} is of '{key}'"]
    if fill(text, devices, device, key) != text:
        faults.append("the figures are not those of the rows")
    return faults


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--sources", metavar="HASH", help="default: the newest row's")
    parser.add_argument("--results", metavar="FOLDER", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--readme", metavar="FILE", type=pathlib.Path, default=README)
    options = parser.parse_args(arguments)
    try:
        text, devices = options.readme.read_text("utf-8"), readRows(options.results)
    except (OSError, ValueError, KeyError, TypeError) as failure:
        print(f"expected results of bench/compare.py and a README: {failure!r}", file=sys.stderr)
        return UNREADABLE
    if options.check:
        faults = findFaults(text, devices)
        for fault in faults:
            print(f"{options.readme}: {fault}; bench/readme_figures.py writes them anew",
                  file=sys.stderr)
        return DIFFERENT if faults else DONE
    chosen = chooseSources(devices, options.sources)
    if not chosen:
        print(f"no row is of the sources '{options.sources or ''}'; bench/compare.py --report "
              "says which there are", file=sys.stderr)
        return USAGE
    if not BLOCK.search(text):
        print(f"{options.readme}: expected a line '{BEGIN}...-->' and a later one '{END}'",
              file=sys.stderr)
        return UNREADABLE
    options.readme.write_text(fill(text, devices, *chosen), "utf-8")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
