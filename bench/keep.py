#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/keep.py --before ../old bench/results/nvidia-h200*.json
  bench/keep.py --before ../old bench/results/nvidia-h200-grid.json --only '*_bf16_*' --dry-run
  bench/keep.py --before ../old bench/results/nvidia-h200-parts.json --drop   # and no others
  bench/keep.py --before ../old --library 'loading alone has changed' bench/results/*.json

Keeps rows of results whose program these sources make as well, without a GPU. Each
row that the build before was measured with is compiled by it and by this one: where
plan, machine code and library are the same, but for kernels that it does not run, its
times hold for these sources, which the row then names; those that were measured stay
beside them, as `measured`. Prints the other rows, which are to be measured again; with
--drop they leave the file.

A library that has changed elsewhere than where it runs a prepared model makes every row
another one. Who has compared what it has for that, function by function, says so with
--library; the words stay with the rows."""

import argparse
import fnmatch
import json
import pathlib
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import builds
import compare
import options as command
import profiles
import programs
import sources
import summary
from workloads import GROUPS, WORKLOADS

DONE, REFUSED, USAGE, DIFFERENT = 0, 1, 2, 5
EPILOGUE = """exit status: 0 all rows are of these sources now, 1 some row could not be compiled,
2 usage, 5 some program is another."""
SAME, OTHER = "same", "another program"


def hashBoth(pair, name, caches, withLibrary):
    """What each build makes of a row's model."""
    import accept  # needs PyTorch, which neither --drop nor a wrong argument does
    from peers import own
    workload = WORKLOADS[name]
    with tempfile.TemporaryDirectory(prefix="fusec-keep-") as folder:
        setting = accept.makeSetting(workload, *accept.buildEmpty(workload), folder, caches)
        model, _ = own.exportOnnx(setting)

        def make(build):
            bundle, _ = own.compileBundle(setting, build, model)
            return programs.hashProgram(build, bundle, withLibrary)

        with ThreadPoolExecutor(len(pair)) as pool:
            return list(pool.map(make, pair))


def judge(pair, name, caches, withLibrary):
    try:
        before, now = hashBoth(pair, name, caches, withLibrary)
    except (RuntimeError, OSError, KeyError, ValueError) as failure:
        return " ".join(str(failure).split())[:600] or type(failure).__name__
    return SAME if before == now else OTHER


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="FILE", nargs="+", type=pathlib.Path)
    parser.add_argument("--before", metavar="DIR", required=True,
                        help="the build that was measured: fusec, libfusec_rt.so and a file "
                        "`sources` with their hash, or a tree or build")
    parser.add_argument("--fusec", metavar="PATH", default=shutil.which("fusec") or
                        command.BUILD / "tools" / "fusec",
                        help="this build; default: in PATH, else build/release")
    parser.add_argument("--library", metavar="WHY", help="take the libraries for the same")
    parser.add_argument("--only", metavar="PATTERN", help="workloads, shell patterns by comma")
    parser.add_argument("--caches", metavar="DIR", type=pathlib.Path,
                        help="keep exports of models without weights, and kernels")
    parser.add_argument("--drop", action="store_true",
                        help="take rows of other sources out of the files")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    return parser.parse_args(arguments)


def loadAll(paths):
    """path -> results, but of profiles, which lie beside them; ValueError names each file
    that is neither."""
    found, wrong = {}, []
    for path in paths:
        if path.name.endswith(profiles.SUFFIX):
            continue
        try:
            found[path] = json.loads(path.read_text("utf-8"))
            for row in found[path]["workloads"].values():
                sources.getKey(row)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
            wrong.append(f"{path}: expected results of bench/compare.py: {failure!r}")
        try:
            if profiles.pathBeside(path).exists():
                profiles.load(profiles.pathBeside(path))
        except ValueError as failure:
            wrong.append(str(failure))
    if wrong:
        raise ValueError("\n".join(wrong))
    return found


def keep(path, results, pair, hashes, options, caches):
    """name -> verdict of the rows that the build before was measured with."""
    patterns = options.only.split(",") if options.only else ["*"]
    found = {}
    try:
        for name, row in results["workloads"].items():
            if sources.getKey(row) != hashes[0] or name not in WORKLOADS or not any(
                    fnmatch.fnmatch(name, pattern) for pattern in patterns):
                continue
            found[name] = judge(pair, name, caches, options.library is None)
            print(f"{name}: {found[name]}", flush=True)
            if found[name] == SAME:
                row.setdefault("measured", row["sources"])
                row["sources"] = hashes[1]
                if options.library:
                    row["library"] = options.library
        if options.drop:
            dropOthers(results, hashes[1])
    finally:  # an interrupted run keeps what it has found, and the next one goes on
        if not options.dry_run:
            keepProfiles(profiles.pathBeside(path), results["workloads"], hashes)
            path.write_text(compare.formatJson(compare.roundNumbers(results)), "utf-8")
    return found


def keepProfiles(path, rows, hashes):
    """Those that were made with the sources that a row was measured with, or since."""
    if not path.exists():
        return
    kept = profiles.load(path)
    for name, profile in kept["rows"].items():
        row = rows.get(name, {})
        if row.get("sources") == hashes[1] and \
                profile.get("sources") in (row.get("measured"), hashes[0]):
            profile.setdefault("measured", profile["sources"])
            profile["sources"] = hashes[1]
    path.write_text(profiles.format(kept), "utf-8")


def dropOthers(results, reference):
    """Rows that other sources made, from the summaries, too."""
    rows = results["workloads"]
    for name in sources.findOthers(rows, reference):
        del rows[name]
    results["groups"] = summary.summariseGroups(rows, GROUPS)


def main(arguments=None):
    options = parse(arguments)
    try:
        files = loadAll(options.results)
        pair = [builds.findBuild("before", options.before),
                builds.findBuild("fusec", pathlib.Path(options.fusec).parent)]
        hashes = [sources.findSources(build["fusec"]) for build in pair]
    except ValueError as failure:
        print(failure, file=sys.stderr)
        return USAGE
    for build, found in zip(pair, hashes):
        if not found:
            print(f"{build['fusec']}: expected a file `{sources.BESIDE}` beside it that says "
                  "which sources made it, as bench/builds.py writes", file=sys.stderr)
            return USAGE
    found = {}
    with tempfile.TemporaryDirectory(prefix="fusec-keep-caches-") as folder:
        for path, results in files.items():
            found.update(keep(path, results, pair, hashes, options,
                              options.caches or pathlib.Path(folder)))
    others = [name for name, verdict in found.items() if verdict == OTHER]
    failed = [name for name, verdict in found.items() if verdict not in (SAME, OTHER)]
    print(f"{len(found) - len(others) - len(failed)} of {len(found)} rows of "
          f"{sources.shorten(hashes[0])} are of {sources.shorten(hashes[1])}, too")
    if others:
        print("to be measured again: " + ",".join(others))
    return REFUSED if failed else DIFFERENT if others else DONE


if __name__ == "__main__":
    sys.exit(main())
