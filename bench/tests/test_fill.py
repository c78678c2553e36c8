# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches are filled by several runs, and keep nothing that was chosen meanwhile."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import fill

RUN = """import pathlib, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
caches = pathlib.Path(words["--caches"])
(caches / words["--only"].split(",")[0]).write_text(" ".join(sys.argv[1:]))
(caches / "deep").mkdir(exist_ok=True)
(caches / "deep" / f"{len(words['--only'])}.best_config").write_text("")
(caches / "deep" / f"{len(words['--only'])}.autotune.json").write_text("")
print("the last line")
sys.exit(4 if "rope_bwd" in words["--only"] and "--fails" in sys.argv else 0)
"""


class FillTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "compare.py").write_text(RUN)

    def fill(self, *words):
        said = io.StringIO()
        with unittest.mock.patch("options.HERE", self.folder), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = fill.main(["--caches", str(self.folder / "caches"), "--only", "rope_*",
                                *words])
        return status, said.getvalue()

    def testRowsAreSharedOut(self):
        self.assertEqual(fill.shareOut(list("abcde"), 2), [list("ace"), list("bd")])
        self.assertEqual(fill.shareOut(list("ab"), 4), [["a"], ["b"]])
        status, said = self.fill("--jobs", "2", "--arch", "sm_90a")
        self.assertEqual(status, fill.DONE)
        self.assertIn("3 of", said)
        first = (self.folder / "caches" / "rope_fwd").read_text()
        self.assertIn("--only rope_fwd,rope_fwd_fp16 ", first)
        self.assertTrue(first.endswith("--arch sm_90a"), first)
        self.assertTrue((self.folder / "caches" / "rope_bwd").exists())

    def testChoicesAreTakenOut(self):
        _, said = self.fill("--jobs", "1")
        self.assertIn("2 choices", said)
        self.assertEqual(list((self.folder / "caches" / "deep").iterdir()), [])

    def testARunThatFailsIsNamed(self):
        status, said = self.fill("--jobs", "3", "--fails")
        self.assertEqual(status, fill.FAILED)
        self.assertIn("run 2 of 3: exit status 4: the last line", said)


if __name__ == "__main__":
    unittest.main()
