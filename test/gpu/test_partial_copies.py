#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of initcheck's reports are of copies that are shorter than they are wide."""

import pathlib
import tempfile
import unittest
from unittest import mock

import partial_copies

REPORTS = """\
========= Uninitialized __global__ memory read of size 16 bytes
=========     at product+0xa40
=========     by thread (1,0,0) in block (0,0,0)
========= Uninitialized __global__ memory read of size 16 bytes
=========     at product(const int *, int)+0xa40
========= ERROR SUMMARY: 2 errors
"""
COPY, LOAD = "LDGSTS.E.BYPASS.LTC128B.128.ZFILL", "LDG.E.128"


class PartialCopiesTest(unittest.TestCase):
    def find(self, text, *codes):
        with tempfile.TemporaryDirectory() as folder:
            for i, code in enumerate(codes):
                sections = b"".join(b".text.%s\0" % name.encode() for name in code)
                (pathlib.Path(folder) / str(i)).write_bytes(b"entry\x7fELF%d" % i + sections)
            with mock.patch.object(partial_copies, "disassemble",
                                   lambda image: codes[int(image[4:5])]):
                return partial_copies.findOthers(text, folder)

    def testCopies(self):
        self.assertEqual(self.find(REPORTS, {"product": {0xa30: COPY, 0xa40: "IADD3"}}), ([], 2))
        self.assertEqual(self.find(REPORTS, {"product": {0xa30: "IADD3", 0xa40: COPY}}), ([], 2))

    def testLoads(self):
        self.assertEqual(self.find(REPORTS, {"product": {0xa30: LOAD}}),
                         (["product+0xa40 (2 of 16 bytes): LDG.E.128"], 2))
        # Without its code nothing is known.
        others = (["product+0xa40 (2 of 16 bytes): unknown"], 2)
        self.assertEqual(self.find(REPORTS, {"product": {0xa20: COPY, 0xa30: "IADD3"}}), others)
        self.assertEqual(self.find(REPORTS, {"sum": {0xa30: COPY}}), others)
        # Of two kernels of one name either may be meant.
        self.assertEqual(self.find(REPORTS, {"product": {0xa30: COPY}},
                                   {"product": {0xa30: LOAD}}),
                         ([f"product+0xa40 (2 of 16 bytes): LDG.E.128, {COPY}"], 2))
        # Unless it reads another number of bytes, or nothing.
        for other in ("LDG.E", "LDG.E.U16", "LDG.E.64", "LDGDEPBAR"):
            self.assertEqual(self.find(REPORTS, {"product": {0xa30: COPY}},
                                       {"product": {0xa30: other}}), ([], 2))

    def testWhatWasNotRead(self):
        text = REPORTS.replace("========= ERROR SUMMARY: 2", "========= Program hit a wall\n"
                               "=========     at its end\n========= ERROR SUMMARY: 5")
        self.assertEqual(self.find(text, {"product": {0xa30: COPY}}),
                         (["3 reports of another kind: Program hit a wall"], 5))


if __name__ == "__main__":
    unittest.main()
