# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured, and by whom."""

import unittest

import compare
import peers
from workloads import CEILINGS, EXACT, GRID, GROUPS, LONG, NARROW, ODD, PROMPT, TABLE, WORKLOADS

H200 = CEILINGS["NVIDIA H200"]


class WorkloadTest(unittest.TestCase):
    def testGroups(self):
        self.assertEqual({name: len(members) for name, members in GROUPS.items()},
                         {"linear 16-bit": 18, "linear fp16 relu": 9, "linear bf16 gelu": 9,
                          "linear tf32": 9, "swiglu": 14, "gating": 14, "narrow linear": 24,
                          "prompt linear": 21, "odd linear": 24, "linear exact fp32": 14,
                          "long linear": 48})

    def testNamesAreUniqueAndHaveWork(self):
        self.assertEqual(len(WORKLOADS), len(TABLE) + len(GRID) + len(NARROW) + len(PROMPT) +
                         len(ODD) + len(EXACT) + len(LONG))
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


class ContenderTest(unittest.TestCase):
    def testNeedsComeFirst(self):
        names = list(peers.CONTENDERS)
        self.assertEqual(peers.getNeeded("fusec_graph"), "fusec")
        for name in names:
            needed = peers.getNeeded(name)
            if needed:
                self.assertLess(names.index(needed), names.index(name))
