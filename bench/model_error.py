#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples:
  bench/model_error.py bench/results/nvidia-h200-profiles.json
  bench/model_error.py bench/results/nvidia-h200-*profiles.json --out error.svg

The cost model's errors, from the profiles that bench/compare.py keeps: predicted /
measured time of each step, by family and, of matmuls, by what multiplies. Prints a
table in Markdown; --out writes predicted against measured as a plot in SVG."""

import argparse
import html
import math
import pathlib
import re
import statistics
import sys

import profiles
from plot import STYLE, drawLine, drawText

EPILOGUE = """exit status: 0 done, 2 usage, 3 a file cannot be read, or has no prediction."""

DONE, UNREADABLE = 0, 3
WORST = 5
LEFT, TOP, SIDE, RIGHT, BOTTOM = 70, 62, 560, 330, 52
LINE = 20  # of the legend
COLOURS = ("#3b6fb6", "#1a7f5a", "#b35900", "#7a4fb3", "#0f7c8a", "#a8325e", "#6b7a00", "#c0262d",
           "#5a5f66", "#b08800", "#00788f", "#d05090")
FACTORS = (1, 2, 5)


def nameUnit(family, schedule):
    """What multiplies, with the switches of its schedule: "wgmma pingPong"; None where
    nothing does."""
    unit = re.search(r"\bunit = (\w+)", schedule)
    if unit:
        return unit[1]
    room = re.match(r"(\w+)_schedule<", schedule) if family == "gemm" else None
    return " ".join([room[1], *re.findall(r"(\w+) = true", schedule)]) if room else None


def getFamily(step):
    """What the model predicts alike: the family, of matmuls with their unit."""
    family = step.get("family") or "unknown"
    unit = nameUnit(family, step.get("schedule") or "") or step.get("unit")
    return f"{family}, {unit}" if family == "gemm" and unit else family


def collect(rows):
    """family -> [{row, name, predicted, measured, ratio}], most steps first."""
    found = {}
    for row, kept in rows:
        for step in kept["steps"]:
            if step.get("predicted_us") and step["us"]:
                found.setdefault(getFamily(step), []).append(
                    {"row": row, "name": step["name"], "predicted": step["predicted_us"],
                     "measured": step["us"], "ratio": step["predicted_us"] / step["us"]})
    return dict(sorted(found.items(), key=lambda each: (-len(each[1]), each[0])))


def summarise(points):
    """Of ratios: the geometric mean, and the factor of a standard deviation."""
    logs = [math.log(point["ratio"]) for point in points]
    return math.exp(statistics.fmean(logs)), math.exp(statistics.pstdev(logs))


def pickWorst(points):
    return sorted(points, key=lambda point: -abs(math.log(point["ratio"])))[:WORST]


def formatTable(families):
    lines = ["| family | steps | predicted / measured | spread | least | most |",
             "|---|---:|---:|---:|---:|---:|"]
    everything = [point for points in families.values() for point in points]
    for family, points in [*families.items(), ("all", everything)]:
        mean, spread = summarise(points)
        ratios = [point["ratio"] for point in points]
        lines.append(f"| {family} | {len(points)} | {mean:.3f} | x {spread:.2f} | "
                     f"{min(ratios):.2f} | {max(ratios):.2f} |")
    lines += ["", f"the {WORST} worst of each family:", "",
              "| family | row | step | predicted us | measured us | ratio |",
              "|---|---|---|---:|---:|---:|"]
    for family, points in families.items():
        lines += [f"| {family} | {point['row']} | {point['name']} | {point['predicted']:.2f} | "
                  f"{point['measured']:.2f} | {point['ratio']:.2f} |"
                  for point in pickWorst(points)]
    return "\n".join(lines)


class Scale:
    """Logarithmic, one for both axes, so that what is right is on the diagonal."""

    def __init__(self, values):
        self.low, self.high = min(values) / 1.2, max(values) * 1.2

    def at(self, value):
        return math.log(value / self.low) / math.log(self.high / self.low) * SIDE

    def ticks(self):
        low, high = (math.floor(math.log10(end)) for end in (self.low, self.high))
        return [factor * 10.0 ** power for power in range(low, high + 1) for factor in FACTORS
                if self.low <= factor * 10.0 ** power <= self.high]


def drawAxes(scale):
    parts = []
    for tick in scale.ticks():
        x, y = LEFT + scale.at(tick), TOP + SIDE - scale.at(tick)
        parts += [drawLine(x, TOP, x, TOP + SIDE, "grid"),
                  drawLine(LEFT, y, LEFT + SIDE, y, "grid"),
                  drawText(x, TOP + SIDE + 18, f"{tick:g}", "dim", "middle"),
                  drawText(LEFT - 8, y + 4, f"{tick:g}", "dim", "end")]
    # Exact; and twice as long as predicted, and half.
    for factor, kind in ((1, "one"), (2, "grid"), (0.5, "grid")):
        shift = math.log(factor) / math.log(scale.high / scale.low) * SIDE
        parts.append(drawLine(LEFT + max(-shift, 0), TOP + SIDE - max(shift, 0),
                              LEFT + SIDE - max(shift, 0), TOP + max(-shift, 0), kind))
    return parts + [drawText(LEFT, TOP - 12, "measured, us", "dim"),
                    drawText(LEFT + SIDE, TOP + SIDE + 40, "predicted, us", "dim", "end")]


def render(families, device):
    scale = Scale([point[key] for points in families.values() for point in points
                   for key in ("predicted", "measured")])
    width = LEFT + SIDE + RIGHT
    height = max(TOP + SIDE + BOTTOM, TOP + LINE * len(families) + BOTTOM)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}">', f"<style>{STYLE}\n</style>",
             f'<rect width="{width}" height="{height}" class="paper"/>',
             drawText(16, 26, f"the cost model on {device}", "title"), *drawAxes(scale)]
    for number, (family, points) in enumerate(families.items()):
        colour, y = COLOURS[number % len(COLOURS)], TOP + 10 + LINE * number
        mean, spread = summarise(points)
        parts += [f'<circle cx="{LEFT + SIDE + 24}" cy="{y - 4}" r="5" fill="{colour}"/>',
                  drawText(LEFT + SIDE + 36, y,
                           f"{family}: {len(points)}, {mean:.2f} x {spread:.2f}")]
        for point in points:
            title = (f"{point['row']}, {point['name']}: predicted {point['predicted']:.2f} us, "
                     f"measured {point['measured']:.2f}")
            parts.append(f'<circle cx="{LEFT + scale.at(point["predicted"]):.1f}" '
                         f'cy="{TOP + SIDE - scale.at(point["measured"]):.1f}" r="4" '
                         f'fill="{colour}" fill-opacity="0.75"><title>{html.escape(title)}</title>'
                         "</circle>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOGUE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", metavar="PROFILES.json", type=pathlib.Path, nargs="+")
    parser.add_argument("--out", metavar="FILE.svg", type=pathlib.Path)
    options = parser.parse_args(arguments)
    try:
        loaded = [profiles.load(path) for path in options.files]
    except ValueError as failure:
        print(failure, file=sys.stderr)
        return UNREADABLE
    families = collect([each for found in loaded for each in found["rows"].items()])
    if not families:
        print(f"{options.files[0]}: expected predicted times of steps, found none: profiles of "
              "builds that have no `fusec bench --profile` have names alone", file=sys.stderr)
        return UNREADABLE
    print(formatTable(families))
    if options.out:
        devices = " and ".join(dict.fromkeys(found["device"] for found in loaded))
        options.out.write_text(render(families, devices), "utf-8")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
