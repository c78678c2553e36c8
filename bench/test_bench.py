# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of what needs neither a GPU nor PyTorch: python3 bench/test_bench.py"""

import ctypes
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

import compare
import draw_trace
import fusec_runtime
import peers
import plot
import summary
from workloads import CEILINGS, EXACT, GRID, GROUPS, NARROW, ODD, PROMPT, TABLE, WORKLOADS

H200 = CEILINGS["NVIDIA H200"]
BUILDS = pathlib.Path(__file__).resolve().parents[1] / "build"
LIBRARY = os.environ.get("FUSEC_LIBRARY") or next(
    (str(path) for path in sorted(BUILDS.glob("*/runtime/libfusec_rt.so"))), None)


def entry(median, **further):
    return {"median_ms": median, "error": 1e-4, **further}


def row(**contenders):
    return {"floor_ms": 0.5, "dtype": "fp16", "contenders": contenders}


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

    def testBestPeerIsNotThePart(self):
        found = self.summarise("best_peer", a=self.measure(2.0))
        self.assertAlmostEqual(found["ratio"], 9)

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


class WorkloadTest(unittest.TestCase):
    def testGroups(self):
        self.assertEqual({name: len(members) for name, members in GROUPS.items()},
                         {"linear 16-bit": 18, "linear fp16 relu": 9, "linear bf16 gelu": 9,
                          "linear tf32": 9, "swiglu": 14, "gating": 14, "narrow linear": 24,
                          "prompt linear": 21, "odd linear": 24, "linear exact fp32": 14})

    def testNamesAreUniqueAndHaveWork(self):
        self.assertEqual(len(WORKLOADS), len(TABLE) + len(GRID) + len(NARROW) + len(PROMPT) +
                         len(ODD) + len(EXACT))
        for name, workload in WORKLOADS.items():
            self.assertTrue(all(work > 0 for work in workload.leastWork()), name)

    def testFloors(self):
        for name, floor in (("gating_seed_4m", 0.378), ("linear_relu_4096", 0.196),
                            ("dlrm_outer_main_b2048", 0.564), ("rope_fwd", 0.252),
                            ("lora_4096_b8192", 0.249), ("dlrm_dot_mlperf_b65536", 0.451),
                            ("exact_linear_relu_fp32_4096x4096x4096", 1.178)):
            self.assertAlmostEqual(WORKLOADS[name].floorMs(H200), floor, places=3, msg=name)

    def testTableIsChosenByDefault(self):
        self.assertEqual(compare.parseArguments([]).workloads, [w.name for w in TABLE])

    def testPatterns(self):
        options = compare.parseArguments(["--only", "rope_*,grid_gating_*_64x64x64"])
        self.assertEqual(options.workloads,
                         ["rope_fwd", "rope_bwd", "rope_fwd_fp16", "grid_gating_fp16_64x64x64"])

    def testContenders(self):
        options = compare.parseArguments(["--peers", "fusec_graph,xla"])
        self.assertEqual(options.peers, ["eager", "xla", "fusec", "fusec_graph"])
        self.assertNotIn("autotune", compare.parseArguments(["--quick"]).peers)


class PlotTest(unittest.TestCase):
    def testIsXml(self):
        good = row(eager=entry(4.0), fusec=entry(2.0))
        summary.compareWorkload(good, {"eager": [4.0] * 9, "fusec": [2.0] * 9})
        failed = row(eager=entry(4.0), fusec={"failure": "<not supported>"})
        results = {"machine": {"device": "A & B"}, "workloads": {"good": good, "<bad>": failed}}
        xml.dom.minidom.parseString(plot.render(results))

    def testMarksWhatTheBytesTake(self):
        found = row(eager=entry(4.0), fusec=entry(2.0))
        summary.compareWorkload(found, {"eager": [4.0] * 9, "fusec": [2.0] * 9})
        results = {"machine": {"device": "A"}, "workloads": {"w": found}}
        self.assertNotIn("line:", plot.render(results))
        found["contenders"]["traffic"] = entry(1.5, part=True)
        drawn = plot.render(results)
        self.assertIn("w: 1500.0 us for its bytes", drawn)
        self.assertIn("line: moving the bytes)", drawn)

    def testGridsShowWhichShapesAreBelow(self):
        rows = {}
        for ratio in (0.96, 0.98, 1.02):
            found = {**row(cublas=entry(1.0, part=True), fusec=entry(1.0)), "rows": "grid"}
            summary.compareWorkload(found, {"cublas": [ratio] * 9, "fusec": [1.0] * 9})
            rows[f"at_{ratio}"] = found
        results = {"machine": {"device": "A"}, "workloads": rows}
        circles = xml.dom.minidom.parseString(plot.render(results)).getElementsByTagName("circle")
        self.assertEqual([circle.getAttribute("class") for circle in circles],
                         ["below", "lose", "win"])
        for found in rows.values():
            found["rows"] = "table"
        self.assertNotIn("<circle", plot.render(results))


class WorkerTest(unittest.TestCase):
    """A worker that crashes or hangs loses one contender, not the run."""

    def compareWith(self, script, former=None):
        """What the file holds; --update, where there is a former run."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "worker.py"
            path.write_text("import json, os, sys, time\n"
                            "def tell(**r): print(json.dumps(r), flush=True)\n"
                            "o = json.loads(sys.argv[1])\n"
                            "tell(machine={'device': 'NVIDIA H200'})\n" + script)
            out = pathlib.Path(folder) / "out.json"
            options = compare.parseArguments(["--only", "rope_fwd,rope_bwd", "--out", str(out)])
            if former is not None:
                out.write_text(former)
                options.update = True
            options.deadline = time.time() + 1000
            options.worker = path
            comparison = compare.Comparison(options)
            self.assertTrue(comparison.run())
            comparison.write()
            self.assertEqual(sorted(p.name for p in out.parent.iterdir()),
                             ["out.json", "out.svg", "worker.py"])
            return json.loads(out.read_text())

    LOOP = ("for name in o['workloads']:\n"
            "  gone = o['excluded'].get(name, {})\n"
            "  for peer in ('eager', 'fusec'):\n"
            "    if peer in gone: continue\n"
            "    tell(at=[name, peer], limit_s=1)\n"
            "    if [name, peer] == ['rope_fwd', 'fusec']: FAULT\n"
            "  row = {'dtype': 'fp32', 'contenders': {'eager': {'median_ms': 1.0},\n"
            "         'fusec': {'failure': gone['fusec']} if gone else {'median_ms': 0.5}}}\n"
            "  tell(workload=name, row=row, samples={'eager': [1.0] * 9, 'fusec': [0.5] * 9})\n")

    GRID_ROW = "grid_swiglu_bf16_64x64x64"

    def formerRun(self, device="NVIDIA H200"):
        """One row of a grid, one that this run replaces and one of a name that is gone."""
        grid = row(eager=entry(2.0), library=entry(1.5), fusec=entry(1.0))
        summary.compareWorkload(grid, {"eager": [2.0] * 9, "library": [1.5] * 9,
                                       "fusec": [1.0] * 9})
        return json.dumps({"machine": {"device": device}, "groups": {"stale": {}},
                           "workloads": {"gone": grid, self.GRID_ROW: grid, "rope_fwd": grid}})

    def testUpdateKeepsOtherRows(self):
        found = self.compareWith(self.LOOP.replace("FAULT", "pass"), self.formerRun())
        self.assertEqual(list(found["workloads"]),
                         ["rope_fwd", "rope_bwd", self.GRID_ROW, "gone"])
        self.assertEqual(found["workloads"]["rope_fwd"]["speedup"]["ratio"], 2)
        self.assertEqual(list(found["groups"]), ["swiglu"])
        self.assertEqual(found["groups"]["swiglu"]["library"]["ratio"], 1.5)
        self.assertEqual(len(found["groups"]["swiglu"]["library"]["missing"]), 13)

    def testUpdateRefusesWhatItCannotKeep(self):
        for former in (self.formerRun("another"), "[]", "{"):
            with self.assertRaises(compare.FormerError):
                self.compareWith(self.LOOP.replace("FAULT", "pass"), former)

    def check(self, fault, why):
        rows = self.compareWith(self.LOOP.replace("FAULT", fault))["workloads"]
        self.assertIn(why, rows["rope_fwd"]["contenders"]["fusec"]["failure"])
        self.assertEqual(rows["rope_fwd"]["contenders"]["eager"]["median_ms"], 1)
        self.assertEqual(rows["rope_bwd"]["speedup"]["ratio"], 2)
        self.assertEqual(compare.judge(rows), compare.UNSUPPORTED)

    def testCrash(self):
        self.check("os._exit(70)", "crashed, exit status 70")

    def testHang(self):
        self.check("time.sleep(60)", "hung: nothing for 1 s")


class RuntimeTest(unittest.TestCase):
    def testStructs(self):
        self.assertEqual(ctypes.sizeof(fusec_runtime.CTensor), 56)
        self.assertEqual(ctypes.sizeof(fusec_runtime.CLoadOptions), 24)
        self.assertEqual(ctypes.sizeof(fusec_runtime.CPrepareOptions), 40)

    @unittest.skipUnless(LIBRARY, "no libfusec_rt.so in build/*/runtime or $FUSEC_LIBRARY")
    def testErrorsHaveMessages(self):
        library = fusec_runtime.Library(LIBRARY)
        with self.assertRaises(fusec_runtime.FusecError) as caught:
            library.load("/nowhere/model.fusec", driver="/nowhere/libcuda.so")
        self.assertRegex(str(caught.exception), "nowhere")


class ContenderTest(unittest.TestCase):
    def testNeedsComeFirst(self):
        names = list(peers.CONTENDERS)
        for name, needed in peers.NEEDS.items():
            self.assertLess(names.index(needed), names.index(name))


class Trace(unittest.TestCase):
    def makeTrace(self, runs=3):
        def name(what, pid, tid, text):
            return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": text}}

        def draw(cat, pid, tid, text, ts, dur, run, **args):
            return {"ph": "X", "cat": cat, "name": text, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                    "args": {"run": run, **args}}
        events = [name("process_name", 1, 0, "host"), name("thread_name", 1, 1, "enqueue"),
                  name("process_name", 2, 0, "a device"), name("thread_name", 2, 1, "stream 7"),
                  name("thread_name", 2, 2, "stream 7, started early")]
        for run in range(runs):
            begin = 1000 * run
            events += [draw("host", 1, 1, f"run {run}", begin, 2, run),
                       draw("kernel", 2, 1, "matmul", begin + 100, 30 + run, run, nodes=["<a>\x1b&"]),
                       draw("kernel", 2, 2, "relu", begin + 120, 40, run, nodes=[])]
        return {"otherData": {"model": "m<.fusec", "device": "a device", "method": "activity"}, "traceEvents": events}

    def testDrawsTheMedianRun(self):
        trace = self.makeTrace()
        trace["traceEvents"][-1]["dur"] = 90
        trace["traceEvents"][-4]["dur"] = 50
        drawn = draw_trace.render(trace)
        xml.dom.minidom.parseString(drawn)
        self.assertIn("m&lt;.fusec, run 1: 70.0 us", drawn)
        self.assertIn("stream 7, started early", drawn)
        self.assertIn("&lt;a&gt;\ufffd&amp;", drawn)
        self.assertIn("run 2: 110.0 us", draw_trace.render(trace, 2))

    def testNothingToDraw(self):
        for trace, run in ((self.makeTrace(0), None), (self.makeTrace(), 7)):
            with self.assertRaises(SystemExit):
                draw_trace.render(trace, run)


if __name__ == "__main__":
    sys.exit(unittest.main())
