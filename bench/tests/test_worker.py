# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process that measures, and what is kept of it."""

import json
import pathlib
import tempfile
import time
import unittest

import compare
import summary
from tests.rows import entry, row


class WorkerTest(unittest.TestCase):
    """A worker that crashes or hangs loses one contender, not the run."""

    def compareWith(self, script, former=None, profiles=None):
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
                if profiles is not None:
                    (out.parent / "out-profiles.json").write_text(profiles)
                options.update = True
            options.deadline = time.time() + 1000
            options.worker = path
            comparison = compare.Comparison(options)
            self.assertTrue(comparison.run())
            comparison.write()
            names = sorted(p.name for p in out.parent.iterdir())
            self.profiles = {name: json.loads((out.parent / name).read_text())
                             for name in names if name.endswith("-profiles.json")}
            self.assertEqual([name for name in names if name not in self.profiles],
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

    def testWhatIsRaisedIsTheReason(self):
        self.check("tell(raised='RuntimeError: lost'); sys.exit(1)", "RuntimeError: lost")

    def testHang(self):
        self.check("time.sleep(60)", "hung: nothing for 1 s")

    PROFILED = LOOP.replace("FAULT", "pass") + \
        "  tell(at=[name, 'profile'], limit_s=1)\n" \
        "  FAULT\n" \
        "  for build in ('fusec', 'before'):\n" \
        "    tell(profiled=name, build=build, profile={'method': build, 'steps': [\n" \
        "         {'name': 'k', 'us': 1.5}]})\n"

    def testProfilesAreKeptBesideTheResults(self):
        former = json.dumps({"device": "NVIDIA H200", "rows": {
            name: {"run": "then", "steps": [{"name": "old", "us": 2}]}
            for name in ("rope_fwd", self.GRID_ROW, "never_measured")}})
        self.compareWith(self.PROFILED.replace("FAULT", "pass"), self.formerRun(), former)
        own, before = self.profiles["out-profiles.json"], self.profiles["out-before-profiles.json"]
        self.assertEqual(list(own["rows"]), ["rope_fwd", "rope_bwd", self.GRID_ROW])
        self.assertEqual(list(before["rows"]), ["rope_fwd", "rope_bwd"])
        self.assertEqual(own["rows"]["rope_fwd"]["steps"], [{"name": "k", "us": 1.5}])
        self.assertEqual(own["rows"][self.GRID_ROW]["run"], "then")
        self.assertEqual(before["rows"]["rope_bwd"]["method"], "before")

    def testProfilesAreKeptUnlessTheyAreNotWanted(self):
        said = self.LOOP.replace("FAULT", "pass").replace(
            "'contenders'", "'dtype': str(o['profiles']), 'contenders'")
        self.assertEqual(self.compareWith(said)["workloads"]["rope_fwd"]["dtype"], "True")
        self.assertFalse(compare.parseArguments(["--no-profiles"]).profiles)

    def testACrashOfTheProfileLosesNoRow(self):
        for fault in ("os._exit(70)", "time.sleep(60)"):
            rows = self.compareWith(self.PROFILED.replace(
                "FAULT", f"if name == 'rope_fwd': {fault}"))["workloads"]
            self.assertEqual([row["speedup"]["ratio"] for row in rows.values()], [2, 2])
            self.assertEqual(list(self.profiles["out-profiles.json"]["rows"]), ["rope_bwd"])

    def testAWorkerThatEndsAfterAProfileIsFollowedByAnother(self):
        rows = self.compareWith(self.PROFILED.replace("FAULT", "pass") + "  break\n")["workloads"]
        self.assertEqual([row["speedup"]["ratio"] for row in rows.values()], [2, 2])
        self.assertEqual(list(self.profiles["out-profiles.json"]["rows"]),
                         ["rope_fwd", "rope_bwd"])

    def testProfilesThatCannotBeReadAreNotOverwritten(self):
        with self.assertRaises(compare.FormerError):
            self.compareWith(self.PROFILED.replace("FAULT", "pass"), self.formerRun(), "[]")
