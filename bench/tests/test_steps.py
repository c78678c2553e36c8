# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps that made a row slower are named from the profiles of two builds."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import compare_steps
import profiles


def step(name, us, *nodes, kernel=None):
    found = {"name": name, "kernel": kernel or name, "us": us}
    return {**found, "nodes": list(nodes)} if nodes else found


def profile(*steps, method="activity"):
    return {"method": method, "steps": list(steps)}


def namePairs(before, after):
    return [(old and old["us"], new and new["us"])
            for old, new in compare_steps.matchSteps(before, after)]


class StepsTest(unittest.TestCase):
    def testNodesComeBeforeNames(self):
        before = [step("relu", 1, "a"), step("relu", 2, "b")]
        self.assertEqual(namePairs(before, [step("relu", 3, "b"), step("add", 4, "a")]),
                         [(2, 3), (1, 4)])

    def testRepeatedNamesPairInOrder(self):
        before = [step("mm", 1), step("mm", 2), step("add", 3)]
        self.assertEqual(namePairs(before, [step("mm", 4), step("add", 5), step("mm", 6)]),
                         [(1, 4), (3, 5), (2, 6)])

    def testNamesOfKernelsMatchThoseOfAProfileWithNodes(self):
        before = [step("mm_2", 1), step("mm", 2)]
        self.assertEqual(namePairs(before, [step("mm", 3, "a", kernel="mm"),
                                            step("mm", 4, "b", kernel="mm_2")]),
                         [(2, 3), (1, 4)])

    def testGoneAndNewStepsStandWhereTheyRun(self):
        before = [step("a", 1, "a"), step("bc", 2, "b", "c"), step("d", 3, "d")]
        after = [step("a", 1, "a"), step("b", 5, "b"), step("c", 6, "c"), step("d", 3, "d")]
        self.assertEqual(namePairs(before, after),
                         [(1, 1), (None, 5), (None, 6), (2, None), (3, 3)])
        lines = compare_steps.formatRow("row", profile(*before), profile(*after))
        self.assertEqual(lines, ["| row | b | b | new | 5.00 | +5.00 | 56% |",
                                 "| row | c | c | new | 6.00 | +6.00 | 67% |",
                                 "| row | bc | b c | 2.00 | gone | -2.00 | -22% |",
                                 "| row | all steps |  | 6.00 | 15.00 | +9.00 | 100% |"])

    def call(self, before, after, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / name for name in ("before.json", "after.json")]
            for path, rows in zip(paths, (before, after)):
                path.write_text(profiles.format({"device": "D", "rows": rows}))
            said, failed = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(failed):
                status = compare_steps.main([*map(str, paths), *arguments])
            return status, said.getvalue() + failed.getvalue()

    def testOneCommandNamesTheStepsOfTheSlowerRows(self):
        before = {"slow": profile(step("outer", 450.0), step("mm", 1700.0)),
                  "same": profile(step("mm", 10.0)), "gone": profile(step("mm", 1.0))}
        after = {"slow": profile(step("outer", 900.0), step("mm", 1701.0)),
                 "same": profile(step("mm", 10.1)), "new": profile(step("mm", 1.0))}
        status, said = self.call(before, after)
        self.assertEqual(status, compare_steps.DONE)
        self.assertIn("| slow | outer |  | 450.00 | 900.00 | +450.00 | 100% |", said)
        self.assertNotIn("| slow | mm |", said)
        self.assertNotIn("same", said)
        status, said = self.call(before, after, "sa*", "--all")
        self.assertIn("| same | mm |  | 10.00 | 10.10 | +0.10 | 100% |", said)
        self.assertEqual(self.call(before, after, "gone")[0], compare_steps.USAGE)
        status, said = self.call(before, before)
        self.assertEqual((status, said), (compare_steps.DONE, "of 3 rows no sum of steps is longer "
                                          "by more than 2%\n"))

    def testMethodsThatDifferAreSaid(self):
        before = {"r": profile(step("mm", 1.0), method="torch.profiler")}
        after = {"r": profile(step("m|m\x1b", 2.0))}
        said = self.call(before, after)[1]
        self.assertIn("torch.profiler before, activity after", said)
        self.assertIn("m\\|m\ufffd", said)

    def testUnreadable(self):
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(compare_steps.main(["/nowhere/a", "/nowhere/b"]),
                             compare_steps.UNREADABLE)
