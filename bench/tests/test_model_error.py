# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cost model's errors, from kept profiles."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import xml.dom.minidom

import model_error
import profiles


def step(name, predicted, measured, **further):
    return {"name": name, "us": measured, "predicted_us": predicted, **further}


WGMMA = {"family": "gemm", "unit": "half", "schedule": 
         "wgmma_schedule<tileM = 128, blocks = 132, pingPong = true>"}
ROWS = {"a": {"steps": [step("mm", 10.0, 20.0, **WGMMA),
                        step("relu<&", 4.0, 4.0, family="pointwise")]},
        "b": {"steps": [step("mm_2", 30.0, 15.0, **WGMMA), {"name": "unpredicted", "us": 3.0},
                        step("mm_3", 5.0, 5.0, family="gemm", unit="fma")]}}


class ModelErrorTest(unittest.TestCase):
    def testByFamilyAndUnit(self):
        families = model_error.collect(ROWS.items())
        self.assertEqual({name: len(points) for name, points in families.items()},
                         {"gemm, wgmma pingPong": 2, "gemm, fma": 1, "pointwise": 1})
        mean, spread = model_error.summarise(families["gemm, wgmma pingPong"])
        self.assertAlmostEqual(mean, 1)
        self.assertAlmostEqual(spread, 2)

    def testTheWorstAreNamed(self):
        points = [{"ratio": ratio} for ratio in (1, 0.4, 2, 1.1, 0.9, 3, 1.2)]
        self.assertEqual([point["ratio"] for point in model_error.pickWorst(points)],
                         [3, 0.4, 2, 1.2, 0.9])
        text = model_error.formatTable(model_error.collect(ROWS.items()))
        self.assertIn("| gemm, wgmma pingPong | 2 | 1.000 | x 2.00 | 0.50 | 2.00 |", text)
        self.assertIn("| all | 4 | 1.000 |", text)
        self.assertIn("| gemm, wgmma pingPong | b | mm_2 | 30.00 | 15.00 | 2.00 |", text)

    def call(self, rows):
        with tempfile.TemporaryDirectory() as folder:
            path, out = pathlib.Path(folder) / "p.json", pathlib.Path(folder) / "e.svg"
            path.write_text(profiles.format({"device": "D & E", "rows": rows}))
            with contextlib.redirect_stdout(io.StringIO()), \
                    contextlib.redirect_stderr(io.StringIO()):
                status = model_error.main([str(path), "--out", str(out)])
            return status, out.read_text("utf-8") if out.exists() else ""

    def testPlot(self):
        status, drawn = self.call(ROWS)
        self.assertEqual(status, model_error.DONE)
        circles = xml.dom.minidom.parseString(drawn).getElementsByTagName("circle")
        self.assertEqual(len(circles), 4 + 3)
        # What takes as long as predicted is on the diagonal.
        exact = next(circle for circle in circles
                     if "mm_3" in circle.toxml() and "title" in circle.toxml())
        self.assertAlmostEqual(float(exact.getAttribute("cx")) - model_error.LEFT,
                               model_error.TOP + model_error.SIDE - float(exact.getAttribute("cy")),
                               places=1)

    def testWithoutPredictions(self):
        self.assertEqual(self.call({"a": {"steps": [{"name": "k", "us": 1.0}]}}),
                         (model_error.UNREADABLE, ""))
