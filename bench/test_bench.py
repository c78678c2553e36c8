# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of what needs neither a GPU nor PyTorch: python3 bench/test_bench.py"""

import ctypes
import os
import pathlib
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

import compare
import fusec_runtime
import peers
import plot
import summary
from workloads import CEILINGS, TABLE, WORKLOADS

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

    def testTableShowsFailures(self):
        found = row(eager=entry(4.0), fusec={"failure": "not supported"})
        summary.compareWorkload(found, {"eager": [4.0] * 9})
        text = summary.formatTable({"w": found})
        self.assertIn("| failed |", text)
        self.assertIn("- w, fusec: not supported", text)
        columns = [line.count("|") for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(len(set(columns)), 1)


class WorkloadTest(unittest.TestCase):
    def testFloors(self):
        for name, floor in (("gating_seed_4m", 0.378), ("linear_relu_4096", 0.196),
                            ("dlrm_outer_main_b2048", 0.564), ("rope_fwd", 0.252),
                            ("lora_4096_b8192", 0.249), ("dlrm_dot_mlperf_b65536", 0.451)):
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


class WorkerTest(unittest.TestCase):
    """A worker that crashes or hangs loses one contender, not the run."""

    def compareWith(self, script):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "worker.py"
            path.write_text("import json, os, sys, time\n"
                            "def tell(**r): print(json.dumps(r), flush=True)\n"
                            "o = json.loads(sys.argv[1])\n"
                            "tell(machine={'device': 'NVIDIA H200'})\n" + script)
            options = compare.parseArguments(["--only", "rope_fwd,rope_bwd", "--out",
                                              str(pathlib.Path(folder) / "out.json")])
            options.deadline = time.time() + 1000
            options.worker = path
            comparison = compare.Comparison(options)
            self.assertTrue(comparison.run())
            return comparison.results

    LOOP = ("for name in o['workloads']:\n"
            "  gone = o['excluded'].get(name, {})\n"
            "  for peer in ('eager', 'fusec'):\n"
            "    if peer in gone: continue\n"
            "    tell(at=[name, peer], limit_s=1)\n"
            "    if [name, peer] == ['rope_fwd', 'fusec']: FAULT\n"
            "  row = {'dtype': 'fp32', 'contenders': {'eager': {'median_ms': 1.0},\n"
            "         'fusec': {'failure': gone['fusec']} if gone else {'median_ms': 0.5}}}\n"
            "  tell(workload=name, row=row, samples={'eager': [1.0] * 9, 'fusec': [0.5] * 9})\n")

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


if __name__ == "__main__":
    sys.exit(unittest.main())
