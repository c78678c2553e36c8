# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is kept of a profile."""

import json
import pathlib
import re
import tempfile
import unittest

import profiles
import sources


def findExample(member):
    """Of docs/json.md, the block whose object has the member."""
    text = (sources.ROOT / "docs" / "json.md").read_text("utf-8")
    blocks = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    return next(found for found in map(json.loads, blocks) if member in found)


class ProfilesTest(unittest.TestCase):
    def setUp(self):
        self.report = {"result": {"profile": findExample("steps")}}
        self.explanation = {"result": findExample("without_fusion")}

    def testKeepsWhatIsNeeded(self):
        found = profiles.trim(self.report)
        self.assertEqual(found["method"], "events")
        self.assertEqual(found["steps"], [{
            "name": "matmul_add_sigmoid_mul", "kernel": "matmul_add_sigmoid_mul", "us": 8.2,
            "predicted_us": 8.07, "floor_us": 2.5, "read": 590336, "written": 262144,
            "operations": 33554432, "unit": "tf32x3", "nodes": ["node_matmul"]}])

    def testFamilyAndScheduleAreThoseOfTheStepsNodes(self):
        kernel = self.explanation["result"]["kernels"][0]
        step = self.report["result"]["profile"]["steps"][0]
        self.assertNotIn("family", profiles.trim(self.report, self.explanation)["steps"][0])
        step["nodes"] = kernel["nodes"]
        kernel["schedules"].append({"schedule": "second", "predicted": {"us": 8.07}})
        found = profiles.trim(self.report, self.explanation)["steps"][0]
        self.assertEqual((found["family"], found["schedule"]), ("gemm", "second"))

    def testNamesAlone(self):
        found = profiles.nameOnly(["a", "b"], [[1.0, 3.0, 2.0], [5.0]], "no --profile")
        self.assertEqual([(step["name"], step["us"]) for step in found["steps"]],
                         [("a", 2.0), ("b", 5.0)])
        self.assertEqual(found["sum_us"], 7)

    def testAStepALine(self):
        rows = {"<row>": profiles.trim(self.report),
                "b": profiles.nameOnly(["a", "b"], [[1.0], [5.0]], "")}
        text = profiles.format({"device": "D", "rows": rows})
        self.assertEqual(json.loads(text), {"device": "D", "rows": rows})
        self.assertEqual(sum("\"us\"" in line for line in text.splitlines()), 3)
        self.assertEqual(json.loads(profiles.format({"device": "D", "rows": {}}))["rows"], {})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "p.json"
            for bad in ("", "[]", '{"rows": {"a": {"steps": [{"name": 1, "us": 1}]}}}'):
                path.write_text(bad)
                with self.assertRaisesRegex(ValueError, "expected profiles"):
                    profiles.load(path)
            path.write_text(text)
            self.assertEqual(profiles.load(path)["rows"], rows)

    def testFilesLieBesideTheResults(self):
        path = pathlib.Path("r/nvidia-h200.json")
        self.assertEqual(profiles.pathBeside(path).name, "nvidia-h200-profiles.json")
        self.assertEqual(profiles.pathBeside(path, "before").name,
                         "nvidia-h200-before-profiles.json")
