# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of any size, and the plot of their throughput."""

import argparse
import pathlib
import struct
import tempfile
import unittest
import xml.dom.minidom

import large_tables
import zipf


class Tables(unittest.TestCase):
    def testElementsAreNumberedThrough(self):
        options = argparse.Namespace(gigabytes=0.02, tables=3, width=64, dtype="fp16", bag=1,
                                     shared=False)
        rows = large_tables.countRows(options)
        self.assertLessEqual(3 * rows * 64 * 2, 0.02e9)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "tables.bin"
            large_tables.writeData(path, options)
            data = path.read_bytes()
        self.assertEqual(len(data), 3 * rows * 64 * 2)
        for element in (0, 2038, 2039, 4096 * 2039 + 5, 3 * rows * 64 - 1):
            self.assertEqual(struct.unpack_from("<e", data, 2 * element)[0], element % 2039)

    def testPlotsAreWellFormed(self):
        points = [{"budget": budget, "exponent": exponent, "rows_per_second": rate,
                   "device_table_bytes": 1, "table_bytes": 10}
                  for budget, exponent, rate in (("1G", 0, 1e6), ("1G", 1.05, 3e7), ("0", 0, 2e8))]
        text = zipf.draw(points, "7 GB of tables, <a device>")
        self.assertEqual(len(xml.dom.minidom.parseString(text).getElementsByTagName("circle")), 3)
