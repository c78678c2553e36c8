#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""That the cost model's order agrees with times that were measured: of a kernel's
candidates in test/probes, of a family's kernels in the profiles of the benchmark;
and that bench/fit_costs.py finds coefficients again."""

import itertools
import math
import pathlib
import random
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import fit_costs  # noqa: E402
import model_error  # noqa: E402
import profiles  # noqa: E402

FUSEC = None
DATA = ROOT / "compiler/schedule/devices/sm_90a.inc"
PROBES = ROOT / "test/probes"
# Of the model that the probes were measured beside, with room for their noise.
# Where the slowest candidate takes less than twice as long as the fastest, most
# take the same, and there is no order.
LEAST_CORRELATION, LEAST_SPREAD = 0.75, 2
MOST_REGRET = {"gemm": 1.03}
# What multiplies nothing was measured on an H100, whose memory is slower than that
# of the H200 which the model is of.
OTHER_PROBES = PROBES / "nvidia-h100"
MOST_REGRET_THERE = {"pointwise": 1.05, "reduce": 1.17, "scan": 1.05, "transpose": 1.08}
# Of kernels of different sizes, as their profiles were taken: the share of the pairs
# that are put in order. Kernels that take about as long have none, and a rank
# correlation over a few of them is chance.
PROFILES = ROOT / "bench/results"
LEAST_IN_ORDER = 0.98
LAYERS = ("narrow_linear_relu_fp16_8x4096x4096", "grid_linear_relu_fp16_1024x1024x1024")


def pretendToMeasure(models, costs, noise):
    """Probes of a device on which the model holds with other coefficients."""
    draw = random.Random(0)
    probes = {name: models.predict(FUSEC, name, "sm_90a", costs) for name in LAYERS}
    for probe in probes.values():
        for step in probe["steps"]:
            for each in step["candidates"]:
                each["measured_us"] = each["predicted_us"] * math.exp(draw.gauss(0, noise))
    return probes


def compareOrders(points):
    """Of each two kernels of which one takes LEAST_SPREAD times as long as the other,
    whether the model says that it takes longer."""
    return [slow["predicted"] > fast["predicted"]
            for slow, fast in itertools.permutations(points, 2)
            if slow["measured"] > LEAST_SPREAD * fast["measured"]]


class CostsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.models = fit_costs.Models(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def testFitFindsCoefficientsAgain(self):
        start = fit_costs.readCosts(DATA)
        true = {**start, "skinny.memory": start["skinny.memory"] * 1.2,
                "rates.launch": start["rates.launch"] * 1.3,
                "wgmma.reachedPingPong[1]": start["wgmma.reachedPingPong[1]"] * 0.8}
        probes = pretendToMeasure(self.models, true, noise=0.01)
        before = fit_costs.pair(probes, self.models.predictAll(FUSEC, probes))
        costs, after = fit_costs.fit(self.models, FUSEC, probes, start)
        self.assertGreater(fit_costs.findError(before), 0.05)
        self.assertLess(fit_costs.findError(after), 0.02)
        self.assertAlmostEqual(costs["rates.launch"] / true["rates.launch"], 1, delta=0.15)
        text = fit_costs.printCosts(DATA, costs)
        self.assertIn("LIMIT(sharedBytes, 227 * kib)\n", text)
        self.assertIn(f"COST(rates.launch, {costs['rates.launch']:.4g})\n", text)

    def testDataFileNamesWhatTheCompilerKnows(self):
        costs = fit_costs.readCosts(DATA)
        same = [self.models.predict(FUSEC, LAYERS[0], "sm_90a", each)["steps"]
                for each in (None, costs)]
        self.assertEqual(*same)
        self.assertEqual(fit_costs.printCosts(DATA, costs), DATA.read_text())

    def checkOrder(self, folder, mostRegret):
        probes = fit_costs.readProbes(folder)
        if not probes:
            self.skipTest(f"no probes in {folder}")
        points = fit_costs.pair(probes, self.models.predictAll(FUSEC, probes))
        steps = fit_costs.group(points, lambda point: point.step)
        self.assertLessEqual(set(mostRegret), {step[1][0] for step in steps},
                             "probes are of no candidates that the model has")
        for step, own in steps.items():
            with self.subTest(step=step):
                times = [point.measured for point in own]
                if len(own) > 4 and max(times) > LEAST_SPREAD * min(times):
                    self.assertGreaterEqual(fit_costs.correlateRanks(own), LEAST_CORRELATION)
                self.assertLessEqual(fit_costs.getRegret(own), mostRegret[step[1][0]])

    def testOrderAgreesWithProbes(self):
        self.checkOrder(PROBES, MOST_REGRET)

    def testOrderAgreesWithProbesOfOthers(self):
        self.checkOrder(OTHER_PROBES, MOST_REGRET_THERE)

    def testOrderAgreesWithProfiles(self):
        rows = [row for path in sorted(PROFILES.glob("*profiles.json"))
                for row in profiles.load(path)["rows"].items()]
        families = {family: compareOrders(points)
                    for family, points in model_error.collect(rows).items()}
        self.assertLessEqual({"reduce", "pointwise", "chain", "pairs"},
                             {family for family, agreed in families.items() if agreed})
        for family, agreed in families.items():
            with self.subTest(family=family):
                self.assertGreaterEqual(sum(agreed), LEAST_IN_ORDER * len(agreed))


if __name__ == "__main__":
    FUSEC = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
