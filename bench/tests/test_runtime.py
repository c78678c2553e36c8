# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fusec's C interface in Python."""

import contextlib
import ctypes
import io
import os
import pathlib
import tempfile
import unittest
import unittest.mock

import fusec_runtime
import load_times

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


class LoadTimesTest(unittest.TestCase):
    def testEachSettingInTurn(self):
        said, library = io.StringIO(), unittest.mock.Mock()
        with tempfile.NamedTemporaryFile() as bundle, contextlib.redirect_stdout(said), \
                unittest.mock.patch("fusec_runtime.Library", return_value=library):
            bundle.write(b"x" * 1000)
            bundle.flush()
            load_times.main(["libfusec_rt.so", bundle.name, "--times=2"])
        loads = [call.kwargs["hashWeights"] for call in library.load.call_args_list]
        self.assertEqual(loads, ["never", "never", "always", "never", "always"])
        self.assertRegex(said.getvalue(), r"\| always \| \d")

    def testWhatIsWrongIsSaid(self):
        with self.assertRaisesRegex(SystemExit, "nowhere"):
            load_times.main(["/nowhere/libfusec_rt.so", "/nowhere/model.fusec"])
