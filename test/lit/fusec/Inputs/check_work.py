# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_work.py BUNDLE.json N: the work of launches where the dimension n is N, for FileCheck."""

import functools
import json
import operator
import sys

OPERATORS = {"+": operator.add, "*": operator.mul, "min": min, "max": max}


def evaluate(expr, n):
    if isinstance(expr, int):
        return expr
    if isinstance(expr, str):
        return n
    return functools.reduce(OPERATORS[expr[0]], [evaluate(part, n) for part in expr[1:]])


with open(sys.argv[1], encoding="utf-8") as file:
    plan = json.load(file)["result"]["manifest"]["plans"][0]
for step in plan["steps"]:
    for variant in step["variants"]:
        for launch in variant["launches"]:
            work = launch["work"]
            parts = [f"{key} {evaluate(work[key], int(sys.argv[2]))}" for key in ("read", "written", "operations")]
            assert work["predicted"]["nanoseconds"] > 0 and work["predicted"]["dim"] > 0, work
            lead = f", first {plan['steps'][work['lead']]['name']}" if "lead" in work else ""
            print(f"{step['name']}: {', '.join(parts)}, {work['unit']}{lead}")
