# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/bisect.sh over a history whose builds and measurements are pretended."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import first_bad
import profiles
import sources
from tests.test_check import draw, measure
from tests.test_steps import profile, step

# A "build" is the file compiler/speed; what is in it is its time.
CMAKE = """#!/bin/sh
case "$*" in *--build*) ;; *) exit 0 ;; esac
grep -q nobuild compiler/speed && exit 1
mkdir -p build/release/tools build/release/runtime
cp compiler/speed build/release/tools/fusec
echo built >> "$BUILDS"
touch build/release/runtime/libfusec_rt.so
"""
COMPARE = """import sys, pathlib
if '--list' in sys.argv:
    print('rope_fwd fp32')
    sys.exit()
def get(name): return sys.argv[sys.argv.index(name) + 1]
assert get('--only') == 'rope_fwd'
before = pathlib.Path(get('--before'), 'fusec').read_text()
now = pathlib.Path(get('--fusec')).read_text()
out = pathlib.Path(get('--out'))
(out.parent / 'rows-profiles.json').write_text(now)
print('| rope_fwd | measured |')
sys.exit(1 if 'norun' in now else 5 if float(now) > 1.02 * float(before) else 0)
"""
STEPS = """import sys, pathlib
print('steps', *(pathlib.Path(path).read_text().strip() for path in sys.argv[1:3]), sys.argv[3])
"""
RUN = "import sys\nprint('first_bad', *sys.argv[1:])\n"


@unittest.skipUnless(shutil.which("git") and shutil.which("bash"), "no git or bash")
class BisectTest(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "tree"
        self.work = self.root.parent / "work"
        files = {"tools/bisect.sh": (sources.ROOT / "tools" / "bisect.sh").read_text(),
                 "tools/source-hash.sh": "#!/bin/sh\ncat compiler/speed\n",
                 "bench/compare.py": COMPARE, "bench/compare_steps.py": STEPS,
                 "bench/first_bad.py": RUN, "bench/fusec_runtime.py": "", "bench/peers/own.py": "",
                 "../bin/cmake": CMAKE, "../bin/nvidia-smi": "#!/bin/sh\nexit $NO_GPU\n",
                 "../bin/strip": "#!/bin/sh\n"}
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        self.builds = self.root.parent / "builds"
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments):
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.root,
            check=True, text=True, capture_output=True, env=self.makeEnvironment()).stdout.strip()

    def makeEnvironment(self, hasGpu=True):
        return {"PATH": f"{self.root.parent / 'bin'}:{os.environ['PATH']}", "HOME": "/nowhere",
                "GIT_CONFIG_NOSYSTEM": "1", "NO_GPU": "0" if hasGpu else "9",
                "BUILDS": str(self.builds)}

    def commit(self, *speeds):
        """A commit of each; None touches nothing that is built. Their hashes."""
        found = []
        for number, speed in enumerate(speeds):
            path = self.root / ("notes" if speed is None else "compiler/speed")
            path.parent.mkdir(exist_ok=True)
            # So that a commit that is as fast as the last is one, too.
            path.write_text(f"{speed}{' ' * (number % 2)}\n" if speed else str(number))
            self.git("add", "-A")
            self.git("commit", "--quiet", "-m", f"commit {number}: {speed}")
            found.append(self.git("rev-parse", "HEAD"))
        return found

    def bisect(self, good, bad, *arguments, hasGpu=True, row="rope_fwd"):
        process = subprocess.run(
            [self.root / "tools" / "bisect.sh", row, good, bad, "--work", str(self.work),
             *arguments], env=self.makeEnvironment(hasGpu), text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertFalse((self.work / "tree").exists(), process.stdout)
        return process.returncode, process.stdout

    def testNamesTheCommitAndItsSteps(self):
        made = self.commit("1.0", "1.0", None, "nobuild", "1.01", "1.0", "1.1", None, "norun",
                           "1.2")
        status, said = self.bisect(made[0], made[-1])
        self.assertEqual(status, 0, said)
        self.assertIn(f"the first bad commit of rope_fwd: {made[6]}\n  commit 6: 1.1", said)
        self.assertIn("steps 1.0 1.1 rope_fwd", said)
        built = len(self.builds.read_text().splitlines())
        self.assertLess(built, 8)
        # Nothing is built or measured again.
        shutil.rmtree(self.work / "builds")
        status, said = self.bisect(made[0], made[-1])
        self.assertEqual(status, 0, said)
        self.assertIn(made[6], said)
        self.assertEqual(len(self.builds.read_text().splitlines()), built + 1)  # GOOD

    def testABranchIsFollowed(self):
        base, = self.commit("1.0")
        self.git("checkout", "--quiet", "-b", "side")
        (self.root / "runtime").mkdir()
        (self.root / "runtime" / "x").write_text("1")
        slow = self.commit("1.0", "1.5", "1.5")
        self.git("checkout", "--quiet", "main")
        (self.root / "ir").mkdir(exist_ok=True)
        (self.root / "ir" / "y").write_text("1")
        self.git("add", "ir")
        self.git("commit", "--quiet", "-m", "main goes on")
        self.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
        self.assertIn(f"of rope_fwd: {slow[1]}", self.bisect(base, "main")[1])

    def testSkippedCommitsHideIt(self):
        made = self.commit("1.0", "nobuild", "norun", "1.1")
        status, said = self.bisect(made[0], made[-1])
        self.assertEqual(status, 1)
        for place in (1, 2, 3):
            self.assertIn(f"commit {place}: ", said[said.index("skipped commits hide"):])

    def testNothingToFind(self):
        made = self.commit("1.0", "1.0", "1.01")
        status, said = self.bisect(made[0], made[-1])
        self.assertEqual(status, 1)
        self.assertIn("is not slower at BAD", said)
        self.assertEqual(self.bisect("HEAD~1", "HEAD", row="rope_*")[0], 2)
        status, said = self.bisect("HEAD~1", "HEAD", row="rope")
        self.assertEqual(status, 2)
        self.assertIn("got 'rope'; like it: rope_fwd", said)
        for wrong in ((made[1], made[0]), (made[0], "nowhere"), (made[0], made[0])):
            self.assertEqual(self.bisect(*wrong)[0], 2)
        self.assertEqual(self.bisect(made[0], made[1], "--every", "0")[0], 2)

    def testWithoutAGpuVerdictsAreTakenOneByOne(self):
        speeds = ("1.0", "1.0", "1.0", "1.1", "1.1", "1.1")
        made = self.commit(*speeds)
        verdicts = self.root.parent / "verdicts"
        for _ in range(8):
            status, said = self.bisect(made[0], made[-1], "--verdicts", str(verdicts),
                                       hasGpu=False)
            if status != 4:
                break
            asked = [line.split()[0] for line in said.splitlines() if "good|bad|skip" in line][-1]
            self.assertIn(f"--before ./{made[0]} --fusec ./{asked}/fusec", said)
            with open(verdicts, "a", encoding="ascii") as file:
                isSlow = speeds[made.index(asked)] > "1.0"
                file.write(f"{asked[:9]} {'bad' if isSlow else 'good'}\n")
        self.assertEqual(status, 0, said)
        self.assertIn(f"of rope_fwd: {made[3]}", said)
        verdicts.write_text(f"{made[-1]} worse\n")
        self.assertEqual(self.bisect(made[0], made[-1], "--verdicts", str(verdicts))[0], 2)

    def testPack(self):
        made = self.commit("1.0", "1.0", None, "nobuild", "1.3", "1.4", "1.5")
        to = self.root.parent / "packed"
        status, said = self.bisect(made[0], made[-1], "--pack", str(to), hasGpu=False)
        self.assertEqual(status, 0, said)
        self.assertEqual([line.split()[:2] for line in (to / "commits").read_text().splitlines()],
                         [["c001", made[1]], ["c002", made[4]], ["c003", made[5]],
                          ["c004", made[6]]])
        self.assertEqual((to / "builds" / "c003" / "fusec").read_text().strip(), "1.4")
        self.assertTrue((to / "bench" / "peers" / "own.py").exists())
        (to / "bench" / "compare.py").write_text("import sys\nprint(*sys.argv[1:])\n")
        said = subprocess.run([to / "run.sh", "--rounds", "30"], text=True, check=True,
                              capture_output=True, env=self.makeEnvironment()).stdout
        self.assertEqual(said, "first_bad rows.json commits --tolerance 2\n")
        self.assertEqual((to / "rows.txt").read_text().strip(),
                         "--only rope_fwd --fusec builds/good/fusec --library "
                         "builds/good/libfusec_rt.so --build c001=builds/c001 --build "
                         "c002=builds/c002 --build c003=builds/c003 --build c004=builds/c004 "
                         "--out rows.json --rounds 30")
        self.assertEqual(self.bisect(made[0], made[-1], "--pack", str(to))[0], 2)
        shutil.rmtree(to)
        self.bisect(made[0], made[-1], "--pack", str(to), "--every", "2")
        self.assertEqual([line.split()[1] for line in (to / "commits").read_text().splitlines()],
                         [made[1], made[4], made[6]])


class FirstBadTest(unittest.TestCase):
    COMMITS = [(f"c{number:03d}", str(number) * 40, f"commit {number}") for number in range(1, 6)]

    def call(self, *times):
        """One time a commit; None did not run."""
        samples = {"eager": draw(3.0, 99, noise=0.003), "fusec": draw(1.0, 98, noise=0.003)}
        for (name, *_), time in zip(self.COMMITS, times):
            if time:
                samples[name] = draw(time, name, noise=0.003)
        found = measure(samples)
        for name, *_ in self.COMMITS:
            if name in samples:
                found["contenders"][name]["build"] = name
        first_bad.summary.compareWorkload(found, samples)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.json"
            path.write_text(json.dumps({"workloads": {"rope_fwd": found}}))
            for name, time in [("", 1.0), *zip((c[0] for c in self.COMMITS), times)]:
                if time:
                    profiles.pathBeside(path, name).write_text(profiles.format(
                        {"device": "D", "rows": {"rope_fwd": profile(step("k", 1e3 * time))}}))
            commits = pathlib.Path(folder) / "commits"
            commits.write_text("".join(" ".join(each) + "\n" for each in self.COMMITS))
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                status = first_bad.main([str(path), str(commits)])
            return status, said.getvalue()

    def testNamesTheFirstFromWhichOnItIsSlower(self):
        # The second is slow, and mended by the third.
        status, said = self.call(1.0, 1.1, 1.005, 1.06, 1.07)
        self.assertEqual(status, first_bad.NAMED)
        self.assertIn(f"the first bad commit of rope_fwd: {'4' * 40}\n  commit 4\n", said)
        self.assertIn(f"the last good one: {'3' * 40}", said)
        self.assertIn("| rope_fwd | k |  | 1005.00 | 1060.00 | +55.00 | 100% |", said)
        self.assertRegex(said, r"\| c002 \| 222222222 \| 1\.\d+ \| .* \| slower \| commit 2 \|")

    def testWhatDidNotRunMayBeIt(self):
        status, said = self.call(1.0, None, 1.1, None, 1.1)
        self.assertEqual(status, first_bad.NAMED)
        self.assertIn("or one of c002 before it, which did not run", said)
        status, said = self.call(1.1, 1.1, 1.1, 1.1, 1.1)
        self.assertIn(f"of rope_fwd: {'1' * 40}", said)
        self.assertIn("| rope_fwd | k |  | 1000.00 | 1100.00 |", said)

    def testNothingIsSlower(self):
        self.assertEqual(self.call(1.0, 1.3, 1.0, 1.0, None)[0], first_bad.NONE)

    def testUnreadable(self):
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(first_bad.main(["/nowhere/a", "/nowhere/b"]), first_bad.UNREADABLE)
