# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The throughput of a bundle against how unevenly its ids are drawn, as a plot.

    bench/zipf.py build/release/tools/fusec model.fusec --dim=batch=16384 \\
        --device-memory=15G --plot=zipf.svg

Each budget of device memory is a curve over Zipf's exponent; 0 stands for uniform
ids, a budget of 0 for tables that lie on the device as a whole. Python alone."""

import argparse
import json
import math
import subprocess

import plot

EXPONENTS = (0, 0.6, 0.8, 0.9, 1.0, 1.05, 1.1, 1.2, 1.4)
WIDTH, HEIGHT, LEFT, TOP = 560, 300, 80, 60
KINDS = ("win", "lose", "floor", "below")  # of plot.STYLE


def measure(options, budget, exponents):
    """A point for each exponent, of a model that is loaded once."""
    ids = ",".join(f"zipf:{exponent}" if exponent else "uniform" for exponent in exponents)
    command = [options.fusec, "bench", options.bundle, "--json", "-q",
               f"--seconds={options.seconds}", f"--ids={ids}"]
    command += [f"--dim={dim}" for dim in options.dim]
    if budget != "0":
        command.append(f"--device-memory={budget}")
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    report = json.loads(done.stdout)["result"]
    results = report.get("sweep", [report])
    return [{"budget": budget, "exponent": exponent, "median_ms": result["device_ms"]["median"],
             "rows_per_second": result["rows_per_second"], "ids": result["ids"],
             "table_bytes": result["table_bytes"],
             "device_table_bytes": result["device_table_bytes"],
             "load_ms": result["once_ms"]["load_weights"], "device": result["device"]}
            for exponent, result in zip(exponents, results, strict=True)]


def draw(points, title):
    """Logarithmic upwards, from a power of ten to another."""
    rates = [point["rows_per_second"] for point in points]
    low, high = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))
    high = max(high, low + 1)
    last = max(point["exponent"] for point in points) or 1
    atX = lambda exponent: LEFT + exponent / last * WIDTH
    atY = lambda rate: TOP + HEIGHT - (math.log10(rate) - low) / (high - low) * HEIGHT
    size = (LEFT + WIDTH + 200, TOP + HEIGHT + 60)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}">',
             f"<style>{plot.STYLE} polyline {{ fill: none; stroke-width: 2 }}"
             " polyline.win { stroke: #1a7f5a } polyline.lose { stroke: #b35900 }"
             " polyline.floor { stroke: #3b6fb6 } polyline.below { stroke: #c0262d }"
             " polyline { fill: none !important }</style>",
             f'<rect class="paper" width="{size[0]}" height="{size[1]}"/>',
             plot.drawText(LEFT, 24, title, "title"),
             plot.drawText(LEFT, 44, "rows of the batch a second, by Zipf's exponent "
                           "(0: uniform)", "dim")]
    for power in range(low, high + 1):
        lines.append(plot.drawLine(LEFT, atY(10 ** power), LEFT + WIDTH, atY(10 ** power), "grid"))
        lines.append(plot.drawText(LEFT - 8, atY(10 ** power) + 4, f"1e{power}", "dim", "end"))
    for exponent in sorted({point["exponent"] for point in points}):
        lines.append(plot.drawText(atX(exponent), TOP + HEIGHT + 20, f"{exponent:g}", "dim",
                                   "middle"))
    for number, budget in enumerate(dict.fromkeys(point["budget"] for point in points)):
        own = sorted((point["exponent"], point["rows_per_second"], point) for point in points
                     if point["budget"] == budget)
        kind = KINDS[number % len(KINDS)]
        path = " ".join(f"{atX(exponent):.1f},{atY(rate):.1f}" for exponent, rate, _ in own)
        lines.append(f'<polyline class="{kind}" points="{path}"/>')
        lines += [f'<circle class="{kind}" cx="{atX(exponent):.1f}" cy="{atY(rate):.1f}" r="3">'
                  f"<title>{rate:.4g} rows/s</title></circle>" for exponent, rate, _ in own]
        point = own[-1][2]
        share = point["device_table_bytes"] / max(point["table_bytes"], 1)
        lines.append(plot.drawText(LEFT + WIDTH + 12, atY(own[-1][1]) + 4,
                                   f"{100 * share:.0f}% on the device"))
    return "\n".join([*lines, "</svg>", ""])


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("fusec")
    parser.add_argument("bundle")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--device-memory", default="0", metavar="BYTES[,BYTES...]")
    parser.add_argument("--exponents", default=",".join(map(str, EXPONENTS)))
    parser.add_argument("--seconds", type=float, default=0.3, help="of each point")
    parser.add_argument("--out", help="all points as JSON")
    parser.add_argument("--plot", help="an SVG")
    return parser.parse_args()


def main():
    options = parse()
    points = []
    for budget in options.device_memory.split(","):
        exponents = [float(exponent) for exponent in options.exponents.split(",")]
        points += (own := measure(options, budget, exponents))
        for point in own:
            print(f"{budget:>8} zipf {point['exponent']:<5g} {point['median_ms']:.4f} ms, "
                  f"{point['rows_per_second']:.4g} rows/s, weights in {point['load_ms']:.0f} ms",
                  flush=True)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(points, file, indent=1)
    if options.plot:
        with open(options.plot, "w", encoding="utf-8") as file:
            file.write(draw(points, f"{points[0]['table_bytes'] / 1e9:.0f} GB of tables, "
                            f"{points[0]['device']}"))


if __name__ == "__main__":
    main()
