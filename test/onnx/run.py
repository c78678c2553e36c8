# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the ONNX node tests and compares every result with expected.txt.

  run.py --cases=DIR --membership              only: expected.txt is up to date
  run.py --cases=DIR --suite=BINARY [--device=reference|cuda]
         [--mode=static|symbolic|both] [--filter=REGEX]

BINARY runs all cases in one process: `BINARY CASES --device=D --mode=M
[--filter=R]`, one JSON line a result on stdout, in the order it runs them:
  {"test": name, "mode": "static" | "symbolic",
   "result": "pass" | "fail" | "refused", "message": text}
A test with no symbolic form gives no line in symbolic mode. BINARY exits with 0
when all is as each case.json expects, 77 when it finds no device, else with 1;
this program with the same, by expected.txt.
"""

import argparse
import collections
import difflib
import json
import pathlib
import re
import subprocess
import sys

import generate

EXPECTED = pathlib.Path(__file__).resolve().parent / "expected.txt"
SHOWN = 40  # Differences printed in full.
NO_DEVICE = 77  # CTest's SKIP_RETURN_CODE.


def readExpected(path):
    """name -> ("pass" | "refused", has a symbolic form)."""
    expected = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.fullmatch(
            r"(\w+) (?:(pass)( not-symbolic: .+)?|(refused): .+)", line)
        if not match:
            raise SystemExit(f"{path.name}:{number}: expected 'NAME pass', 'NAME pass "
                             f"not-symbolic: REASON' or 'NAME refused: REASON', got '{line}'")
        name, passes, notSymbolic, refused = match.groups()
        expected[name] = (passes or refused, bool(passes) and not notSymbolic)
    return expected


def checkMembership(cases):
    """expected.txt must be what the pinned onnx version gives, line by line."""
    fresh = (cases / "expected.txt").read_text().splitlines()
    difference = list(difflib.unified_diff(
        EXPECTED.read_text().splitlines(), fresh, "expected.txt",
        f"onnx {generate.onnx.__version__}", lineterm="", n=0))
    if difference:
        print("\n".join(difference[:SHOWN]))
        print("expected.txt differs from the node tests of the installed onnx; if the "
              "change is meant: generate.py DIR --update")
        return 1
    print(f"expected.txt names all {len(fresh)} node tests")
    return 0


def runSuite(arguments):
    command = [arguments.suite, str(arguments.cases), f"--device={arguments.device}",
               f"--mode={arguments.mode}"]
    if arguments.filter:
        command.append(f"--filter={arguments.filter}")
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    results = {}
    for line in process.stdout.splitlines():
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            raise SystemExit(f"the suite printed no JSON: '{line}'") from None
        if "mode" in result:
            results[result["test"], result["mode"]] = result
    return process.returncode, results


def wantedResults(expected, arguments):
    """(test, mode) -> the result that must come."""
    chosen = re.compile(arguments.filter or "")
    wanted = {}
    for name, (verdict, hasSymbolic) in expected.items():
        if not chosen.search(name):
            continue
        if arguments.mode != "symbolic":
            wanted[name, "static"] = verdict
        if arguments.mode != "static" and hasSymbolic:
            wanted[name, "symbolic"] = verdict
    return wanted


def compare(wanted, results):
    differences = []
    for key, verdict in wanted.items():
        result = results.get(key)
        got = result["result"] if result else "no result"
        if got != verdict:
            message = result.get("message", "") if result else ""
            differences.append(f"{key[0]} ({key[1]}): expected {verdict}, got {got}"
                               + (f": {message}" if message else ""))
    differences += [f"{name} ({mode}): not in expected.txt"
                    for name, mode in results.keys() - wanted.keys()]
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=pathlib.Path, required=True)
    parser.add_argument("--suite")
    parser.add_argument("--membership", action="store_true")
    parser.add_argument("--device", default="reference", choices=["reference", "cuda"])
    parser.add_argument("--mode", default="both", choices=["static", "symbolic", "both"])
    parser.add_argument("--filter", default="")
    arguments = parser.parse_args()
    generate.generate(arguments.cases)
    if arguments.membership:
        return checkMembership(arguments.cases)
    if not arguments.suite:
        parser.error("expected --suite=BINARY or --membership")
    status, results = runSuite(arguments)
    if status == NO_DEVICE:
        return NO_DEVICE
    wanted = wantedResults(readExpected(EXPECTED), arguments)
    differences = compare(wanted, results)
    print("\n".join(differences[:SHOWN]))
    if len(differences) > SHOWN:
        print(f"... and {len(differences) - SHOWN} more")
    if status < 0:
        last = list(results)[-1] if results else "the start"
        print(f"the suite ended with signal {-status}, after {last}")
    tally = collections.Counter((key[1], r["result"]) for key, r in results.items())
    print(", ".join(f"{mode} {result}: {count}"
                    for (mode, result), count in sorted(tally.items())),
          f"| differences: {len(differences)}")
    return 1 if differences or status < 0 else 0


if __name__ == "__main__":
    sys.exit(main())
