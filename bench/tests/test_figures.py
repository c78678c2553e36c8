# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What README.md states as measured comes from rows of one state of the sources."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import readme_figures
import sources
from tests.test_sources import measured

MARKERS = f"before\n\n{readme_figures.BEGIN} -->\n{readme_figures.END}\n\nafter\n"


class FiguresTest(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.readme = pathlib.Path(folder.name) / "README.md"
        self.results = pathlib.Path(folder.name) / "d.json"
        self.readme.write_text(MARKERS)
        self.rows = {"rope_fwd": measured("2026-11-24 09:00", "a" * 64),
                     "rope_bwd": measured("2026-11-23 09:00", "b" * 64),
                     "lora_toy_b7": measured("2026-11-22 09:00")}
        self.store()

    def store(self):
        self.results.write_text(json.dumps({"machine": {"device": "D"}, "workloads": self.rows}))
        (self.results.parent / "d-profiles.json").write_text('{"rows": {}}')

    def call(self, *arguments):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            status = readme_figures.main([*arguments, "--readme", str(self.readme), "--results",
                                          str(self.results.parent)])
        return status, said.getvalue()

    def testOnlyRowsOfOneHashAreStated(self):
        self.assertEqual(self.call("--check")[0], readme_figures.DIFFERENT)
        for wanted, named in (([], "sources aaaaaaaaaaaa, measured on 2026-11-24"),
                              (["--sources", "bb"], "sources bbbbbbbbbbbb, measured on 2026-11-23"),
                              (["--sources", "2026-11-22 09:00"],
                               "unknown sources, measured by the run of 2026-11-22 09:00")):
            self.assertEqual(self.call(*wanted), (readme_figures.DONE, ""))
            text = self.readme.read_text()
            self.assertIn(named, text)
            self.assertIn("| models and layers | 1 of 30 | 2.00 (2.00-2.00) | 2.00 (`", text)
            self.assertTrue(text.startswith("before\n\n<") and text.endswith(">\n\nafter\n"))
            self.assertEqual(self.call("--check"), (readme_figures.DONE, ""))

    def testRowsThatWereMeasuredAnewMakeItStale(self):
        self.call()
        self.rows["rope_fwd"]["sources"] = "c" * 64
        self.store()
        status, said = self.call("--check")
        self.assertEqual(status, readme_figures.DIFFERENT)
        self.assertIn(f"no row on D is of '{'a' * 64}'", said)

    def testFiguresByHandAreFound(self):
        self.call()
        written = self.readme.read_text()
        for claim in ("It is 1.2 times as fast.", "A speed-up of 3.", "2x faster than XLA"):
            self.readme.write_text(written + claim)
            self.assertIn("outside of the markers", self.call("--check")[1])
        self.readme.write_text(written.replace("2.00 (", "2.10 ("))
        self.assertIn("are not those of the rows", self.call("--check")[1])

    def testWhatItCannotDo(self):
        self.assertEqual(self.call("--sources", "nothing")[0], readme_figures.USAGE)
        self.readme.write_text("no markers")
        self.assertEqual(self.call()[0], readme_figures.UNREADABLE)
        self.results.write_text("{")
        self.assertEqual(self.call()[0], readme_figures.UNREADABLE)

    def testReadmeIsWhatTheResultsSay(self):
        text = (sources.ROOT / "README.md").read_text("utf-8")
        self.assertEqual(readme_figures.findFaults(text, readme_figures.readRows(
            readme_figures.RESULTS)), [], "bench/readme_figures.py writes the figures")
