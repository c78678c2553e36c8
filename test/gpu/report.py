# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the tests labelled gpu and records what the device gave.

  report.py run FOLDER     runs all of FOLDER/gpu-tests.txt, writes report.json
  report.py pack FOLDER TO copies from the build folder what `run` needs to TO
  report.py sanitize FOLDER TOOL  runs all again under compute-sanitizer (memcheck,
                           racecheck, ...) and writes what it found to report.json
  report.py check FOLDER   is report.json of these sources, whole and passed?

A line of gpu-tests.txt is NAME<tab>PROGRAM<tab>ARGUMENT...; the programs print
JSON lines {"test", "result": "pass" | "fail" | "skip", "error", "bound", "arch"}
with error and bound in any one measure of the test. Needs Python alone.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import partial_copies

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REPORT = HERE / "report.json"
NO_DEVICE = 77
LIMIT_S = 540  # One test; a program that hangs must not take the report along.
PRINTED = 1000000  # reports of a sanitizer
# Tests that compare times, which others would disturb.
TIMED = {"adapters-gpu"}
# Tests in so many processes: each waits for its slowest kernel of a batch.
SHARDS = {"kernels-gpu": 12, "onnx-gpu": 6, "parts-gpu": 2}
# initcheck does not see what bulk copies write, so that all that reads it would be
# reported. Kernels as PTX have none; products choose kernels of their own, of which
# those by wgmma have. Of a launch with more reports than its buffer holds it drops some:
# batches and sizes are small.
INITCHECK = {**dict.fromkeys(["onnx-gpu", "models-gpu", "compositions-gpu", "made-gpu",
                              "pairs-gpu", "parts-gpu", "profiles-gpu"], ["--arch=ptx"]),
             "kernels-gpu": ["--arch=ptx", "--largest=126"],
             "batches-gpu": ["--arch=ptx", r"--filter=\.b(0|1|7|128)$"],
             "products-gpu": [r"--filter=\.(skinny|\d)"]}


def readTests(folder):
    tests = []
    for line in (folder / "gpu-tests.txt").read_text().splitlines():
        name, *command = [part for part in line.split("\t") if part]
        tests.append((name, command))
    return tests


def readSkips():
    """name -> reason, from lines 'NAME: reason'."""
    lines = (HERE / "skips.txt").read_text().splitlines()
    pairs = [line.split(":", 1) for line in lines if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, reason in pairs}


def sourceHash():
    return subprocess.run([ROOT / "tools" / "source-hash.sh"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def queryDevice():
    """Name, driver and compute capability of device 0; None without one."""
    try:
        text = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap",
             "--format=csv,noheader", "--id=0"],
            check=True, stdout=subprocess.PIPE, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    name, driver, capability = (part.strip() for part in text.split(","))
    return {"device": name, "driver": driver, "sm": "sm_" + capability.replace(".", "")}


def parseLines(text):
    results = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if "result" in record:
                results.append(record)
    return results


def ratio(record):
    error, bound = record.get("error") or 0.0, record.get("bound") or 0.0
    return error / bound if bound else (float("inf") if error else 0.0)


def summarise(name, status, lines, device, seconds):
    """One entry: the worst line stands for the test."""
    failed = [r for r in lines if r["result"] not in ("pass", "skip", "refused")]
    skipped = status == NO_DEVICE or (lines and all(r["result"] == "skip" for r in lines))
    result = "skip" if skipped else "pass" if status == 0 and not failed else "fail"
    entry = {"name": name, "result": result, "arch": device["sm"], "checks": len(lines),
             "seconds": round(seconds, 1)}
    measured = [r for r in lines if "error" in r]
    if measured:
        worst = max(measured, key=ratio)
        entry.update(error=worst["error"], bound=worst.get("bound"), worst=worst["test"],
                     arch=worst.get("arch", device["sm"]))
    if result == "fail":
        entry["failed"] = [r["test"] for r in failed][:20] or [f"exit status {status}"]
    return entry


def runProgram(name, command, folder, under=()):
    """Exit status of a test's program, or of all its shards, and the output of each."""
    count = SHARDS.get(name, 1)

    def run(i):
        shard = [f"--shard={i}/{count}"] if count > 1 else []
        environment = {**os.environ, "FUSEC_CACHE_DIR": str(kernelCache(name, i))}
        return runProcess([*command, *shard], folder, under, environment)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        done = list(pool.map(run, range(count)))
    # The first that is not 0.
    return next(filter(None, (status for status, _ in done)), 0), [text for _, text in done]


def runProcess(command, folder, under, environment):
    words = [w.replace("@BUILD@", str(folder)).replace("@SOURCE@", str(ROOT))
             for w in command]
    try:
        process = subprocess.run([*under, *words], cwd=ROOT, timeout=LIMIT_S, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env=environment, check=False)
        return process.returncode, process.stdout
    except subprocess.TimeoutExpired as expired:
        return 124, (expired.stdout or b"").decode(errors="replace")


def runTest(name, command, folder, device):
    started = time.monotonic()
    status, texts = runProgram(name, command, folder)
    text = "".join(texts)
    entry = summarise(name, status, parseLines(text), device, time.monotonic() - started)
    if entry["result"] == "fail":
        plain = [line for line in text.splitlines() if '"result":"pass"' not in line]
        print("\n".join(plain[-30:]), file=sys.stderr)
    print(f"{entry['result']:4} {name} ({entry['checks']} checks, {entry['seconds']} s)",
          flush=True)
    return entry


def isGood(entry, skips):
    return entry["result"] == "pass" or (entry["result"] == "skip" and
                                         entry["name"] in skips)


def runAll(folder):
    device = queryDevice()
    if not device:
        raise SystemExit("expected a GPU that nvidia-smi shows, found none")
    tests, skips = readTests(folder), readSkips()
    if not tests:
        raise SystemExit(f"{folder}/gpu-tests.txt names no test")
    # Most of the time goes into the host's part.
    alone = [test for test in tests if test[0] in TIMED]
    entries = {test[0]: runTest(*test, folder, device) for test in alone}
    with concurrent.futures.ThreadPoolExecutor(len(tests)) as pool:
        jobs = {test[0]: pool.submit(runTest, *test, folder, device)
                for test in tests if test not in alone}
    entries.update((name, job.result()) for name, job in jobs.items())
    entries = [entries[name] for name, _ in tests]
    report = {"device": device["device"], "driver": device["driver"],
              "source_hash": sourceHash(), "tests": entries}
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    good = sum(isGood(entry, skips) for entry in entries)
    print(f"{good} of {len(entries)} gpu tests are good on {device['device']}, "
          f"driver {device['driver']}")
    return 0 if good == len(entries) else 1


def kernelCache(test, shard):
    """Where a shard of a test keeps compiled kernels: apart from others, so that a
    name in a sanitizer's report leads to few kernels."""
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    folder = os.environ.get("FUSEC_CACHE_DIR") or pathlib.Path(home) / "fusec-gpu-tests"
    return pathlib.Path(folder) / test / str(shard)


def sanitizeTest(tool, name, command, folder):
    """What the tool says of a test: "clean", or what went wrong. Its own limits
    on time do not hold there; its checks must."""
    options = []
    if tool == "initcheck":
        # Of reports in thousands the host's stack is most of the text.
        options = ["--show-backtrace", "no"]
        command = command + INITCHECK.get(name, [])
    started = time.monotonic()
    status, texts = runProgram(name, command, folder, [
        "compute-sanitizer", "--tool", tool, "--print-limit", str(PRINTED), *options])
    text = "".join(texts)
    print(f"{tool} {name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    found = re.findall(r"=+ (?:ERROR|RACECHECK) SUMMARY: (.*)", text)
    failed = [f"{r['test']} failed: {r.get('message') or r.get('error')}" for r in parseLines(text)
              if r["result"] == "fail" and not r["test"].startswith("times.")]
    # A program that ends early has left checks out.
    crashed = "didn't terminate successfully" in text
    whole = len(found) >= SHARDS.get(name, 1) and status != 124 and not crashed
    clean = whole and all(re.match(r"0 (errors|hazards)", each) for each in found)
    if tool == "initcheck" and whole:
        isPtx = "--arch=ptx" in command
        results = [partial_copies.findOthers(text, kernelCache(name, i), isPtx)
                   for i, text in enumerate(texts)]
        found = [other for others, _ in results for other in others]
        clean = not found
        if total := sum(count for _, count in results):
            print(f"{name}: {total} reports, of copies shorter than they are wide but {found}",
                  file=sys.stderr)
    if clean and not failed:
        return "clean"
    print("\n".join([line for line in text.splitlines() if line.startswith("=====")][:60]),
          file=sys.stderr)
    return "; ".join(found + ["a program crashed"] * crashed + failed[:5]) or \
        f"exit status {status}"


def sanitizeAll(folder, tool):
    """All at once."""
    report = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    if report.get("source_hash") != sourceHash():
        raise SystemExit("test/gpu/report.json is not of these sources: run without "
                         "--sanitize first, which also fills the kernel cache")
    tests = readTests(folder)
    with concurrent.futures.ThreadPoolExecutor(len(tests)) as pool:
        jobs = {name: pool.submit(sanitizeTest, tool, name, command, folder)
                for name, command in tests}
    for entry in report["tests"]:
        entry[tool] = jobs[entry["name"]].result()
        print(f"{tool} {entry['name']}: {entry[tool]}")
    REPORT.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if all(job.result() == "clean" for job in jobs.values()) else 1


def copyInto(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target)
        if os.access(source, os.X_OK):
            subprocess.run(["strip", target], check=False, stderr=subprocess.DEVNULL)


def pack(folder, to):
    """The programs, and every path under @BUILD@ that an argument names; of cases
    those that the test's filter lets through."""
    to = pathlib.Path(to).resolve()
    shutil.rmtree(to, ignore_errors=True)
    copyInto(folder / "gpu-tests.txt", to / "gpu-tests.txt")
    for _, command in readTests(folder):
        chosen = next((re.compile(word[len("--filter="):]) for word in command
                       if word.startswith("--filter=")), None)
        for word in command:
            _, found, path = word.partition("@BUILD@/")
            if not found:
                continue
            if chosen and (folder / path).is_dir():
                copied = [path + "/" + child.name for child in (folder / path).iterdir()
                          if child.is_file() or chosen.search(child.name)]
            else:
                copied = [path]
            for path in copied:
                if not (to / path).exists():
                    copyInto(folder / path, to / path)
    return 0


def check(folder):
    if not REPORT.exists():
        print("test/gpu/report.json: none yet (tools/gpu-test.sh on a machine with a GPU)")
        return 1
    report, skips = json.loads(REPORT.read_text()), readSkips()
    problems = [] if report["source_hash"] == sourceHash() else ["of older sources"]
    entries = {entry["name"]: entry for entry in report["tests"]}
    for name, _ in readTests(folder):
        if name not in entries:
            problems.append(f"{name} is missing")
        elif not isGood(entries[name], skips):
            problems.append(f"{name}: {entries[name]['result']}")
        elif entries[name].get("memcheck") != "clean":
            problems.append(f"{name}: memcheck {entries[name].get('memcheck', 'not run')}")
    print(f"test/gpu/report.json ({report['device']}): "
          + ("; ".join(problems) or f"all {len(entries)} tests good, of these sources"))
    return 1 if problems else 0


def main(arguments):
    commands = {("run", 1): runAll, ("pack", 2): pack, ("check", 1): check,
                ("sanitize", 2): sanitizeAll}
    command = commands.get((arguments[0], len(arguments) - 1)) if arguments else None
    if not command:
        raise SystemExit(__doc__)
    return command(pathlib.Path(arguments[1]).resolve(), *arguments[2:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
