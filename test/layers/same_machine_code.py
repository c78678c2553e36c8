#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows where kernels of two builds of fusec differ in machine code.

For a change of the generated text alone. Of the kernels whose text differs, in
the cases of same_code.py, it takes some of each template and target, has nvcc
compile them as --dump-cuda says, and compares what nvdisasm prints of them.
Needs nvcc on the PATH.

  same_machine_code.py BEFORE AFTER [--kernels 40] [--only TEXT]
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import layers
import same_code

# The first line of a kernel's file: the command, and the file.
COMMAND = re.compile(r"// (nvcc .*-arch=(\S+) .*-cubin) (\S+)\n")
TEMPLATE = re.compile(r"fusec::(\w+Config|chainPhase|forEach\w*)\b")
# Names of functions and variables hold those of the types they are for.
MANGLED = re.compile(r"_Z\w+")

Kernel = collections.namedtuple("Kernel", "name command before after")


def dump(fusec, model, options, folder):
    """Writes the model's kernels and headers; the texts, by the file."""
    folder.mkdir(parents=True)
    arch = () if any(o.startswith("--arch") for o in options) else ("--arch=sm_90a,sm_80",)
    subprocess.run([fusec, "compile", model.name, *arch, *options, "--quiet", "--emit=cuda", "-o",
                    folder / "all", f"--dump-cuda={folder}"], cwd=model.parent,
                   capture_output=True, check=False)
    return {path.name: path.read_text() for path in folder.glob("*.cu")}


def disassemble(path, command):
    cubin = path.parent / f"{path.name}.{abs(hash(command))}.cubin"
    subprocess.run([*command.split(), "-w", path.name, "-o", cubin.name], cwd=path.parent, check=True)
    listing = subprocess.run([layers.findDisassembler(), "-c", cubin], check=True,
                             capture_output=True, text=True).stdout
    return MANGLED.sub("NAME", listing)


def findChanged(builds, cases, folder):
    """The kernels whose text differs, by template and target."""
    changed = collections.defaultdict(list)
    for number, (name, model, options) in enumerate(cases):
        places = [folder / side / str(number) for side in ("before", "after")]
        old, new = (dump(build, model, options, place) for build, place in zip(builds, places))
        for file, text in sorted(new.items()):
            command, template = COMMAND.match(text), TEMPLATE.search(text)
            # A text that is the same for all targets has no target in its name.
            was = file if file in old else re.sub(r"\.sm_\w+", "", file)
            if was not in old:
                raise SystemExit(f"{name}: {file} is new")
            if command and old[was] != text:
                changed[template[1] if template else "others", command[2]].append(
                    Kernel(" ".join([name, *options]), command[1], places[0] / was,
                           places[1] / file))
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path, help="a fusec binary")
    parser.add_argument("after", type=pathlib.Path, help="another")
    parser.add_argument("--kernels", type=int, default=40, help="about how many to compile")
    parser.add_argument("--only", default="", help="models whose name has this in it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        layers.writeWeights(folder)
        cases = [*same_code.listCases([]),
                 *((layer.name, *layers.writeLayer(folder, layer))
                   for layer in layers.chooseLayers())]
        cases = [case for case in cases if options.only in case[0]]
        changed = findChanged((options.before.resolve(), options.after.resolve()), cases, folder)
        each = -(-options.kernels // max(len(changed), 1))
        chosen = []
        for (template, target), kernels in sorted(changed.items()):
            # From all over the list, so that models and options vary.
            some = kernels[::-(-len(kernels) // each)]
            print(f"{template} for {target}: {len(some)} of {len(kernels)}", flush=True)
            chosen += some
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            same = pool.map(lambda kernel: disassemble(kernel.before, kernel.command) ==
                            disassemble(kernel.after, kernel.command), chosen)
            differ = [kernel for kernel, equal in zip(chosen, same) if not equal]
    for kernel in differ:
        print(f"{kernel.name}: {kernel.after.name} has other machine code")
    print(f"{len(chosen) - len(differ)} of {len(chosen)} have the same machine code")
    return 1 if differ or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
