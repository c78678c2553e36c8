# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A row that is slower than its noise allows is found, and no other."""

import contextlib
import io
import json
import pathlib
import random
import tempfile
import unittest
import unittest.mock

import builds
import check
import compare
import options
import profiles
import summary
from tests.rows import entry, row
from tests.test_steps import profile, step


def draw(median, seed, rounds=50, noise=0.01):
    made = random.Random(seed)
    return [median * made.gauss(1, noise) for _ in range(rounds)]


def measure(samples, **further):
    """A row from rounds of each contender."""
    found = row(**{name: {**entry(0), **summary.summarise(times)}
                   for name, times in samples.items()})
    found.update(further)
    for name in samples:
        if name.startswith("before"):
            found["contenders"][name]["build"] = "before"
    summary.compareWorkload(found, samples)
    return found


def measureRun(own, seed, clock=1.0, **further):
    return measure({"eager": draw(3 * clock, 3 * seed), "cublas": draw(clock, 3 * seed + 1),
                    "fusec": draw(own * clock, 3 * seed + 2)}, **further)


class JudgeTest(unittest.TestCase):
    def judge(self, own, seed, clock=1.0, **further):
        before, now = measureRun(1.0, 1000 + seed), measureRun(own, seed, clock, **further)
        return check.judgeApart(before, now, 0.02)

    def testAPlantedLossIsFoundAndTheSameBuildPasses(self):
        for seed in range(20):
            self.assertEqual(self.judge(1.05, seed)["verdict"], check.SLOWER)
            self.assertEqual(self.judge(1.0, seed)["verdict"], check.SAME)
        self.assertEqual(self.judge(0.9, 0)["verdict"], check.FASTER)

    def testAnotherClockIsNoLoss(self):
        found = self.judge(1.0, 1, clock=1.3)
        self.assertEqual((found["verdict"], found["by"]), (check.SAME, "cublas"))
        self.assertEqual(self.judge(1.05, 1, clock=0.8)["verdict"], check.SLOWER)

    def testWhatAnEmptyRegionReadsIsAllowed(self):
        found = self.judge(1.05, 2, empty_ms=0.06)
        self.assertEqual(found["verdict"], check.SAME)
        self.assertAlmostEqual(found["allowed"], 0.08, delta=0.005)

    def testFilesWithoutRoundsHaveDeciles(self):
        for own, verdict in ((1.0, check.SAME), (1.05, check.SLOWER)):
            before, now = measureRun(1.0, 7), measureRun(own, 8)
            exact = check.judgeApart(before, now, 0.02)
            before["against"] = {}
            found = check.judgeApart(before, now, 0.02)
            self.assertEqual((found["verdict"], exact["verdict"]), (verdict, verdict))
            self.assertAlmostEqual(found["high"] - found["low"], exact["high"] - exact["low"],
                                   delta=0.006)
        before["samples_ms"] = {"cublas": draw(1.0, 1), "fusec": draw(1.05, 2)}
        self.assertEqual(check.judgeApart(before, now, 0.02)["verdict"], check.SAME)

    def testWhatCannotBeCompared(self):
        failed, good = row(eager=entry(3.0), fusec={"failure": "gone"}), measureRun(1.0, 1)
        summary.compareWorkload(failed, {"eager": [3.0] * 9})
        self.assertEqual(check.judgeApart(good, failed, 0.02)["verdict"], check.FAILED)
        self.assertEqual(check.judgeApart(failed, good, 0.02)["verdict"], check.UNKNOWN)
        alone = measure({"compile": draw(1.0, 1), "fusec": draw(1.0, 2)})
        self.assertIn("none of cublas", check.judgeApart(good, alone, 0.02)["why"])
        self.assertEqual(check.judgePaired(good, 0.02)["verdict"], check.UNKNOWN)

    def testTheBuildBeforeIsPaired(self):
        drift = [1 + 0.2 * i / 50 for i in range(50)]
        for own, verdict in ((1.0, check.SAME), (1.03, check.SLOWER), (0.96, check.FASTER)):
            times = {"eager": 3.0, "fusec": 9.0, "fusec_graph": own, "before": 1.0,
                     "before_graph": 9.0}
            found = measure({name: [time * a * b for a, b in zip(drift, draw(1, name, noise=0.002))]
                             for name, time in times.items()})
            self.assertEqual(found["best_peer"], "eager")
            judged = check.judgePaired(found, 0.02)
            self.assertEqual((judged["verdict"], judged["by"]), (verdict, "before"))
            self.assertAlmostEqual(judged["ratio"], own, delta=0.003)

    def testOneProgramIsNotSlowerThanItself(self):
        for programs, verdict in (("aa", check.SAME), ("ab", check.SLOWER), (None, check.SLOWER)):
            found = measure({"eager": draw(3.0, 1), "before": draw(1.0, 2), "fusec": draw(1.05, 3)})
            for name, program in zip(("fusec", "before"), programs or ()):
                found["contenders"][name]["program"] = program
            judged = check.judgePaired(found, 0.02)
            self.assertEqual((judged["verdict"], "why" in judged), (verdict, programs == "aa"))


class BuildsTest(unittest.TestCase):
    def makeBuild(self, *places):
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for place in places:
            path = pathlib.Path(folder.name) / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
            path.chmod(0o755)
        return folder.name

    def testPlaces(self):
        for fusec, library, runtime in (
                ("fusec", "libfusec_rt.so", "fusec_runtime.py"),
                ("bin/fusec", "lib/libfusec_rt.so", "bench/fusec_runtime.py"),
                ("build/release/tools/fusec", "build/release/runtime/libfusec_rt.so",
                 "bench/fusec_runtime.py")):
            folder = self.makeBuild(fusec, library, runtime)
            found = builds.findBuild("before", folder)
            root = pathlib.Path(folder).resolve()
            self.assertEqual(found, {"name": "before", "fusec": str(root / fusec),
                                     "library": str(root / library),
                                     "runtime": str(root / runtime)})
        alone = builds.findBuild("before", self.makeBuild("fusec", "libfusec_rt.so"))
        self.assertEqual(alone["runtime"], builds.fusec_runtime.__file__)

    def testWhatIsMissingIsSaid(self):
        for places, said in (((), "expected a build of fusec"),
                             (("fusec",), "expected libfusec_rt.so")):
            with self.assertRaisesRegex(ValueError, said):
                builds.findBuild("before", self.makeBuild(*places))

    def testBuildsAreContenders(self):
        folder = self.makeBuild("fusec", "libfusec_rt.so")
        found = options.parseArguments(["--before", folder, "--build", f"c2={folder}"])
        self.assertEqual(found.peers, ["eager", "fusec", "fusec_graph", "before", "before_graph",
                                       "c2", "c2_graph"])
        for bad in ("fusec", "C2", "a_graph", "before"):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                options.parseArguments(["--before", folder, "--build", f"{bad}={folder}"])


WORKER = """
import json, random, sys
def tell(**r): print(json.dumps(r), flush=True)
o = json.loads(sys.argv[1])
tell(machine={'device': DEVICE, 'torch': '2', 'empty_ms': 0.001, 'ceilings':
              {'fp32': 1, 'fp16': 1, 'copy_GBps': 1}})
made = random.Random(len(o['workloads']))
for name in o['workloads']:
  own = OWN.get(name, 1.0)
  if own == 'by place':
    own = 0.96 if o['peers'].index('before') < o['peers'].index('fusec') else 1.04
  times = {'eager': 3.0, 'fusec': own, 'before': 1.0}
  samples = {n: [t * made.gauss(1, 0.003) for _ in range(50)] for n, t in times.items()}
  contenders = {n: {'median_ms': times[n], 'p10_ms': times[n] * 0.996,
                    'p90_ms': times[n] * 1.004, 'rounds': 50, 'error': 0} for n in times}
  if 'before' in o['builds']: contenders['before']['build'] = 'before'
  else: del contenders['before'], samples['before']
  tell(workload=name, row={'dtype': 'fp32', 'contenders': contenders}, samples=samples)
  for build in contenders:
    if build != 'eager':
      tell(profiled=name, build=build, profile={'method': 'activity', 'steps': [
           {'name': 'k', 'us': 1e3 * times[build]}]})
"""


class CheckTest(unittest.TestCase):
    """The whole of compare.py but for what needs a GPU."""

    def setUp(self):
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("fusec", "libfusec_rt.so"):
            (self.folder / name).write_text("")
            (self.folder / name).chmod(0o755)
        self.former = self.folder / "former.json"
        rows = {name: measureRun(1.0, 1) for name in ("rope_fwd", "rope_bwd", "gone")}
        self.former.write_text(json.dumps({"machine": {"device": "D", "torch": "2",
                                                       "empty_ms": 0.001}, "workloads": rows}))
        profiles.pathBeside(self.former).write_text(profiles.format(
            {"device": "D", "rows": {name: profile(step("k", 1e3)) for name in rows}}))

    def call(self, own, *arguments, device="D"):
        worker = self.folder / "worker.py"
        worker.write_text(WORKER.replace("OWN", repr(own)).replace("DEVICE", repr(device)))
        out = self.folder / "out.json"
        said, failed = io.StringIO(), io.StringIO()
        with unittest.mock.patch("options.WORKER", worker), contextlib.redirect_stdout(said), \
                contextlib.redirect_stderr(failed):
            status = compare.main([*arguments, "--out", str(out), "--fusec",
                                   str(self.folder / "fusec"), "--sources", "abc"])
        return status, said.getvalue() + failed.getvalue()

    def testAFile(self):
        status, said = self.call({}, "--check", str(self.former))
        self.assertEqual(status, compare.DONE, said)
        self.assertIn("| rope_bwd | 1.0", said)
        self.assertNotIn("| gone", said)
        self.assertIn("no workloads any more: gone", said)
        status, said = self.call({"rope_bwd": 1.05}, "--check", str(self.former))
        self.assertEqual(status, compare.WRONG, said)
        self.assertRegex(said, r"\| rope_fwd .*\| same \|")
        self.assertRegex(said, r"\| rope_bwd .*\| eager \| slower; 1\.0\d\d at first \|")
        self.assertIn("| rope_bwd | k |  | 1000.00 | 1050.00 | +50.00 | 100% |", said)

    def testABuild(self):
        before = ["--before", str(self.folder), "--only", "rope_*"]
        self.assertEqual(self.call({}, *before)[0], compare.DONE)
        status, said = self.call({"rope_bwd": 1.05}, *before)
        self.assertEqual(status, compare.WRONG)
        self.assertRegex(said, r"\| rope_bwd .*\| before \| slower")
        self.assertIn("| rope_bwd | k |  | 1000.00 | 1050.00 |", said)
        self.assertEqual(self.call({"rope_bwd": 1.05}, *before, "--tolerance", "6")[0],
                         compare.DONE)

    def testWhatIsMadeFirstIsNoLoss(self):
        before = ["--before", str(self.folder), "--only", "rope_*"]
        status, said = self.call({"rope_bwd": "by place"}, *before)
        self.assertEqual(status, compare.DONE)
        self.assertRegex(said, r"\| rope_bwd .*\| before \| same; 1\.0\d\d at first \|")

    def testWhatCannotBeChecked(self):
        status, said = self.call({}, "--check", str(self.former), device="E")
        self.assertEqual(status, compare.USAGE)
        self.assertIn("expected results of E, got those of D", said)
        self.former.write_text("[]")
        for wrong in (["--check", str(self.former)], ["--check", "/nowhere"],
                      ["--before", "/nowhere"]):
            with self.assertRaises(SystemExit) as caught:
                self.call({}, *wrong)
            self.assertEqual(caught.exception.code, compare.USAGE)
