# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics of interleaved rounds. Plain Python, so that it is tested anywhere."""

import math
import random
import statistics

RESAMPLES = 2000
# A result is wrong where its error is above this and above twice PyTorch's own.
# Relative to the reference's spread: a constant answer has the error 1. fp32 is
# TF32, which some contenders round and others cut off.
ERROR_BOUNDS = {"fp32": 4e-3, "fp16": 3e-3, "bf16": 2e-2}
FUSEC = ("fusec", "fusec_graph")


def quantile(values, part):
    """By linear interpolation."""
    values = sorted(values)
    at = part * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def summarise(times):
    """Median, spread and drift of one contender's rounds."""
    even, odd = times[0::2], times[1::2]
    return {"median_ms": statistics.median(times), "p10_ms": quantile(times, 0.1),
            "p90_ms": quantile(times, 0.9), "rounds": len(times),
            # The same thing timed twice: smaller differences are noise.
            "even_over_odd": statistics.median(even) / statistics.median(odd)}


def pairedRatio(peer, own):
    """Median of peer / own round by round, with a 95% bootstrap interval."""
    ratios = [a / b for a, b in zip(peer, own)]
    draw = random.Random(0)
    medians = [statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)]
    return {"ratio": statistics.median(ratios), "low": quantile(medians, 0.025),
            "high": quantile(medians, 0.975)}


def isWrong(error, eagerError, dtype):
    """NaN is wrong."""
    return not error <= max(ERROR_BOUNDS[dtype], 2 * eagerError)


def pickBest(contenders, names):
    """The name of the fastest that ran and is right, or None."""
    timed = [name for name in names if "median_ms" in contenders.get(name, {})
             and not contenders[name].get("wrong")]
    return min(timed, key=lambda name: contenders[name]["median_ms"], default=None)


def compareWorkload(row, samples):
    """Adds to `row` fusec's better mode, the best peer and their paired ratio."""
    contenders = row["contenders"]
    own = pickBest(contenders, [name for name in contenders if name in FUSEC])
    peer = pickBest(contenders, [name for name, entry in contenders.items()
                                 if name not in FUSEC and not entry.get("part")])
    row.update(best=own, best_peer=peer)
    if own:
        row["over_floor"] = contenders[own]["median_ms"] / row["floor_ms"]
    if own and peer:
        row["speedup"] = pairedRatio(samples[peer], samples[own])


def formatTime(entry):
    if entry is None:
        return ""
    if entry.get("wrong"):
        return f"WRONG {entry['error']:.1e}"
    if "failure" in entry:
        return "failed"
    if "median_ms" not in entry:
        return ""
    return f"({entry['median_ms']:.4f})" if entry.get("part") else f"{entry['median_ms']:.4f}"


def formatTable(rows):
    """GitHub's Markdown; one line a workload, failures beneath. Times of what
    computes only a part are in parentheses."""
    names = []
    for row in rows.values():
        names += [name for name in row["contenders"] if name not in names]
    names = [name for name in names if name not in FUSEC] + [n for n in FUSEC if n in names]
    lines = ["| workload | floor | " + " | ".join(names) +
             " | best peer | speed-up (95%) | over floor | error | compile s |",
             "|---" * (len(names) + 7) + "|"]
    notes = []
    for name, row in rows.items():
        contenders = row["contenders"]
        speedup = row.get("speedup")
        shown = [name, f"{row['floor_ms']:.4f}", *(formatTime(contenders.get(n)) for n in names),
                 row.get("best_peer") or "",
                 "{ratio:.3f} ({low:.3f}-{high:.3f})".format(**speedup) if speedup else "",
                 f"{row['over_floor']:.2f}" if "over_floor" in row else "",
                 f"{contenders['fusec']['error']:.1e}"
                 if "error" in contenders.get("fusec", {}) else "",
                 f"{contenders['fusec']['compile_s']:.2f}"
                 if "compile_s" in contenders.get("fusec", {}) else ""]
        lines.append("| " + " | ".join(shown) + " |")
        for peer, entry in contenders.items():
            if "failure" in entry:
                notes.append(f"- {name}, {peer}: {entry['failure']}")
        if "failure" in row:
            notes.append(f"- {name}: {row['failure']}")
    return "\n".join(lines + ([""] + notes if notes else []))
