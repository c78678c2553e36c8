# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compare.py's command line."""

import argparse
import fnmatch
import os
import pathlib
import shutil
import sys

import peers
import sources
from workloads import WORKLOADS

HERE = pathlib.Path(__file__).resolve().parent
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

Measures fusec against what else can run the same models on this GPU: one run,
the same tensors, every contender once a round, the second-level cache flushed
before each. Prints a table in Markdown; writes all figures as JSON and a plot as
SVG beside it. README.md states the method.
"""

EPILOGUE = """exit status: 0 done, 1 fusec could not compile or run some workload, 2 usage,
4 no GPU, PyTorch or fusec, 5 a result of fusec is wrong."""


class Parser(argparse.ArgumentParser):
    """Help begins with the examples."""

    def format_help(self):
        return f"{EXAMPLES}\n{super().format_help().split(chr(10) * 2, 1)[1]}"


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
                        help="libfusec_rt.so; default: beside the compiler, or in ../lib or "
                        "../runtime of it")
    parser.add_argument("--sources", metavar="HASH",
                        help="what tools/source-hash.sh gives of the sources that made fusec; "
                        "default: what the file `sources` beside it says, or this tree's where it "
                        "lies in it, else unknown")
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
                        help="measure nothing: table and plot of a former run; rows of other "
                        "sources than this tree's are marked")
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
    wanted |= {peers.getNeeded(name) or name for name in wanted}
    return [name for name in peers.CONTENDERS if name in wanted]


def chooseWorkloads(parser, options):
    rows = options.rows or ("all" if options.only else "table")
    patterns = options.only.split(",") if options.only else ["*"]
    chosen = [w.name for w in WORKLOADS.values() if rows in ("all", w.rows)
              and any(fnmatch.fnmatch(w.name, pattern) for pattern in patterns)]
    if not chosen:
        parser.error(f"--only: no workload is named like '{options.only}'; see --list")
    return chosen


def listLibraryFolders(fusec):
    """Beside it, installed, built."""
    folder = pathlib.Path(fusec).resolve().parent
    return [folder, folder.parent / "lib", folder.parent / "runtime"]


def findFusec(options):
    """None, or what is missing."""
    options.fusec = options.fusec or str(BUILD / "tools" / "fusec")
    if not os.access(options.fusec, os.X_OK):
        return f"{options.fusec}: expected fusec; name it with --fusec"
    places = [folder / "libfusec_rt.so" for folder in listLibraryFolders(options.fusec)]
    options.library = options.library or next((str(p) for p in places if p.exists()), None)
    if not options.library or not os.path.exists(options.library):
        return (f"{options.library or places[0]}: expected the library; name it with --library")
    options.sources = options.sources or sources.findSources(options.fusec)
    if not options.sources:
        print(f"{options.fusec}: its sources are unknown; --sources names them", file=sys.stderr)
    return None
