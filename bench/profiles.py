# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The profile of every row, kept in a file beside the results: what each step of a
run took, and what the cost model and the floor say. Plain Python."""

import json
import math
import statistics

SUFFIX = "-profiles.json"
# Of a step of `fusec bench --profile --json` (docs/json.md) -> here.
MEMBERS = {"step": "name", "kernel": "kernel", "lead": "lead", "median_us": "us",
           "predicted_us": "predicted_us", "floor_us": "floor_us", "bytes_read": "read",
           "bytes_written": "written", "operations": "operations", "unit": "unit",
           "nodes": "nodes"}
ABOUT = ("method", "reason", "graph", "run_us", "sum_us")
DIGITS = 5
IN_PROCESS = "torch.profiler"  # the method that nameOnly stands for


def pathBeside(results, build=""):
    """Of the profiles of one build's rows; "" stands for fusec itself."""
    return results.with_name(results.stem + (build and f"-{build}") + SUFFIX)


def roundDigits(value):
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def trim(report, explanation=None):
    """From the objects that `fusec bench --profile --json` and, for families and
    schedules, `fusec explain --json` print."""
    found = report["result"]["profile"]
    kernels = {tuple(kernel["nodes"]): kernel
               for kernel in (explanation or {}).get("result", {}).get("kernels", [])}
    steps = []
    for step in found["steps"]:
        kept = {name: roundDigits(step[member]) for member, name in MEMBERS.items()
                if step.get(member) is not None}
        kernel = kernels.get(tuple(step["nodes"]))
        if kernel:
            kept.update(family=kernel["family"], schedule=pickSchedule(kernel, step))
        steps.append(kept)
    return {**{name: roundDigits(found.get(name)) for name in ABOUT}, "steps": steps}


def pickSchedule(kernel, step):
    """The one whose prediction is the step's: guards are not evaluated here."""
    schedules = kernel["schedules"]
    mine = [schedule for schedule in schedules if step.get("predicted_us") is not None
            and abs(schedule["predicted"]["us"] - step["predicted_us"]) < 1e-3]
    return (mine or schedules or [{"schedule": None}])[0]["schedule"]


def nameOnly(names, samples, why):
    """Of a build that cannot say more: the kernels of a run and each one's times, us."""
    steps = [{"name": name, "kernel": name, "us": roundDigits(statistics.median(times))}
             for name, times in zip(names, samples)]
    return {"method": IN_PROCESS, "reason": why, "graph": False, "run_us": None,
            "sum_us": roundDigits(sum(step["us"] for step in steps)), "steps": steps}


def load(path):
    """The file's object; ValueError says what it lacks."""
    try:
        found = json.loads(path.read_text("utf-8"))
        for row in found["rows"].values():
            for step in row["steps"]:
                step["us"] = float(step["us"] or 0)
                step["name"] += ""
    except (OSError, ValueError, KeyError, TypeError) as failure:
        raise ValueError(f"{path}: expected profiles that bench/compare.py keeps beside results: "
                         f"{failure!r}") from failure
    return found


def format(profiles):  # pylint: disable=redefined-builtin
    """A step a line."""
    rows = []
    for name, row in profiles["rows"].items():
        about = "".join(f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in row.items()
                        if key != "steps")
        steps = ",\n   ".join(json.dumps(step) for step in row["steps"])
        rows.append(f"  {json.dumps(name)}: {{{about}\"steps\": [\n   {steps}\n  ]}}")
    return f"{{\n \"device\": {json.dumps(profiles['device'])},\n \"rows\": {{\n" + \
        ",\n".join(rows) + "\n }\n}\n"
