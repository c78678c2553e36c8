# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec's C interface in Python."""

import ctypes
import os
import pathlib
import unittest

import fusec_runtime

BUILDS = pathlib.Path(__file__).resolve().parents[2] / "build"
LIBRARY = os.environ.get("FUSEC_LIBRARY") or next(
    (str(path) for path in sorted(BUILDS.glob("*/runtime/libfusec_rt.so"))), None)


class RuntimeTest(unittest.TestCase):
    def testStructs(self):
        self.assertEqual(ctypes.sizeof(fusec_runtime.CTensor), 56)
        self.assertEqual(ctypes.sizeof(fusec_runtime.CLoadOptions), 64)
        self.assertEqual(ctypes.sizeof(fusec_runtime.CTableInfo), 48)
        self.assertEqual(ctypes.sizeof(fusec_runtime.CPrepareOptions), 40)

    @unittest.skipUnless(LIBRARY, "no libfusec_rt.so in build/*/runtime or $FUSEC_LIBRARY")
    def testErrorsHaveMessages(self):
        library = fusec_runtime.Library(LIBRARY)
        with self.assertRaises(fusec_runtime.FusecError) as caught:
            library.load("/nowhere/model.fusec", driver="/nowhere/libcuda.so")
        self.assertRegex(str(caught.exception), "nowhere")
