# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows keep their times where their program is the same, and no others do."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
import unittest.mock

import keep
import sources
from tests.test_sources import measured

OLD, NEW, OLDER = "a" * 64, "b" * 64, "c" * 64
NAMES = ("rope_fwd", "rope_bwd", "linear_relu_4096")


def program(pair, name, caches, withLibrary):
    """The second row's differs by the library."""
    del pair, caches
    return ["same", "same" if name == NAMES[0] or not withLibrary else "other"]


class KeepTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.results = self.folder / "device.json"
        rows = {name: measured("2026-11-24 09:00", made)
                for name, made in zip(NAMES, (OLD, OLD, OLDER))}
        self.results.write_text(json.dumps({"workloads": rows}))
        self.profiles = self.folder / "device-profiles.json"
        self.profiles.write_text(json.dumps({"device": "a device", "rows": {
            name: {"sources": made, "steps": []}
            for name, made in zip(NAMES, (OLD, OLD, OLDER))}}))
        for build, made in (("old", OLD), ("new", NEW)):
            (self.folder / build).mkdir()
            for name in ("fusec", "libfusec_rt.so"):
                (self.folder / build / name).write_text("")
                (self.folder / build / name).chmod(0o755)
            self.label(build, made)

    def label(self, build, made):
        fusec = self.folder / build / "fusec"
        (fusec.parent / "sources").write_text(f"{made} {sources.hashFile(fusec)}")

    def keep(self, *words, files=("device.json", "device-profiles.json")):
        said = io.StringIO()
        with unittest.mock.patch("keep.hashBoth", program), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = keep.main(["--before", str(self.folder / "old"), "--fusec",
                                str(self.folder / "new" / "fusec"), *words,
                                *(str(self.folder / name) for name in files)])
        return status, said.getvalue()

    def rows(self):
        return json.loads(self.results.read_text())["workloads"]

    def testTheSameProgramNamesBothSources(self):
        status, said = self.keep()
        self.assertEqual(status, keep.DIFFERENT)
        self.assertIn("1 of 2 rows of aaaaaaaaaaaa are of bbbbbbbbbbbb, too", said)
        self.assertIn(f"to be measured again: {NAMES[1]}\n", said)
        rows = self.rows()
        self.assertEqual([rows[name]["sources"] for name in NAMES], [NEW, OLD, OLDER])
        self.assertEqual([rows[name].get("measured") for name in NAMES], [OLD, None, None])

    def testProfilesGoWithTheirRows(self):
        self.keep()
        rows = json.loads(self.profiles.read_text())["rows"]
        self.assertEqual([rows[name]["sources"] for name in NAMES], [NEW, OLD, OLDER])
        self.assertEqual([rows[name].get("measured") for name in NAMES], [OLD, None, None])

    def testWhatWasMeasuredStaysNamed(self):
        self.keep()
        self.label("old", NEW)
        self.label("new", "d" * 64)
        self.assertEqual(self.keep()[0], keep.DONE)
        row = self.rows()[NAMES[0]]
        self.assertEqual((row["sources"], row["measured"]), ("d" * 64, OLD))

    def testOnlyAndDryRun(self):
        before = self.results.read_text()
        status, said = self.keep("--dry-run", "--only", NAMES[0])
        self.assertEqual((status, self.results.read_text()), (keep.DONE, before))
        self.assertNotIn(NAMES[1], said)

    def testAnInterruptedRunKeepsWhatItFound(self):
        def interrupted(pair, name, *_):
            if name != NAMES[0]:
                raise KeyboardInterrupt
            return ["same", "same"]

        with unittest.mock.patch(f"{__name__}.program", interrupted), self.assertRaises(KeyboardInterrupt):
            self.keep()
        self.assertEqual([self.rows()[name]["sources"] for name in NAMES], [NEW, OLD, OLDER])

    def testAnotherLibraryThatRunsTheSame(self):
        self.assertEqual(self.keep("--library", "loading")[0], keep.DONE)
        rows = self.rows()
        self.assertEqual([rows[name]["sources"] for name in NAMES], [NEW, NEW, OLDER])
        self.assertEqual([rows[name].get("library") for name in NAMES],
                         ["loading", "loading", None])

    def testDropLeavesTheseSourcesAlone(self):
        self.keep("--drop")
        self.assertEqual(list(self.rows()), [NAMES[0]])

    def testWrongFilesAreNamedAllAtOnce(self):
        for name in ("one.json", "two.json"):
            (self.folder / name).write_text("[]")
        status, said = self.keep(files=("one.json", "two.json", "device.json"))
        self.assertEqual(status, keep.USAGE)
        self.assertIn("one.json: expected results", said)
        self.assertIn("two.json: expected results", said)
        self.assertEqual([row["sources"] for row in self.rows().values()], [OLD, OLD, OLDER])

    def testABuildWithoutSources(self):
        (self.folder / "old" / "sources").unlink()
        status, said = self.keep()
        self.assertEqual(status, keep.USAGE)
        self.assertIn("expected a file `sources`", said)


if __name__ == "__main__":
    unittest.main()
