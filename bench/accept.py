#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/accept.py --rows parts                   # are all of them exported and compiled?
  bench/accept.py --rows parts --run             # and right, where they are made small?
  bench/accept.py --rows parts --emit bundle     # does NVRTC compile their kernels?
  bench/accept.py --rows parts --emit bundle --caches DIR  # for compare.py --caches, elsewhere
  bench/accept.py --only 'parts_softmax*' --fusec build/release/tools/fusec

Says which rows fusec accepts, without a GPU: each is exported, read by `fusec check`
and compiled as far as CUDA, or to a bundle. With --run those of `parts` and
`embeddings` are also made small, computed by `fusec run --device=reference`, and
compared with PyTorch in double precision."""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy
import torch

import modules
import options as command
import peers
import summary
from peers import own
from workloads import LISTED, WORKLOADS
from worker import measureError

DONE, REFUSED, TOOLCHAIN, WRONG = 0, 1, 4, 5
EPILOGUE = "exit status: 0 done, 1 some row is refused, 4 no fusec, 5 some result is wrong."
ARCH = "sm_90a"
SMALL_BYTES = 1 << 20
LEAST_SIZE = 3
FEW_NUMBERS = 4093  # a prime: no two rows of weights are the same
MOST_ROWS, MOST_SAMPLES = 1000, 16  # of tables


def shrink(workload):
    """With less of its two leading sizes: about SMALL_BYTES."""
    sizes = dict(workload.sizes)
    if "tables" in sizes:
        sizes.update(batch=min(sizes["batch"], MOST_SAMPLES),
                     tables=tuple(rows // MOST_ROWS for rows in sizes["tables"]))
        return dataclasses.replace(workload, sizes=sizes)
    if "rows" in sizes:
        sizes["rows"] = min(sizes["rows"], MOST_ROWS)
    for axis in range(1 if "groups" in sizes else 2)[:len(sizes["shape"])]:
        small = dataclasses.replace(workload, sizes=sizes)
        least = math.ceil(small.leastWork()[1] / SMALL_BYTES)
        shape = list(sizes["shape"])
        shape[axis] = min(shape[axis], max(LEAST_SIZE, shape[axis] // least))
        sizes = {**sizes, "shape": tuple(shape)}
    return dataclasses.replace(workload, sizes=sizes)


def fillWeights(module):
    """With a few numbers over and over, which is quick; weights that are all one value, as
    memory that nobody has written is, would be folded."""
    for tensor in module.state_dict().values():
        if tensor.is_floating_point():
            few = torch.rand(min(FEW_NUMBERS, tensor.numel())).to(tensor.dtype)
            flat = tensor.view(-1)
            whole = flat.numel() // max(few.numel(), 1) * few.numel()
            flat[:whole].view(-1, max(few.numel(), 1)).copy_(few)
            flat[whole:].copy_(few[:flat.numel() - whole])


def buildEmpty(workload):
    """(module, inputs) whose values nobody has drawn."""
    with torch.device("meta"), torch.no_grad():
        module, inputs = modules.build(workload)
    with torch.no_grad():
        if all(tensor.is_floating_point() for tensor in module.state_dict().values()):
            module = module.to_empty(device="cpu")
            fillWeights(module)
        else:  # how many rows tables have
            module, _ = modules.build(workload)
    return module, tuple(
        (torch.empty_like if x.is_floating_point() else torch.zeros_like)(x, device="cpu")
        for x in inputs)  # ids are read, and name rows


def makeSetting(workload, module, inputs, folder, caches=None):
    options = argparse.Namespace(arch=ARCH, caches=caches)
    return peers.Setting(workload, module, inputs, options, pathlib.Path(folder))


def call(*command, **environment):
    """Seconds; RuntimeError holds what it said."""
    start = time.monotonic()
    process = subprocess.run([*map(str, command)], text=True, check=False,
                             env={**os.environ, **environment},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if process.returncode:
        raise RuntimeError(f"{command[1]}: exit status {process.returncode}: "
                           f"{' '.join(process.stdout.split())[:400]}")
    return time.monotonic() - start


def compile(fusec, workload, emit, caches):  # pylint: disable=redefined-builtin
    """What each step took, s."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fusec-accept-") as folder:
        setting = makeSetting(workload, *buildEmpty(workload), folder, caches)
        model, _ = own.exportOnnx(setting)
        took = {"export": time.monotonic() - start, "check": call(fusec, "check", model)}
        kernels = [] if caches else ["--no-cache"]
        took["compile"] = call(fusec, "compile", model, f"--emit={emit}", *kernels, "-o",
                               setting.folder / "out", *own.getOptions(setting),
                               FUSEC_CACHE_DIR=str(own.getCache(setting, "fusec")))
    return took


def toArray(tensor):
    """bf16 as ml_dtypes saves it."""
    return tensor.view(torch.int16).numpy().view("V2") if tensor.dtype == torch.bfloat16 \
        else tensor.numpy()


def fromArray(array):
    return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16) \
        if array.dtype.kind == "V" else torch.from_numpy(array)


def runSmall(fusec, workload):
    """The largest error of an output."""
    torch.manual_seed(0)
    module, inputs = modules.build(shrink(workload))
    expected = peers.listTensors(modules.computeReference(module, inputs))
    eager = peers.listTensors(module(*inputs))
    with tempfile.TemporaryDirectory(prefix="fusec-accept-") as folder:
        setting = makeSetting(workload, module, inputs, folder)
        model, names = own.exportOnnx(setting)[0], own.nameInputs(setting)
        given, got = pathlib.Path(folder) / "in.npz", pathlib.Path(folder) / "out.npz"
        numpy.savez(given, **dict(zip(names, map(toArray, inputs))))
        call(fusec, "run", model, "--device=reference", "-q", "--input", given, "--output", got)
        outputs = [fromArray(array) for array in numpy.load(got).values()]
    errors = [measureError(a, b) for a, b in zip(outputs, expected)]
    bounds = [measureError(a, b) for a, b in zip(eager, expected)]
    if len(outputs) != len(expected) or any(
            summary.isWrong(error, bound, workload.dtype) for error, bound in zip(errors, bounds)):
        raise ArithmeticError(f"errors {errors}, of PyTorch {bounds}")
    return max(errors)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    command.addChoice(parser)
    parser.add_argument("--fusec", metavar="PATH", default=shutil.which("fusec") or
                        command.BUILD / "tools" / "fusec",
                        help="default: in PATH, else build/release")
    parser.add_argument("--emit", choices=("cuda", "bundle"), default="cuda",
                        help="a bundle needs NVRTC; default: cuda")
    parser.add_argument("--run", action="store_true", help="compare results, too, of rows "
                        "`parts` and `embeddings`")
    parser.add_argument("--caches", metavar="DIR", type=pathlib.Path, help="keep exports of models "
                        "without weights, and kernels, where compare.py --caches finds them")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="what each step took")
    options = parser.parse_args(arguments)
    if not os.access(options.fusec, os.X_OK):
        print(f"{options.fusec}: expected fusec; name it with --fusec", file=sys.stderr)
        return TOOLCHAIN
    found, status = {}, DONE
    for name in command.chooseWorkloads(parser, options):
        workload = WORKLOADS[name]
        try:
            entry = compile(options.fusec, workload, options.emit, options.caches)
            if options.run and workload.kind in LISTED:
                entry["error"] = runSmall(options.fusec, workload)
            said = ", ".join(f"{step} {value:.2g}" for step, value in entry.items())
        except (RuntimeError, ArithmeticError) as failure:
            entry = {"failure": " ".join(str(failure).split())[:600]}
            said, status = entry["failure"], max(status, WRONG if isinstance(
                failure, ArithmeticError) else REFUSED)
        found[name] = entry
        print(f"{name}: {said}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
