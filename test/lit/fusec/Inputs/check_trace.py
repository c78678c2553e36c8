# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_trace.py TRACE METHOD: a trace as Perfetto reads it, its lanes and names."""

import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    trace = json.load(file)
events = trace["traceEvents"]
assert trace["otherData"]["method"] == sys.argv[2], trace["otherData"]

names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
slices = [e for e in events if e["ph"] == "X"]
lanes = collections.defaultdict(list)
for event in slices:
    assert event["ts"] >= 0 and event["dur"] >= 0, event
    assert ("process_name", event["pid"], 0) in names, event
    assert ("thread_name", event["pid"], event["tid"]) in names, event
    lanes[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
for lane in lanes.values():
    lane.sort()
    assert all(a[1] <= b[0] + 1e-3 for a, b in zip(lane, lane[1:])), "slices of a lane overlap"

host = [e for e in slices if names["process_name", e["pid"], 0] == "host"]
kernels = [e for e in slices if e["cat"] == "kernel"]
assert len(host) == 20, len(host)
perRun = collections.Counter(e["args"]["run"] for e in kernels)
assert len(perRun) == 20 and len(set(perRun.values())) == 1, perRun
for event in kernels:
    args = event["args"]
    assert len(args["grid"]) == len(args["block"]) == 3 and args["kernel"], args
    assert args["bytes read"] >= 0 and args["bytes written"] > 0 and args["operations"] >= 0, args
nodes = {node for e in kernels for node in e["args"]["nodes"]}
assert 'quote" \\ \x1b[2J\n\u00e9' in nodes, nodes
