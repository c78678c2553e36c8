# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics of one row and of groups."""

import json
import unittest

import compare
import summary
from tests.rows import entry, row


class SummaryTest(unittest.TestCase):
    def testQuantile(self):
        self.assertEqual(summary.quantile([3, 1, 2], 0.5), 2)
        self.assertAlmostEqual(summary.quantile([0, 10], 0.1), 1)

    def testSummarise(self):
        found = summary.summarise([2.0, 1.0, 2.0, 1.0])
        self.assertEqual((found["median_ms"], found["rounds"]), (1.5, 4))
        self.assertEqual(found["even_over_odd"], 2)

    def testPairedRatioIgnoresCommonDrift(self):
        own = [1.0 + 0.01 * i for i in range(40)]
        found = summary.pairedRatio([1.25 * t for t in own], own)
        for key in ("ratio", "low", "high"):
            self.assertAlmostEqual(found[key], 1.25)

    def testPairedRatioIntervalHoldsTheMedian(self):
        own = [1.0 + 0.1 * (i * 7 % 5) for i in range(40)]
        found = summary.pairedRatio([1.1] * 40, own)
        self.assertLess(found["low"], found["high"])
        self.assertTrue(found["low"] <= found["ratio"] <= found["high"])

    def testWrong(self):
        self.assertFalse(summary.isWrong(1e-3, 1e-3, "fp16"))
        self.assertFalse(summary.isWrong(9e-3, 5e-3, "fp16"))
        self.assertTrue(summary.isWrong(2e-2, 1e-3, "fp16"))
        self.assertTrue(summary.isWrong(float("nan"), 1e-3, "fp16"))

    def testWrongPeersDoNotCount(self):
        found = row(eager=entry(4.0), triton=entry(1.0, wrong=True), fusec=entry(2.0),
                    fusec_graph=entry(1.5))
        times = {"eager": [4.0] * 9, "triton": [1.0] * 9, "fusec": [2.0] * 9,
                 "fusec_graph": [1.5] * 9}
        summary.compareWorkload(found, times)
        self.assertEqual((found["best"], found["best_peer"]), ("fusec_graph", "eager"))
        self.assertAlmostEqual(found["speedup"]["ratio"], 4 / 1.5)
        self.assertEqual(found["over_floor"], 3)

    def testPartsAreNoPeers(self):
        found = row(eager=entry(4.0), cublas=entry(1.0, part=True), fusec=entry(2.0))
        summary.compareWorkload(found, {"eager": [4.0] * 9, "cublas": [1.0] * 9,
                                        "fusec": [2.0] * 9})
        self.assertEqual(found["best_peer"], "eager")
        self.assertIn("| (1.0000) |", summary.formatTable({"w": found}))

    def testWhatIsSampledIsComparedWithFusecSampledAlike(self):
        found = row(eager=entry(4.0), xla=entry(3.0, runs_a_sample=9), fusec=entry(2.0),
                    fusec_alike=entry(1.0, runs_a_sample=9, part=True))
        times = {"eager": [4.0] * 9, "xla": [3.0] * 9, "fusec": [2.0] * 9,
                 "fusec_alike": [1.0] * 9}
        summary.compareWorkload(found, times)  # 4 / 2 is less than 3 / 1
        self.assertEqual((found["best"], found["best_peer"]), ("fusec", "eager"))
        found["contenders"]["xla"]["median_ms"], times["xla"] = 1.5, [1.5] * 9
        summary.compareWorkload(found, times)
        self.assertEqual(found["best_peer"], "xla")
        self.assertAlmostEqual(found["speedup"]["ratio"], 1.5)
        del found["contenders"]["fusec_alike"]  # of a row that was measured without
        summary.compareWorkload(found, times)
        self.assertAlmostEqual(found["speedup"]["ratio"], 0.75)

    def testWhatAnUpdateCostsIsPaired(self):
        found = row(eager=entry(4.0), dense=entry(1.0, part=True), fusec=entry(1.02))
        summary.compareWorkload(found, {"eager": [4.0] * 9, "dense": [1.0] * 9,
                                        "fusec": [1.02] * 9})
        self.assertEqual(found["best_peer"], "eager")
        self.assertAlmostEqual(found["against"]["dense"]["ratio"], 1 / 1.02, places=3)

    def testTableShowsFailures(self):
        found = row(eager=entry(4.0), fusec={"failure": "not supported"})
        summary.compareWorkload(found, {"eager": [4.0] * 9})
        text = summary.formatTable({"w": found})
        self.assertIn("| failed |", text)
        self.assertIn("- w, fusec: not supported", text)
        columns = [line.count("|") for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(len(set(columns)), 1)


class GroupTest(unittest.TestCase):
    """The statement about a grid, from rows with known ratios."""

    NAMES = ["a", "b", "c"]

    def measure(self, ratio, name="cublas", spread=0.0):
        """A row of 30 rounds whose ratios lie evenly in ratio * (1 -+ spread)."""
        own = [1.0 + 0.01 * (i * 7 % 5) for i in range(30)]
        peer = [t * ratio * (1 + spread * (2 * i / 29 - 1)) for i, t in enumerate(own)]
        found = row(eager=entry(9.0), fusec=entry(1.0), **{name: entry(1.0, part=True)})
        summary.compareWorkload(found, {"eager": [9 * t for t in own], "fusec": own, name: peer})
        return found

    def summarise(self, reference="cublas", **rows):
        return summary.summariseGroups(rows, {"all": self.NAMES})["all"].get(reference)

    def testMeanAndWorst(self):
        found = self.summarise(a=self.measure(2.0), b=self.measure(0.5), c=self.measure(0.98))
        for key in ("ratio", "low", "high"):
            self.assertAlmostEqual(found[key], 0.98 ** (1 / 3), places=4)
        self.assertEqual(found["worst"], {"workload": "b", "ratio": 0.5})
        self.assertEqual((found["of"], found["missing"]), (3, []))
        self.assertEqual((found["below_1"], found["below_least"]), (2, 1))

    def testIntervalHoldsTheMeanAndNarrowsWithShapes(self):
        one = self.summarise(a=self.measure(1.0, spread=0.1))
        self.assertTrue(0.9 < one["low"] < one["ratio"] < one["high"] < 1.1)
        # The standard error of the median of n evenly spread values is spread / sqrt(n).
        self.assertAlmostEqual(one["high"] - one["low"], 2 * 1.96 * 0.1 / 30 ** 0.5, delta=0.02)
        three = self.summarise(**{n: self.measure(1.0, spread=0.1) for n in self.NAMES})
        self.assertAlmostEqual((three["high"] - three["low"]) / (one["high"] - one["low"]),
                               3 ** -0.5, delta=0.12)

    def testRoundsAreKeptAndSufficient(self):
        rows = {n: self.measure(1.01, spread=0.05) for n in self.NAMES}
        stored = json.loads(compare.formatJson(compare.roundNumbers(rows)))
        self.assertEqual(self.summarise(**rows), self.summarise(**stored))

    def testWhatBytesTakeIsStated(self):
        found = self.summarise("traffic", a=self.measure(0.9, "traffic"))
        self.assertAlmostEqual(found["ratio"], 0.9)

    def testBestPeerIsNotThePart(self):
        found = self.summarise("best_peer", a=self.measure(2.0))
        self.assertAlmostEqual(found["ratio"], 9)

    def testRoundsBelowZeroCountAsNone(self):
        against = {"xla": {"ratio": -1.0, "rounds": [-2.0, -1.0, -1.0]}}
        rows = {"a": {"contenders": {"xla": entry(1)}, "best_peer": "xla", "against": against},
                "b": {"contenders": {"xla": entry(1)}, "best_peer": "xla",
                      "against": {"xla": {"ratio": 1.0, "rounds": [1.0, 1.0, 1.0]}}}}
        found = summary.summariseGroup(rows, ["a", "b"], "best_peer")
        self.assertAlmostEqual(found["low"], summary.NO_TIME ** 0.5)

    def testMissingAndFailedAreNamed(self):
        failed = row(eager=entry(9.0), cublas={"failure": "gone"}, fusec=entry(1.0))
        summary.compareWorkload(failed, {"eager": [9.0] * 30, "fusec": [1.0] * 30})
        wrong = row(eager=entry(9.0), cublas=entry(1.0), fusec=entry(1.0, wrong=True))
        summary.compareWorkload(wrong, {n: [1.0] * 30 for n in ("eager", "cublas", "fusec")})
        found = self.summarise(a=self.measure(1.25), b=failed, c=wrong)
        self.assertAlmostEqual(found["ratio"], 1.25)
        self.assertEqual(found["missing"], ["b", "c"])
        self.assertEqual(self.summarise(a=self.measure(1.25))["missing"], ["b", "c"])
        self.assertNotIn("ratio", self.summarise(b=failed))

    def testWhatWasNotTriedIsLeftOut(self):
        self.assertIsNone(self.summarise("library", a=self.measure(1.0)))
        self.assertEqual(summary.summariseGroups({}, {"all": self.NAMES}), {})

    def testTable(self):
        failed = row(eager=entry(9.0), fusec={"failure": "gone"})
        summary.compareWorkload(failed, {"eager": [9.0] * 30})
        text = summary.formatGroups(summary.summariseGroups(
            {"a": self.measure(0.96), "d": failed}, {"one": self.NAMES, "two": ["d"]}))
        self.assertIn("| one | cublas | 1/3 | 0.960 (0.960-0.960) | 0.960 | a | 1 | 1 |", text)
        self.assertIn("| two | best peer | 0/1 |", text)
        self.assertEqual(len({line.count("|") for line in text.splitlines()}), 1)
