# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that other sources made are marked wherever rows are shown."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest
import unittest.mock
import xml.dom.minidom

import compare
import plot
import sources
import summary
from tests.rows import entry, row


def measured(run, made=None):
    found = {**row(eager=entry(2.0), fusec=entry(1.0)), "run": run, "sources": made}
    summary.compareWorkload(found, {"eager": [2.0] * 9, "fusec": [1.0] * 9})
    return found


class SourcesTest(unittest.TestCase):
    ROWS = {"a": measured("2026-11-23 10:00"), "b": measured("2026-11-24 09:00", "a" * 64),
            "c": measured("2026-11-24 08:00", "b" * 64), "d": measured("2026-11-23 10:00")}

    def testRowsWithoutAHashAreToldApartByTheirRun(self):
        self.assertEqual(sources.getKey(self.ROWS["a"]),
                         "unknown sources, run of 2026-11-23 10:00")
        self.assertEqual(sources.getNewest(self.ROWS.values()), "a" * 64)
        self.assertEqual(sources.findOthers(self.ROWS, "a" * 64), ["a", "c", "d"])
        self.assertEqual(sources.findOthers(self.ROWS, sources.getKey(self.ROWS["d"])),
                         ["b", "c"])

    def testTheSentenceCounts(self):
        text = sources.describeOthers(self.ROWS, "a" * 64)
        self.assertEqual(text, "† 3 of 4 rows were made by other sources than aaaaaaaaaaaa: 1 by "
                         "bbbbbbbbbbbb, 2 by unknown sources, run of 2026-11-23 10:00")
        self.assertEqual(sources.describeOthers({"b": self.ROWS["b"]}, "a" * 64), "")

    def report(self, tree):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.json"
            path.write_text(json.dumps({"machine": {"device": "A"}, "workloads": self.ROWS}))
            said = io.StringIO()
            with unittest.mock.patch("sources.hashTree", lambda: tree), \
                    contextlib.redirect_stdout(said):
                self.assertEqual(compare.main(["--report", str(path)]), compare.DONE)
            return said.getvalue(), path.with_suffix(".svg").read_text("utf-8")

    def testReportMarksByTheTree(self):
        for tree, marked in (("a" * 64, "acd"), ("b" * 64, "abd"), (None, "acd"),
                             ("c" * 64, "abcd")):
            table, drawn = self.report(tree)
            xml.dom.minidom.parseString(drawn)
            for name in self.ROWS:
                self.assertEqual(f"| {name} † |" in table, name in marked)
                self.assertEqual(f">{name} †<" in drawn, name in marked)
            count = f"† {len(marked)} of 4 rows"
            self.assertTrue(count in table and count in drawn)

    def testThePlotOfOneRunMarksNothing(self):
        rows = {"b": self.ROWS["b"]}
        self.assertNotIn("†", plot.render({"machine": {"device": "A"}, "workloads": rows}))

    def testABinaryHasTheSourcesThatLieBesideIt(self):
        with tempfile.TemporaryDirectory() as folder:
            fusec = pathlib.Path(folder) / "fusec"
            fusec.write_bytes(b"one")
            self.assertIsNone(sources.findSources(fusec))
            beside = fusec.parent / "sources"
            beside.write_text(f"abc {sources.hashFile(fusec)}\n")
            self.assertEqual(sources.findSources(fusec), "abc")
            # Of another one, of an older form, and of nothing.
            fusec.write_bytes(b"two")
            for text in (beside.read_text(), "abc\n", ""):
                beside.write_text(text)
                with self.assertRaisesRegex(ValueError, "sources: expected the hash of sources and that of fusec"):
                    sources.findSources(fusec)
        with unittest.mock.patch("sources.hashTree", lambda: "tree"):
            self.assertEqual(sources.findSources(sources.ROOT / "build" / "fusec"), "tree")

    def testTheTreeHasAHash(self):
        self.assertRegex(sources.hashTree(), "^[0-9a-f]{64}$")
