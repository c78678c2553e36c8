# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is a row slower than before? Either against another build, in the same rounds, or
against a file of another run, by what both measured beside fusec. Plain Python."""

import json
import math
import random
import statistics

import compare_steps
import profiles
import summary

BEFORE = "before"  # the contender that is another build
OWN = ("fusec", "fusec_graph")
# What a run is measured against where machines differ: the same work by the same
# code in both. Peers that choose by measuring, or compile, are not.
NORMALISERS = ("cublas", "library", "eager")
DECILES = 2 * 1.2816  # of a normal distribution, in standard deviations
MEDIAN_ERROR = math.sqrt(math.pi / 2)  # of its median, in those of its mean
FAILED, SAME, FASTER, SLOWER, UNKNOWN = "failed", "same", "faster", "slower", "not comparable"


def loadResults(path):
    """ValueError says what is wrong with the file."""
    try:
        found = json.loads(path.read_text("utf-8"))
        for row in found["workloads"].values():
            row.setdefault("empty_ms", found["machine"].get("empty_ms", 0))
            row["contenders"].keys()
        found["machine"]["device"] += ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
        raise ValueError(f"{path}: expected results of bench/compare.py: {failure!r}") from failure
    kept = profiles.pathBeside(path)
    found["profiles"] = profiles.load(kept)["rows"] if kept.exists() else {}
    return found


def getRounds(row, name):
    """peer / fusec round by round, where they are kept."""
    samples = row.get("samples_ms", {})
    if name in samples and row["best"] in samples:
        return summary.pairRounds(samples[name], samples[row["best"]])
    return row.get("against", {}).get(name, {}).get("rounds")


def estimateError(entry):
    """Relative, of the median of a contender's rounds, from their deciles."""
    deviation = (entry["p90_ms"] - entry["p10_ms"]) / DECILES / entry["median_ms"]
    return MEDIAN_ERROR * deviation / math.sqrt(entry["rounds"])


def drawMedians(row, name, seed):
    """(the median of peer / fusec, medians of rounds drawn anew)."""
    rounds = getRounds(row, name)
    if rounds:
        return statistics.median(rounds), summary.resampleMedians(rounds, seed)
    peer, own = row["contenders"][name], row["contenders"][row["best"]]
    ratio, draw = peer["median_ms"] / own["median_ms"], random.Random(seed)
    error = math.hypot(estimateError(peer), estimateError(own))
    return ratio, [ratio * math.exp(draw.gauss(0, error)) for _ in range(summary.RESAMPLES)]


def pickNormaliser(before, now):
    def isTimed(row, name):
        return summary.pickBest(row["contenders"], [name]) is not None

    return next((name for name in NORMALISERS if isTimed(before, name) and isTimed(now, name)),
                None)


def getOwnTime(row):
    return row["contenders"][row["best"]]["median_ms"]


def decide(found, allowed):
    """By the interval: certain to be outside of what is allowed, or not."""
    found["allowed"] = allowed
    found["verdict"] = SLOWER if found["low"] > 1 + allowed else \
        FASTER if found["high"] < 1 - allowed else SAME
    return found


def judgePaired(row, tolerance):
    """Against `before` in the same rounds; the ratio is how many times as long it takes."""
    if not row.get("best"):
        return {"verdict": FAILED}
    rounds = row["against"].get(BEFORE, {}).get("rounds")
    if not rounds:
        return {"verdict": UNKNOWN, "why": "the build before has no time"}
    found = summary.pairedRatio([1.0] * len(rounds), rounds)
    best = summary.pickBest(row["contenders"], [BEFORE, BEFORE + "_graph"])
    found.update(before_ms=row["contenders"][best]["median_ms"], now_ms=getOwnTime(row), by=best)
    decide(found, tolerance)
    if found["verdict"] != SAME and isOneProgram(row["contenders"]):
        found.update(verdict=SAME, why="one machine code, launched alike by one library: they "
                     "differ by where their weights lie")
    return found


def isOneProgram(contenders):
    """Two instances of one program differ by up to 5%, in one process and in the next:
    long rows fall on the memory's channels by where they begin."""
    now, before = (contenders.get(name, {}).get("program") for name in ("fusec", BEFORE))
    return now is not None and now == before


def judgeApart(before, now, tolerance):
    """Against a row of another run, each over what both measured beside it. What an
    empty region reads differs between runs and is in every time: so much is allowed."""
    if not now.get("best"):
        return {"verdict": FAILED}
    if not before.get("best"):
        return {"verdict": UNKNOWN, "why": "it has no time in the file"}
    name = pickNormaliser(before, now)
    if not name:
        return {"verdict": UNKNOWN, "why": f"none of {', '.join(NORMALISERS)} is in both"}
    (old, oldDrawn), (new, newDrawn) = drawMedians(before, name, 1), drawMedians(now, name, 2)
    found = summary.describeRatio(old / new, [a / b for a, b in zip(oldDrawn, newDrawn)])
    found.update(before_ms=getOwnTime(before), now_ms=getOwnTime(now), by=name)
    empty = abs(before.get("empty_ms", 0) - now.get("empty_ms", 0))
    return decide(found, tolerance + empty / min(found["before_ms"], found["now_ms"]))


def judgeRows(rows, former, tolerance):
    """name -> verdict; `former` is a file's results, or None for `before`."""
    return {name: judgeApart(former["workloads"][name], row, tolerance) if former else
            judgePaired(row, tolerance) for name, row in rows.items()}


def changePlaces(contenders):
    """Of a second process, in which other builds are made before fusec's own: the same
    machine code took 3.6% longer in one row of the build that was made first, and a
    second process with the same order found it again."""
    return [name for name in contenders if name not in OWN] + \
        [name for name in contenders if name in OWN]


def confirm(verdicts, again):
    """A row is slower where a second process finds it, too: what memory it gets, and
    what the first ran before, is in no interval of rounds. Where the two disagree it
    is the same."""
    for name, verdict in again.items():
        if verdict["verdict"] == FASTER:
            verdict = {**verdict, "verdict": SAME}
        verdicts[name] = {**verdict, "first": verdicts[name]["ratio"]}
    return verdicts


def formatVerdicts(verdicts):
    lines = ["| row | before ms | now ms | as long (95%) | allowed | by | |",
             "|---|---:|---:|---|---:|---|---|"]
    for name, found in verdicts.items():
        shown = [name] + [""] * 5
        if "ratio" in found:
            shown = [name, f"{found['before_ms']:.4f}", f"{found['now_ms']:.4f}",
                     "{ratio:.3f} ({low:.3f}-{high:.3f})".format(**found),
                     f"{1 + found['allowed']:.3f}", found["by"]]
        first = f"; {found['first']:.3f} at first" if "first" in found else ""
        why = f": {found['why']}" if "why" in found else ""
        lines.append("| " + " | ".join([*shown, found["verdict"] + first + why]) + " |")
    return "\n".join(lines)


def formatSteps(verdicts, before, after):
    """What changed step by step in the rows that are slower."""
    slower = [name for name, found in verdicts.items() if found["verdict"] == SLOWER]
    known = [name for name in slower if name in before and name in after]
    parts = [compare_steps.formatRows(before, after, known)] if known else []
    if len(known) < len(slower):
        parts.append("no profiles of both: " + ", ".join(n for n in slower if n not in known))
    return "\n\n".join(parts)
