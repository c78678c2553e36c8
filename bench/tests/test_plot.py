# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of results and of traces."""

import unittest
import xml.dom.minidom

import draw_trace
import plot
import summary
from tests.rows import entry, row


class PlotTest(unittest.TestCase):
    def testIsXml(self):
        good = row(eager=entry(4.0), fusec=entry(2.0))
        summary.compareWorkload(good, {"eager": [4.0] * 9, "fusec": [2.0] * 9})
        failed = row(eager=entry(4.0), fusec={"failure": "<not supported>"})
        results = {"machine": {"device": "A & B"}, "workloads": {"good": good, "<bad>": failed}}
        xml.dom.minidom.parseString(plot.render(results))

    def testMarksWhatTheBytesTake(self):
        found = row(eager=entry(4.0), fusec=entry(2.0))
        summary.compareWorkload(found, {"eager": [4.0] * 9, "fusec": [2.0] * 9})
        results = {"machine": {"device": "A"}, "workloads": {"w": found}}
        self.assertNotIn("line:", plot.render(results))
        found["contenders"]["traffic"] = entry(1.5, part=True)
        drawn = plot.render(results)
        self.assertIn("w: 1500.0 us for its bytes", drawn)
        self.assertIn("line: moving the bytes)", drawn)

    def testLongNamesFit(self):
        found = row(eager=entry(4.0), fusec=entry(2.0))
        summary.compareWorkload(found, {"eager": [4.0] * 9, "fusec": [2.0] * 9})
        for name in ("w", 60 * "w"):
            drawn = plot.render({"machine": {"device": "A"}, "workloads": {name: found}})
            texts = xml.dom.minidom.parseString(drawn).getElementsByTagName("text")
            shown = next(text for text in texts if text.firstChild.data == name)
            self.assertGreater(float(shown.getAttribute("x")), 6.5 * len(name))

    def testGridsShowWhichShapesAreBelow(self):
        rows = {}
        for ratio in (0.96, 0.98, 1.02):
            found = {**row(cublas=entry(1.0, part=True), fusec=entry(1.0)), "rows": "grid"}
            summary.compareWorkload(found, {"cublas": [ratio] * 9, "fusec": [1.0] * 9})
            rows[f"at_{ratio}"] = found
        results = {"machine": {"device": "A"}, "workloads": rows}
        circles = xml.dom.minidom.parseString(plot.render(results)).getElementsByTagName("circle")
        self.assertEqual([circle.getAttribute("class") for circle in circles],
                         ["below", "lose", "win"])
        for found in rows.values():
            found["rows"] = "table"
        self.assertNotIn("<circle", plot.render(results))


class Trace(unittest.TestCase):
    def makeTrace(self, runs=3):
        def name(what, pid, tid, text):
            return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": text}}

        def draw(cat, pid, tid, text, ts, dur, run, **args):
            return {"ph": "X", "cat": cat, "name": text, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                    "args": {"run": run, **args}}
        events = [name("process_name", 1, 0, "host"), name("thread_name", 1, 1, "enqueue"),
                  name("process_name", 2, 0, "a device"), name("thread_name", 2, 1, "stream 7"),
                  name("thread_name", 2, 2, "stream 7, started early")]
        for run in range(runs):
            begin = 1000 * run
            events += [draw("host", 1, 1, f"run {run}", begin, 2, run),
                       draw("kernel", 2, 1, "matmul", begin + 100, 30 + run, run, nodes=["<a>\x1b&"]),
                       draw("kernel", 2, 2, "relu", begin + 120, 40, run, nodes=[])]
        return {"otherData": {"model": "m<.fusec", "device": "a device", "method": "activity"}, "traceEvents": events}

    def testDrawsTheMedianRun(self):
        trace = self.makeTrace()
        trace["traceEvents"][-1]["dur"] = 90
        trace["traceEvents"][-4]["dur"] = 50
        drawn = draw_trace.render(trace)
        xml.dom.minidom.parseString(drawn)
        self.assertIn("m&lt;.fusec, run 1: 70.0 us", drawn)
        self.assertIn("stream 7, started early", drawn)
        self.assertIn("&lt;a&gt;\ufffd&amp;", drawn)
        self.assertIn("run 2: 110.0 us", draw_trace.render(trace, 2))

    def testNothingToDraw(self):
        for trace, run in ((self.makeTrace(0), None), (self.makeTrace(), 7)):
            with self.assertRaises(SystemExit):
                draw_trace.render(trace, run)
