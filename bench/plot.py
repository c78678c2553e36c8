# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plot of results as SVG: per workload the speed-up over the best peer with its
95% interval, and how far the floor is; for grids also what their statements
compare with, on a scale that shows hundredths. Needs Python alone."""

import html
import math

import sources
from summary import LEAST_RATIO, TRAFFIC

ROW, LEFT, PANEL, GAP, TOP, BOTTOM = 22, 310, 300, 70, 84, 34
LETTER = 7  # a name's letters are narrower
FACTORS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
HUNDREDTHS = (0.9, 0.95, LEAST_RATIO, 1, 1.05, 1.1)
# Of the grids' statements; a row has one of them.
STATED = {"cublas": "bare cuBLAS", "library": "two matmuls and a kernel"}
# Follows the viewer's colour scheme, where that supports it.
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 } .dim { fill: #656d76 }
  .grid { stroke: #d0d7de } .one { stroke: #57606a; stroke-width: 1.5 }
  .win { fill: #1a7f5a } .lose { fill: #b35900 } .floor { fill: #3b6fb6 }
  .below { fill: #c0262d }
  .bar { stroke: #24292f; stroke-width: 1.2 } .paper { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .dim { fill: #9198a1 } .grid { stroke: #30363d }
    .one { stroke: #9198a1 } .win { fill: #3fb27f } .lose { fill: #e08e3c }
    .floor { fill: #6ea8fe } .below { fill: #ff6b6b }
    .bar { stroke: #e6edf3 } .paper { fill: #0d1117 }
  }"""


class Axis:
    """Logarithmic, from `low` to `high`, in a panel that begins at x = left."""

    def __init__(self, left, low, high, steps=FACTORS):
        self.left, self.low, self.high = left, low, high
        self.ticks = [step for step in steps if low <= step <= high]

    def at(self, value):
        value = min(max(value, self.low), self.high)
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return self.left + part * PANEL


def makeAxis(left, values, low):
    """Values beyond a factor of 20 end at the panel's edge; their number is written."""
    return Axis(left, min([low, *values]) * 0.95, min(max([2.0, *values]), 20) * 1.05)


def drawText(x, y, text, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">' \
           f'{html.escape(text)}</text>'


def drawLine(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def drawAxis(axis, title, bottom):
    parts = [drawText(axis.left, TOP - 22, title, "dim")]
    for tick in axis.ticks:
        x = axis.at(tick)
        kind = "one" if tick in (1, LEAST_RATIO) else "grid"
        parts.append(drawLine(x, TOP - 4, x, bottom, kind))
        parts.append(drawText(x, bottom + 16, f"{tick:g}", "dim", "middle"))
    return parts


def drawBar(axis, value, y, kind):
    x, one = axis.at(value), axis.at(1)
    return f'<rect x="{min(x, one):.1f}" y="{y - 6:.1f}" width="{max(abs(x - one), 1):.1f}" ' \
           f'height="12" rx="2" class="{kind}"/>'


def getStated(row):
    """(reference, ratio with interval) of a row of a grid, or None."""
    found = row.get("against", {}) if row.get("rows") == "grid" else {}
    return next(((name, found[name]) for name in STATED if name in found), None)


def drawStated(name, row, y, axis):
    stated = getStated(row)
    if not stated:
        return []
    value, found = stated[1]["ratio"], stated[1]
    kind = "win" if value >= 1 else "lose" if value >= LEAST_RATIO else "below"
    title = f"{name}: {value:.3f} over {STATED[stated[0]]}"
    return [f"<g><title>{html.escape(title)}</title>",
            drawLine(axis.at(found["low"]), y, axis.at(found["high"]), y, "bar"),
            f'<circle cx="{axis.at(value):.1f}" cy="{y:.1f}" r="5" class="{kind}"/>', "</g>",
            drawText(axis.left + PANEL + 10, y + 4, f"{value:.3f}", kind if value < 1 else "dim")]


def drawRow(name, row, y, speed, floor, marked):
    left = speed.left - 12
    parts = [drawText(left, y + 4, name + " †", "dim", "end") if marked
             else drawText(left, y + 4, name, "", "end")]
    ratio = row.get("speedup")
    if ratio:
        value = ratio["ratio"]
        parts += [f"<g><title>{html.escape(name)}: {value:.3f} over {row['best_peer']}</title>",
                  drawBar(speed, value, y, "win" if value >= 1 else "lose"),
                  drawLine(speed.at(ratio["low"]), y, speed.at(ratio["high"]), y, "bar"), "</g>",
                  drawText(speed.left + PANEL + 6, y + 4, f"{value:.2f}", "dim")]
    else:
        entry = row["contenders"].get("fusec", {})
        why = "wrong result" if entry.get("wrong") else "not measured" \
            if "failure" not in entry else "does not compile or run"
        parts.append(drawText(speed.at(1) + 6, y + 4, why, "dim"))
    if "over_floor" in row:
        parts += [drawBar(floor, row["over_floor"], y, "floor"),
                  drawText(floor.left + PANEL + 6, y + 4, f"{row['over_floor']:.2f}", "dim")]
    traffic = row["contenders"].get(TRAFFIC, {}).get("median_ms")
    if traffic:
        x = floor.at(traffic / row["floor_ms"])
        parts += [f"<g><title>{html.escape(name)}: {1e3 * traffic:.1f} us for its bytes</title>",
                  drawLine(x, y - 8, x, y + 8, "bar"), "</g>"]
    return parts


def render(results, reference=None):
    """Rows that other sources than `reference` made are marked; default: than the
    newest row's."""
    rows = results["workloads"]
    reference = reference or sources.getNewest(rows.values())
    others = sources.findOthers(rows, reference)
    speedups = [part for row in rows.values() if "speedup" in row
                for part in (row["speedup"]["low"], row["speedup"]["high"])]
    overFloor = [row["over_floor"] for row in rows.values() if "over_floor" in row]
    speed = makeAxis(max([LEFT, *(LETTER * len(name) for name in rows)]), speedups, 0.5)
    floor = makeAxis(speed.left + PANEL + GAP, overFloor, 0.9)
    stated = Axis(floor.left + PANEL + GAP, HUNDREDTHS[0], HUNDREDTHS[-1], HUNDREDTHS) \
        if any(map(getStated, rows.values())) else None
    bottom = TOP + ROW * len(rows)
    width, height = (stated or floor).left + PANEL + GAP, bottom + BOTTOM
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}">', f"<style>{STYLE}\n</style>",
             f'<rect width="{width}" height="{height}" class="paper"/>',
             drawText(16, 26, f"fusec on {results['machine']['device']}", "title")]
    if others:
        parts.append(drawText(16, 43, sources.describeOthers(rows, reference), "dim"))
    parts += drawAxis(speed, "speed-up over the fastest peer, 95% interval", bottom)
    marked = any(TRAFFIC in row["contenders"] for row in rows.values())
    parts += drawAxis(floor, "time over the floor (" + ("line: moving the bytes)" if marked
                      else "least flops and bytes)"), bottom)
    if stated:
        parts += drawAxis(stated, "over " + ", or over ".join(STATED.values()), bottom)
    for index, (name, row) in enumerate(rows.items()):
        y = TOP + ROW * index + ROW / 2
        parts += drawRow(name, row, y, speed, floor, name in others)
        parts += drawStated(name, row, y, stated) if stated else []
    return "\n".join([*parts, "</svg>"]) + "\n"


def write(results, path, reference=None):
    path.write_text(render(results, reference), "utf-8")
