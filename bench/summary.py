# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statistics of interleaved rounds. Plain Python, so that it is tested anywhere."""

import functools
import math
import random
import statistics

RESAMPLES = 2000
# A result is wrong where its error is above this and above twice PyTorch's own.
# Relative to the reference's spread: a constant answer has the error 1. fp32 is
# TF32, which some contenders round and others cut off.
ERROR_BOUNDS = {"fp32": 4e-3, "fp16": 3e-3, "bf16": 2e-2}
FUSEC = ("fusec", "fusec_graph")
# fusec's better mode, timed as those contenders are that events cannot time.
ALIKE = "fusec_alike"
# What the grids' statements compare with, besides the best peer.
REFERENCES = ("cublas", "cublaslt", "library")
TRAFFIC = "traffic"  # what moving the least bytes takes
PAIRED = (*REFERENCES, TRAFFIC, "dense", "eager")  # each round of theirs with fusec's
LEAST_RATIO = 0.97  # of the medians of any one shape against cuBLAS
# XLA's time is that of flushes and runs, less that of flushes alone: where the host is busy, a
# round of a short model may be below zero. Its ratio counts as this.
NO_TIME = 1e-4


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


def resampleMedians(ratios, seed):
    """Medians of rounds drawn anew from these."""
    draw = random.Random(seed)
    return [statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)]


def pairRounds(peer, own):
    return [a / b for a, b in zip(peer, own)]


def describeRatio(ratio, resampled):
    """With its 95% bootstrap interval."""
    return {"ratio": ratio, "low": quantile(resampled, 0.025), "high": quantile(resampled, 0.975)}


def pairedRatio(peer, own):
    """Median of peer / own round by round."""
    ratios = pairRounds(peer, own)
    return describeRatio(statistics.median(ratios), resampleMedians(ratios, 0))


def isWrong(error, eagerError, dtype):
    """NaN is wrong."""
    return not error <= max(ERROR_BOUNDS[dtype], 2 * eagerError)


def isPeer(name, entry):
    """Not fusec, nor what does only a part of the work, nor another build."""
    return name not in FUSEC and not entry.get("part") and "build" not in entry


def listRight(contenders, names):
    """Those that ran and are right."""
    return [name for name in names if "median_ms" in contenders.get(name, {})
            and not contenders[name].get("wrong")]


def pickBest(contenders, names):
    """The name of the fastest that ran and is right, or None."""
    return min(listRight(contenders, names), key=lambda name: contenders[name]["median_ms"],
               default=None)


def pickOwn(contenders, name, own):
    """What of fusec's a contender is to be compared with: times of one method."""
    isAlike = "runs_a_sample" in contenders[name] and "median_ms" in contenders.get(ALIKE, {})
    return ALIKE if isAlike else own


def pickPeer(contenders, own):
    """The fastest beside fusec, each by its own method of timing; or None."""
    peers = listRight(contenders, [name for name in contenders if isPeer(name, contenders[name])])

    def overOwn(name):
        mine = pickOwn(contenders, name, own)
        return contenders[name]["median_ms"] / (contenders[mine]["median_ms"] if mine else 1)

    return min(peers, key=overOwn, default=None)


def compareWorkload(row, samples):
    """Adds to `row` fusec's better mode, the best peer and their paired ratio; and
    what summaries of several rows need of the peer and the references."""
    contenders = row["contenders"]
    own = pickBest(contenders, [name for name in contenders if name in FUSEC])
    peer = pickPeer(contenders, own)
    row.update(best=own, best_peer=peer)
    if own:
        row["over_floor"] = contenders[own]["median_ms"] / row["floor_ms"]
    row["against"] = {}
    modes = {name: [name] for name in [*PAIRED, peer]}
    for name, entry in contenders.items():  # of other builds, too, the better counts
        if "build" in entry:
            modes.setdefault(entry["build"], []).append(name)
    for name, ways in modes.items():
        best = pickBest(contenders, ways)
        if own and best:
            mine = samples[pickOwn(contenders, best, own)]
            rounds = [round(ratio, 4) for ratio in pairRounds(samples[best], mine)]
            row["against"][name] = {**pairedRatio(samples[best], mine), "rounds": rounds}
    if own and peer:
        row["speedup"] = {key: row["against"][peer][key] for key in ("ratio", "low", "high")}


@functools.lru_cache(maxsize=1024)  # a row counts to several groups
def resampleLogs(workload, rounds):
    """Other rounds are drawn for each workload: they were not measured together."""
    return [math.log(max(median, NO_TIME)) for median in resampleMedians(rounds, workload)]


def summariseGroup(rows, names, reference):
    """The geometric mean, over workloads, of the median ratio reference / fusec;
    its interval comes from resampling the rounds of each workload. None where no
    row has tried the reference."""
    medians, logs, tried = {}, [], False
    for name in names:
        row = rows.get(name, {"contenders": {}})
        contender = row.get("best_peer") if reference == "best_peer" else reference
        tried = tried or contender in row["contenders"]
        rounds = row.get("against", {}).get(contender, {}).get("rounds")
        if rounds:
            medians[name] = max(statistics.median(rounds), NO_TIME)
            logs.append(resampleLogs(name, tuple(rounds)))
    if not tried:
        return None
    found = {"of": len(names), "missing": [name for name in names if name not in medians]}
    if medians:
        worst = min(medians, key=medians.get)
        found.update(describeRatio(statistics.geometric_mean(medians.values()),
                                   [math.exp(statistics.fmean(each)) for each in zip(*logs)]),
                     worst={"workload": worst, "ratio": medians[worst]},
                     below_1=sum(median < 1 for median in medians.values()),
                     below_least=sum(median < LEAST_RATIO for median in medians.values()))
    return found


def summariseGroups(rows, groups):
    """group -> reference -> summary."""
    found = {group: {reference: summariseGroup(rows, names, reference)
                     for reference in (*REFERENCES, TRAFFIC, "best_peer")}
             for group, names in groups.items()}
    found = {group: {reference: entry for reference, entry in entries.items() if entry}
             for group, entries in found.items()}
    return {group: entries for group, entries in found.items() if entries}


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


def formatTable(rows, marked=()):
    """GitHub's Markdown; one line a workload, failures beneath. Times of what
    computes only a part are in parentheses; marked are names of rows."""
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
        shown = [name + (" †" if name in marked else ""), f"{row['floor_ms']:.4f}", *(formatTime(contenders.get(n)) for n in names),
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


def formatGroups(groups):
    """GitHub's Markdown; a line a group and reference."""
    lines = ["| grid | against | shapes | geometric mean (95%) | worst | workload | below 1 | "
             f"below {LEAST_RATIO} |", "|---" * 8 + "|"]
    for group, entries in groups.items():
        for reference, entry in entries.items():
            shapes = f"{entry['of'] - len(entry['missing'])}/{entry['of']}"
            shown = [group, reference.replace("_", " "), shapes]
            if "ratio" in entry:
                shown += ["{ratio:.3f} ({low:.3f}-{high:.3f})".format(**entry),
                          f"{entry['worst']['ratio']:.3f}", entry["worst"]["workload"],
                          str(entry["below_1"]), str(entry["below_least"])]
            else:
                shown += [""] * 5
            lines.append("| " + " | ".join(shown) + " |")
    return "\n".join(lines)
