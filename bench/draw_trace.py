#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""draw_trace.py TRACE [--run N] [--out FILE]: a run of a trace of `fusec bench
--profile=TRACE` as SVG, as Perfetto shows it: a lane of the host, and those of the
device's streams. Needs Python alone."""

import argparse
import html
import json
import pathlib
import statistics

from plot import STYLE

LEFT, WIDTH, LANE, TOP, LINE = 190, 1000, 34, 62, 18
COLOURS = ("#3b6fb6", "#1a7f5a", "#b35900", "#7a4fb3", "#0f7c8a", "#a8325e")


def pickRun(kernels):
    """The run of median length."""
    runs = {}
    for event in kernels:
        runs.setdefault(event["args"]["run"], []).append(event)
    lengths = {run: max(e["ts"] + e["dur"] for e in events) - min(e["ts"] for e in events)
               for run, events in runs.items()}
    middle = statistics.median_low(lengths.values())
    return next(run for run, length in lengths.items() if length == middle)


def chooseTick(span):
    """A round number of microseconds of which at most ten fit."""
    tick = 1
    for factor in (2, 2.5, 2) * 6:
        if span / tick <= 10:
            break
        tick *= factor
    return tick


def render(trace, run=None):
    events = trace["traceEvents"]
    names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
    slices = [e for e in events if e["ph"] == "X"]
    kernels = [e for e in slices if e["cat"] == "kernel"]
    if not kernels:
        raise SystemExit("expected kernels in the trace, found none")
    run = pickRun(kernels) if run is None else run
    shown = sorted((e for e in slices if e["args"]["run"] == run), key=lambda e: e["ts"])
    kernels = [e for e in shown if e["cat"] == "kernel"]
    if not kernels:
        raise SystemExit(f"expected a run of the trace, found {run}")
    # The host enqueues while the cache is flushed: its slice ends where kernels begin.
    start = min(e["ts"] for e in kernels)
    end = max(e["ts"] + e["dur"] for e in kernels)
    lanes = sorted({(e["pid"], e["tid"]) for e in kernels})
    height = TOP + LANE * len(lanes) + 40 + LINE * len(kernels) + 10

    def at(time):
        return LEFT + (time - start) / max(end - start, 1e-3) * WIDTH

    def text(x, y, words, kind=""):
        return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{html.escape(words)}</text>'

    about = trace["otherData"]
    enqueue = next(e for e in shown if e["cat"] == "host")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{height}" role="img">',
        f'<style>{STYLE} .in {{ fill: #ffffff }}</style>',
        f'<rect class="paper" width="100%" height="100%"/>',
        text(12, 22, f"{about['model']}, run {run}: {end - start:.1f} us", "title"),
        text(12, 42, f"{about['device']}; times by {about['method']}; enqueued in {enqueue['dur']:.1f} us, "
                     f"{start - enqueue['ts']:.0f} us before the first kernel", "dim"),
    ]
    bottom = TOP + LANE * len(lanes)
    tick = chooseTick(end - start)
    for i in range(int((end - start) / tick) + 1):
        x = at(start + i * tick)
        parts += [f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" class="grid"/>',
                  text(x, bottom + 14, f"{i * tick:g} us", "dim")]
    for place, lane in enumerate(lanes):
        parts.append(text(12, TOP + LANE * place + 21, names["thread_name", *lane]))
    for number, event in enumerate(kernels, 1):
        x, y = at(event["ts"]), TOP + LANE * lanes.index((event["pid"], event["tid"])) + 4
        width = max(event["dur"] / max(end - start, 1e-3) * WIDTH, 1)
        colour = COLOURS[number % len(COLOURS)]
        nodes = " ".join(event["args"]["nodes"])
        parts += [f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{LANE - 8}" rx="2" fill="{colour}">'
                  f'<title>{html.escape(event["name"] + ": " + nodes)}</title></rect>']
        if width > 14:
            parts.append(text(x + 3, y + 17, str(number), "in"))
        line = bottom + 40 + LINE * (number - 1)
        parts += [f'<rect x="12" y="{line - 9}" width="10" height="10" rx="2" fill="{colour}"/>',
                  text(28, line, f"{number}  {event['name']}"),
                  text(LEFT + 140, line, f"{event['dur']:.1f} us"),
                  text(LEFT + 230, line, nodes if len(nodes) <= 110 else nodes[:107] + "...", "dim")]
    # XML has no control characters, whatever names have.
    drawn = "\n".join(parts + ["</svg>", ""])
    return "".join(c if c >= " " or c == "\n" else "\ufffd" for c in drawn)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", metavar="TRACE", type=pathlib.Path)
    parser.add_argument("--run", metavar="N", type=int, help="default: the one of median length")
    parser.add_argument("--out", metavar="FILE", type=pathlib.Path, help="default: TRACE with .svg")
    arguments = parser.parse_args()
    drawn = render(json.loads(arguments.trace.read_text("utf-8")), arguments.run)
    (arguments.out or arguments.trace.with_suffix(".svg")).write_text(drawn, "utf-8")


if __name__ == "__main__":
    main()
