#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/fit_costs.py measure FUSEC test/probes      # on the device; a file a layer
  bench/fit_costs.py report FUSEC test/probes
  bench/fit_costs.py fit FUSEC test/probes --data compiler/schedule/devices/sm_90a.inc

Holds the cost model against times of all of its candidates. A probe is what `fusec tune
--json` says of one layer of the benchmark, or of a kernel of test/layers/part_kernels.py,
which multiplies nothing, in a file of its name; what the model predicts is asked of
FUSEC, so that probes stay good where the model changes.
`fit` prints the device's data file with the coefficients that suit the probes best;
all are of one device."""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "layers"))
import layers  # noqa: E402
import part_kernels  # noqa: E402
from model_error import nameUnit  # noqa: E402

# Each unit and family, in shapes that differ in what bounds them.
LAYERS = ("grid_linear_relu_fp16_1024x1024x1024", "grid_linear_relu_fp16_4096x4096x4096",
          "grid_gating_fp16_1024x4096x11008", "grid_linear_relu_fp32_2048x2048x2048",
          "narrow_linear_relu_fp16_8x4096x4096", "narrow_linear_relu_fp16_64x4096x4096",
          "prompt_linear_relu_fp16_320x4096x4096", "exact_linear_relu_fp32_16x4096x4096",
          "exact_linear_relu_fp32_1024x1024x1024", "lora_r16_16_4096", *part_kernels.PARTS)
# A coefficient that few candidates feel stays near what it was: this standard
# deviation of its logarithm, beside that of a time.
PRIOR, NOISE = 0.3, 0.05
FASTEST = 4  # a candidate that takes twice as long as the fastest counts 2^-4
STEPS = 8  # of the fit, each along the model's slopes at the last one
FARTHEST = 0.3  # that a step may change a logarithm: slopes hold nearby only
LINE = re.compile(r"(?P<head>COST\((?P<cost>[\w.]+), |"
                  r"REACHED\((?P<table>[\w.]+), (?P<row>\d+), [^,]+, )(?P<value>[^)]+)\)")

Point = collections.namedtuple("Point", "step unit predicted measured effects")


def callFusec(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}: {done.stdout.strip()}"
                 f"{done.stderr.strip()}")
    return json.loads(done.stdout)["result"]


class Models:
    """The layers' models, in a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        layers.writeWeights(self.folder)
        self.known = {layer.name: layer for layer in layers.chooseLayers()}

    def write(self, name):
        if name in part_kernels.PARTS:
            return part_kernels.writePart(self.folder, name), ()
        if name not in self.known:
            sys.exit(f"{name}: expected a layer of bench/workloads.py, or a part of "
                     "test/layers/part_kernels.py")
        return layers.writeLayer(self.folder, self.known[name])

    def predict(self, fusec, name, target, costs=None):
        model, options = self.write(name)
        words = [fusec, "tune", model, "--json", "--predict", f"--arch={target}", *options]
        if costs:
            path = self.folder / f"{name}.costs.json"
            path.write_text(json.dumps(costs))
            words.append(f"--costs={path}")
        return callFusec(*words)

    def predictAll(self, fusec, probes, costs=None):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda name: self.predict(
                fusec, name, probes[name]["target"], costs), probes))


def readProbes(folder):
    return {path.stem: json.loads(path.read_text())
            for path in sorted(pathlib.Path(folder).glob("*.json"))}


def getUnit(family, schedule):
    unit = nameUnit(family, schedule)
    return f"{family}, {unit}" if unit else family


def nameStep(step):
    return tuple(step[key] for key in ("family", "precision", "operands", "region")) + tuple(
        sorted(step["sizes"].items()))


def pair(probes, predictions):
    """A Point for each candidate that was measured and is still one."""
    points = []
    for (name, probe), prediction in zip(probes.items(), predictions):
        said = {(nameStep(step), each["schedule"]): each for step in prediction["steps"]
                for each in step["candidates"]}
        for step in probe["steps"]:
            for each in step["candidates"]:
                now = said.get((nameStep(step), each["schedule"]))
                if now and each["measured_us"]:
                    points.append(Point((name, nameStep(step)),
                                        getUnit(step["family"], each["schedule"]),
                                        now["predicted_us"], each["measured_us"],
                                        now["effects"]))
    return points


def correlateRanks(points):
    """Spearman's; equal times share a rank."""
    def rank(values):
        values = numpy.asarray(values)
        return ((values[:, None] > values).sum(1) + (values[:, None] >= values).sum(1)) / 2
    ranks = [rank([p.predicted for p in points]), rank([p.measured for p in points])]
    if any(numpy.ptp(each) == 0 for each in ranks):
        return 1.0
    return float(numpy.corrcoef(*ranks)[0, 1])


def getRegret(points):
    """How many times as long as the fastest the model's pick takes."""
    pick = min(points, key=lambda point: point.predicted)
    return pick.measured / min(point.measured for point in points)


def group(points, key):
    groups = collections.defaultdict(list)
    for point in points:
        groups[key(point)].append(point)
    return dict(sorted(groups.items()))


def findError(points, weights=None):
    logs = [math.log(point.predicted / point.measured) for point in points]
    return float(numpy.sqrt(numpy.average(numpy.square(logs), weights=weights))) if logs else 0.0


def weigh(points):
    """How much the fit heeds each: picks are made among the fastest of a step."""
    fastest = {step: min(point.measured for point in own)
               for step, own in group(points, lambda point: point.step).items()}
    return numpy.array([(fastest[p.step] / p.measured) ** FASTEST for p in points])


def report(points, file):
    print("| unit | candidates | error | rank correlation |\n|---|--:|--:|--:|", file=file)
    for unit, own in group(points, lambda point: point.unit).items():
        ranks = [correlateRanks(some) for some in group(own, lambda p: p.step).values()
                 if len(some) > 2]
        print(f"| {unit} | {len(own)} | {findError(own):.1%} | "
              f"{numpy.mean(ranks) if ranks else math.nan:.2f} |", file=file)
    print("\n| step | candidates | error | rank correlation | regret |\n|---|--:|--:|--:|--:|",
          file=file)
    for step, own in group(points, lambda point: point.step).items():
        print(f"| {step[0]}, {step[1][0]} | {len(own)} | {findError(own):.1%} | "
              f"{correlateRanks(own):.2f} | {getRegret(own) - 1:.1%} |", file=file)


def readCosts(path):
    """name -> value of the lines that are fitted."""
    costs = {}
    for line in path.read_text().splitlines():
        if match := LINE.match(line):
            name = match["cost"] or f"{match['table']}[{match['row']}]"
            costs[name] = float(match["value"])
    return costs


def printCosts(path, costs):
    """The data file with other values; its comments and its other lines stay."""
    lines = []
    for line in path.read_text().splitlines():
        match = LINE.match(line)
        name = match and (match["cost"] or f"{match['table']}[{match['row']}]")
        if name in costs and abs(costs[name] / float(match["value"]) - 1) > 1e-3:
            line = f"{match['head']}{costs[name]:.4g})"
        lines.append(line)
    return "\n".join(lines) + "\n"


def stepTowards(points, costs, start):
    """Gauss and Newton's: the coefficients that suit the points best along the
    model's slopes, held to `start` by the prior."""
    names = sorted({name for point in points for name in point.effects})
    matrix = numpy.array([[point.effects.get(name, 0.0) for name in names] for point in points])
    missing = numpy.array([math.log(point.measured / point.predicted) for point in points])
    held = numpy.array([math.log(start[name] / costs[name]) for name in names])
    heeded = numpy.sqrt(weigh(points)) / NOISE
    rows = numpy.vstack([matrix * heeded[:, None], numpy.eye(len(names)) / PRIOR])
    wanted = numpy.concatenate([missing * heeded, held / PRIOR])
    change = numpy.linalg.lstsq(rows, wanted, rcond=None)[0]
    change *= min(1.0, FARTHEST / max(1e-9, numpy.abs(change).max(initial=0)))
    return {**costs, **{name: costs[name] * math.exp(by) for name, by in zip(names, change)}}


def fit(models, fusec, probes, start):
    """The best coefficients seen, and the points as they predict them."""
    costs, best, least = dict(start), None, math.inf
    for _ in range(STEPS + 1):
        points = pair(probes, models.predictAll(fusec, probes, costs))
        if not points:
            sys.exit("no probe has a measured candidate that the model still has")
        error = findError(points, weigh(points))
        print(f"error {error:.2%}", file=sys.stderr)
        if best and error > 0.999 * least:
            break
        best, least = (costs, points), error
        costs = stepTowards(points, costs, start)
    return best


def measure(models, fusec, folder, options):
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.layers or LAYERS:
        model, own = models.write(name)
        words = [fusec, "tune", model, "--json", "--quiet", f"--probe={os.devnull}",
                 f"--candidates={options.candidates}", f"--rounds={options.rounds}", *own]
        (folder / f"{name}.json").write_text(json.dumps(callFusec(*words), indent=1) + "\n")
        print(name, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("measure", "report", "fit"))
    parser.add_argument("fusec", type=pathlib.Path)
    parser.add_argument("probes", type=pathlib.Path, help="the folder of probes")
    parser.add_argument("--data", type=pathlib.Path, help="the device's data file, for fit")
    parser.add_argument("--layers", nargs="*", help="to measure; others than the usual ones")
    parser.add_argument("--candidates", type=int, default=24, help="0: all")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    fusec = options.fusec.resolve()
    with tempfile.TemporaryDirectory() as name:
        models = Models(name)
        if options.action == "measure":
            return measure(models, fusec, options.probes, options)
        probes = readProbes(options.probes)
        if not probes:
            sys.exit(f"{options.probes}: expected probes, *.json; `measure` writes them")
        if options.action == "report":
            return report(pair(probes, models.predictAll(fusec, probes)), sys.stdout)
        if not options.data:
            sys.exit("fit: expected --data, the device's file in compiler/schedule/devices/")
        costs, points = fit(models, fusec, probes, readCosts(options.data))
        report(points, sys.stderr)
        print(printCosts(options.data, costs), end="")


if __name__ == "__main__":
    main()
