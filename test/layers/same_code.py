#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows what two builds of fusec make of the same models, where it differs.

For a change that must not alter what is computed: the plans, the CUDA text and,
with --bundles, the manifests of test/models, of the models in --models and of
the layers that the benchmark measures, each with the options that are used with
it. What BEFORE makes is kept in --cache, so that it runs once.

  same_code.py BEFORE AFTER [--models DIR] [--only TEXT] [--bundles]
"""

import argparse
import concurrent.futures
import gzip
import hashlib
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import layers

TARGETS = "sm_90a,sm_80,ptx"
HERE = pathlib.Path(__file__).resolve().parents[1] / "models"
# Each set of options changes other passes, candidates or emitters.
OPTIONS = [(), ("--precision=tf32",), ("--precision=bf16",), ("--numerics=onnx",),
           ("--no-fusion",), ("--replaceable=*",), ("--arch=sm_80",)]
KERNEL = re.compile(r"(?m)^(?=// \S+ for \S+$)")


def listCases(folders):
    """(name, model, options) of every model below the folders."""
    for path in sorted(HERE.glob("*.onnx")):
        for options in OPTIONS:
            yield path.stem, path, options
    for folder in folders:
        for path in sorted(folder.rglob("*.onnx")):
            yield str(path.relative_to(folder)), path, ()


def describe(fusec, model, options, bundles):
    """The texts that fusec makes of a model, or its error."""
    arch = () if any(o.startswith("--arch") for o in options) else (f"--arch={TARGETS}",)
    command = [fusec, "compile", model.name, *arch, *options, "--quiet"]
    texts = []

    def run(*words):
        return subprocess.run(words, capture_output=True, text=True, cwd=model.parent)

    for emit in ("planned", "cuda"):
        done = run(*command, f"--emit={emit}", "-o", "-")
        texts.append(f"status {done.returncode}\n{done.stderr}" if done.returncode else done.stdout)
    if bundles:
        with tempfile.NamedTemporaryFile(suffix=".fusec") as bundle:
            done = run(*command, "-o", bundle.name)
            if done.returncode == 0:
                done = run(fusec, "inspect", bundle.name, "--json")
            # The bundle's file has a name of its own each time.
            texts.append(done.stdout.replace(bundle.name, "BUNDLE") + done.stderr)
    return "\0".join(texts)


def describeBefore(cache, fusec, model, *what):
    digest = hashlib.sha256(model.read_bytes() + repr(what).encode()).hexdigest()
    path = cache / f"{digest[:32]}.gz"
    if path.exists():
        return gzip.decompress(path.read_bytes()).decode()
    text = describe(fusec, model, *what)
    path.write_bytes(gzip.compress(text.encode(), 1))
    return text


def findDifference(before, after):
    """The first line that differs, under the name of its kernel."""
    for old, new in zip(before.split("\0"), after.split("\0")):
        for a, b in itertools.zip_longest(KERNEL.split(old), KERNEL.split(new), fillvalue=""):
            lines = itertools.zip_longest(a.splitlines(), b.splitlines(), fillvalue="")
            for number, (was, now) in enumerate(lines, 1):
                if was != now:
                    # The lines of a plan are long.
                    start = max(0, len(os.path.commonprefix([was, now])) - 80)
                    return (f"{(b or a).splitlines()[0][:100]}, line {number}\n"
                            f"  - {was[start:start + 240]}\n  + {now[start:start + 240]}")
    return "their ends"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path, help="a fusec binary")
    parser.add_argument("after", type=pathlib.Path, help="another")
    parser.add_argument("--models", type=pathlib.Path, action="append", default=[],
                        help="a folder of further models, at any depth")
    parser.add_argument("--only", default="", help="models whose name has this in it")
    parser.add_argument("--bundles", action="store_true",
                        help="also compile, and compare the manifests")
    parser.add_argument("--ignore", default="(?!)", metavar="REGEX",
                        help="what is left out of both before they are compared")
    parser.add_argument("--cache", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "fusec-same-code")
    options = parser.parse_args()
    before, after = options.before.resolve(), options.after.resolve()
    cache = options.cache / hashlib.sha256(before.read_bytes()).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)

    def compare(case):
        name, *what = case
        old = describeBefore(cache, before, *what, options.bundles)
        new = describe(after, *what, options.bundles)
        old, new = (re.sub(options.ignore, "", text) for text in (old, new))
        return "" if old == new else findDifference(old, new)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        layers.writeWeights(folder)
        cases = [*listCases(options.models),
                 *((layer.name, *layers.writeLayer(folder, layer))
                   for layer in layers.chooseLayers())]
        cases = [case for case in cases if options.only in case[0]]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            differ = 0
            for case, difference in zip(cases, pool.map(compare, cases)):
                if difference:
                    print(f"{' '.join([case[0], *case[2]])}: {difference}", flush=True)
                    differ += 1
    print(f"{len(cases) - differ} of {len(cases)} are the same")
    return 1 if differ or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
