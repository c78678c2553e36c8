# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare.py's command line."""

import argparse
import fnmatch
import os
import pathlib
import re
import shutil
import sys

import builds
import check
import peers
import sources
from workloads import WORKLOADS

HERE = pathlib.Path(__file__).resolve().parent
WORKER = HERE / "worker.py"
BUILD = HERE.parent / "build" / "release"
DONE, UNSUPPORTED, USAGE, TOOLCHAIN, WRONG = 0, 1, 2, 4, 5
QUICK_ROUNDS, LEAST_ROUNDS = 10, 30

EXAMPLES = """examples:
  bench/compare.py --fusec build/release/tools/fusec \\
                   --library build/release/runtime/libfusec_rt.so
  bench/compare.py --only 'rope_*,gating_*' --peers eager,compile,triton,fusec
  bench/compare.py --rows grid --rounds 100 --out grid.json
  bench/compare.py --quick --budget-seconds 300
  bench/compare.py --list
  bench/compare.py --report bench/results/nvidia-h200.json
  bench/compare.py --check bench/results/nvidia-h200.json      # 5 where a row is slower
  bench/compare.py --before ../old --only 'dlrm_*'             # the same, build beside build

Measures fusec against what else can run the same models on this GPU: one run,
the same tensors, every contender once a round, the second-level cache flushed
before each. Prints a table in Markdown; writes all figures as JSON and a plot as
SVG beside it. README.md states the method.
"""

EPILOGUE = """exit status: 0 done, 1 fusec could not compile or run some workload, 2 usage,
4 no GPU, PyTorch or fusec, 5 a result of fusec is wrong, or --check or --before
find a row slower."""


class Parser(argparse.ArgumentParser):
    """Help begins with the examples."""

    def format_help(self):
        return f"{EXAMPLES}\n{super().format_help().split(chr(10) * 2, 1)[1]}"


def addChoice(parser):
    """Of workloads."""
    parser.add_argument("--only", metavar="PATTERN", help="workloads, shell patterns by comma")
    parser.add_argument("--rows", choices=("table", "grid", "narrow", "prompt", "odd", "exact",
                                           "long", "parts", "embeddings", "all"),
                        help="the named workloads, the grids of shapes, layers with few rows, "
                        "with those of a short prompt, with odd numbers of them, in fp32 without "
                        "TF32, products of few tiles and a long K, what is no matmul, lookups of "
                        "tables, or all; default: table, or all with --only")


def parseArguments(arguments):
    parser = Parser(formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EPILOGUE,
                    usage="compare.py [options]; --help lists them")
    addChoice(parser)
    parser.add_argument("--peers", metavar="NAME,...",
                        help="of " + ", ".join(peers.CONTENDERS) + "; eager is always there; "
                        "default: all, or what --check, --before and --build need")
    parser.add_argument("--skip", default="", metavar="NAME,...", help="contenders to leave out")
    parser.add_argument("--rounds", type=int, default=50, help=f"at least {LEAST_ROUNDS}")
    parser.add_argument("--quick", action="store_true",
                        help=f"{QUICK_ROUNDS} rounds, no autotune: for a look, not for a claim")
    parser.add_argument("--fusec", metavar="PATH", default=shutil.which("fusec"),
                        help="the compiler; default: in PATH, else build/release")
    parser.add_argument("--library", metavar="PATH",
                        help="libfusec_rt.so; default: beside the compiler, or in ../lib or "
                        "../runtime of it")
    parser.add_argument("--sources", metavar="HASH",
                        help="what tools/source-hash.sh gives of the sources that made fusec; "
                        "default: what the file `sources` beside it says, or this tree's where it "
                        "lies in it, else unknown")
    parser.add_argument("--check", metavar="FILE", type=pathlib.Path,
                        help="measure the rows of FILE again: which are slower than their noise "
                        "and --tolerance allow, and by which steps")
    parser.add_argument("--before", metavar="DIR",
                        help="the same against another build, which is measured in turn in the "
                        "same rounds; DIR holds fusec and libfusec_rt.so, or is a tree or build")
    parser.add_argument("--build", metavar="NAME=DIR", action="append", default=[],
                        help="a further build as contenders NAME and NAME_graph; repeatable")
    parser.add_argument("--tolerance", metavar="PERCENT", type=float, default=2,
                        help="of --check and --before; default: 2")
    parser.add_argument("--arch", help="fusec's target; default: this GPU's")
    parser.add_argument("--out", metavar="FILE", type=pathlib.Path,
                        help="default: bench/results/GPU.json, or a file in a new temporary "
                        "folder with --check, --before or --build")
    parser.add_argument("--update", action="store_true",
                        help="keep the workloads of --out that this run does not measure")
    parser.add_argument("--no-profiles", dest="profiles", action="store_false",
                        help="keep none of the rows' profiles, which take a second each")
    parser.add_argument("--samples", action="store_true", help="write every round's time too")
    parser.add_argument("--caches", metavar="DIR", type=pathlib.Path,
                        help="keep in DIR what compilers cache, so that rows that another run has "
                        "compiled take less time; compile times, which are cold otherwise, are "
                        "left out")
    parser.add_argument("--budget-seconds", type=float, default=float("inf"), metavar="S",
                        help="begin no workload after this")
    parser.add_argument("--seed", type=int, default=0,
                        help="of weights, inputs and the order of each round")
    parser.add_argument("--verbose", action="store_true", help="tracebacks of failures")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    parser.add_argument("--report", metavar="FILE", type=pathlib.Path,
                        help="measure nothing: table and plot of a former run; rows of other "
                        "sources than this tree's are marked")
    options = parser.parse_args(arguments)
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds: expected at least {LEAST_ROUNDS}, got {options.rounds}; "
                     "--quick takes fewer")
    options.worker = WORKER
    options.builds, options.former = chooseBuilds(parser, options), None
    if options.check and options.update:
        parser.error("--check: expected no --update beside it: it keeps no results")
    if options.check:
        try:
            options.former = check.loadResults(options.check)
        except ValueError as failure:
            parser.error(str(failure))
    options.peers = chooseContenders(parser, options)
    options.workloads = chooseWorkloads(parser, options, options.former)
    if options.quick:
        options.rounds = QUICK_ROUNDS
    return options


def chooseBuilds(parser, options):
    """name -> build; the name of `before` is --before's."""
    found = {}
    pairs = [[check.BEFORE, options.before]] if options.before else []
    for name, folder in [*pairs, *(each.partition("=")[::2] for each in options.build)]:
        if not re.fullmatch(r"[a-z][a-z0-9]*", name) or name in (*peers.CONTENDERS, *found):
            parser.error("--build: expected NAME=DIR, the name of lower-case letters and digits "
                         f"and no other contender's, got '{name}'")
        try:
            found[name] = builds.findBuild(name, folder)
        except ValueError as failure:
            parser.error(str(failure))
    return found


def chooseContenders(parser, options):
    everything = ",".join(peers.CONTENDERS)
    if options.check or options.builds:
        everything = ",".join(["fusec", "fusec_graph",
                               *(check.NORMALISERS if options.check else [])])
    wanted = (options.peers or everything).split(",")
    skipped = set(filter(None, options.skip.split(",")))
    for name in [*wanted, *skipped]:
        if name not in peers.CONTENDERS:
            parser.error(f"expected contenders among {', '.join(peers.CONTENDERS)}, got '{name}'")
    if options.quick:
        skipped.add("autotune")
    wanted = {name for name in wanted if not {name, peers.getNeeded(name)} & skipped} | {"eager"}
    wanted |= {peers.getNeeded(name) or name for name in wanted}
    return [name for name in peers.CONTENDERS if name in wanted] + \
        [name + mode for name in options.builds for mode in ("", peers.GRAPH)]


def chooseWorkloads(parser, options, former=None):
    rows = options.rows or ("all" if options.only or former else "table")
    patterns = options.only.split(",") if options.only else ["*"]
    chosen = [w.name for w in WORKLOADS.values() if rows in ("all", w.rows)
              and any(fnmatch.fnmatch(w.name, pattern) for pattern in patterns)]
    if former:
        chosen = [name for name in chosen if name in former["workloads"]]
    if not chosen:
        parser.error(f"--only: no workload is named like '{options.only}'; see --list")
    return chosen


def findFusec(options):
    """None, or what is missing."""
    options.fusec = options.fusec or str(BUILD / "tools" / "fusec")
    if not os.access(options.fusec, os.X_OK):
        return f"{options.fusec}: expected fusec; name it with --fusec"
    options.library = options.library or builds.findLibrary(options.fusec)
    if not options.library or not os.path.exists(options.library):
        return (f"{options.library or options.fusec}: expected libfusec_rt.so beside it, or in "
                "../lib or ../runtime; name it with --library")
    try:
        options.sources = options.sources or sources.findSources(options.fusec)
    except ValueError as failure:
        return str(failure)
    if not options.sources:
        print(f"{options.fusec}: its sources are unknown; --sources names them", file=sys.stderr)
    return None
