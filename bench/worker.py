# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures workloads in one process; compare.py starts it and reads its lines.

Each line of stdout is a JSON object: {"at": [workload, step], "limit_s": n} before
a step that may hang or crash, {"workload", "row", "samples"} after a workload, then
{"profiled", "build", "profile"} for each build of fusec; {"raised": why} as the last
one where a step raised what it should not.
A step named as a contender makes and checks it, or runs it again once all are made.
Exit status 70: the device is unusable after the last step named.
"""

import argparse
import functools
import gc
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
import traceback

import torch

import cold_cache
import modules
import peers
import profiles
import summary
from process import PROFILE
from workloads import WORKLOADS

WARM_ROUNDS = 3
FAR = 1.15  # times the fastest peer: who takes that is not the best, and its samples are brief
ENQUEUE_RUNS = 10
WAIT_FACTOR, WAIT_A_CONTENDER_MS = 1.5, 0.12  # emptying the cache and two events
WAIT_LEAST_MS, WAIT_MOST_MS = 0.2, 20
CYCLES_A_MS = 2e6  # of torch.cuda._sleep, at about 2 GHz
TIMING_LIMIT_S, PROFILE_LIMIT_S = 300, 180
DEVICE_LOST = 70


def measureError(got, expected):
    """Relative to the spread of what is expected, or to it where all of it is one
    value; 1 where integers differ."""
    if not expected.is_floating_point():
        return float(not torch.equal(got, expected))
    norm, wide = torch.linalg.vector_norm, expected.double()
    spread = norm(wide - wide.mean())
    return (norm(got - wide) / (spread if spread else norm(wide))).item()


def measureErrors(got, expected):
    """The worst of all outputs; NaN where there is one."""
    errors = [measureError(*pair) for pair in zip(peers.listTensors(got),
                                                  peers.listTensors(expected), strict=True)]
    return next((error for error in errors if error != error), max(errors))


def takeMedians(samples, names):
    return {name: summary.quantile(samples[name], 0.5) for name in names}


def findFar(samples, names, others):
    """Which of the names took FAR times as long as the fastest of the others."""
    fastest = min(takeMedians(samples, others).values(), default=float("inf"))
    return {name for name, median in takeMedians(samples, names).items()
            if median > FAR * fastest}


def describe(failure):
    return f"{type(failure).__name__}: {' '.join(str(failure).split())[:700]}"


class Worker:
    def __init__(self, options, lines):
        self.options, self.lines = options, lines
        self.isWatched = False  # by a profiler that stays in the process
        self.cache = cold_cache.ColdCache()

    def tell(self, **record):
        self.lines.write(json.dumps(record) + "\n")
        self.lines.flush()

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def endIfDeviceLost(self):
        try:
            torch.cuda.synchronize()
        except Exception:  # pylint: disable=broad-except
            self.say("the device is unusable; the process ends")
            os._exit(DEVICE_LOST)

    def measure(self, workload, excluded):
        self.tell(at=[workload.name, "build"], limit_s=120)
        start = time.monotonic()
        torch._dynamo.reset()
        torch.set_float32_matmul_precision("highest" if workload.isExact else "high")
        torch.manual_seed(self.options.seed)
        with torch.no_grad(), torch.device("cuda"):
            module, inputs = modules.build(workload)
        flops, size = workload.leastWork()
        row = {"dtype": workload.dtype, "rows": workload.rows, "flops": flops, "bytes": size,
               "cache": cold_cache.METHOD, "contenders": {}}
        folder = pathlib.Path(tempfile.mkdtemp(prefix="fusec-bench-"))
        setting = peers.Setting(workload, module, inputs, self.options, folder)
        try:
            with torch.inference_mode():
                reference = modules.computeReference(module, inputs)
                for name in self.options.peers:
                    if name in excluded:
                        row["contenders"][name] = {"failure": excluded[name]}
                    else:
                        self.prepare(name, setting, reference, row["contenders"])
                del reference
                timing = time.monotonic()
                samples = self.time(setting, row["contenders"])
                self.say(f"  timing {time.monotonic() - timing:.1f} s")
                row["took_s"] = time.monotonic() - start
                self.say(f"  {row['took_s']:.1f} s")
                self.tell(workload=workload.name, row=row, samples=samples)
                if self.options.profiles:
                    self.profile(setting)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def prepare(self, name, setting, reference, entries):
        """Makes a contender and checks what it computes."""
        needed = peers.getNeeded(name) or "eager"
        if needed not in setting.made and name != "eager":
            return
        self.tell(at=[setting.workload.name, name], limit_s=peers.getLimit(name))
        start = time.monotonic()
        try:
            contender = peers.make(name, setting)
            if contender is None:
                return
            contender.poison()
            output = contender.run()
            torch.cuda.synchronize()
            error = measureErrors(output, contender.part() if contender.part else reference)
            del output
        except Exception as failure:  # pylint: disable=broad-except
            if self.options.verbose:
                traceback.print_exc()
            entries[name] = {"failure": describe(failure)}
            self.say(f"  {name}: {entries[name]['failure']}")
            self.endIfDeviceLost()
            return
        eager = entries.get("eager", {}).get("error", error)
        wrong = summary.isWrong(error, eager, setting.workload.dtype)
        facts = dict(contender.facts)
        if self.options.caches:
            for seconds in ("export_s", "compile_s"):
                facts.pop(seconds, None)
        entries[name] = {**facts, "error": error, **({"wrong": True} if wrong else {}),
                         **({"part": True} if contender.part else {})}
        self.say(f"  {name}: error {error:.1e}{', WRONG' if wrong else ''}; "
                 f"{time.monotonic() - start:.1f} s")
        setting.made[name] = contender

    def time(self, setting, entries):
        """Rounds of one run of each contender, each round in an order of its own,
        so that nobody always follows the same one; name -> milliseconds."""
        wait = self.measureEnqueue(setting, entries)
        self.tell(at=[setting.workload.name, "timing"], limit_s=TIMING_LIMIT_S)
        timed = [name for name, c in setting.made.items() if not c.sample]
        sampled = [name for name, c in setting.made.items() if c.sample]
        samples = {name: [] for name in setting.made}
        gc.collect()
        gc.disable()
        shuffle = random.Random(self.options.seed)
        brief, alike = set(), None
        for done in range(WARM_ROUNDS + self.options.rounds):
            if done == WARM_ROUNDS:
                brief = findFar(samples, sampled, [name for name in timed
                                                   if summary.isPeer(name, entries[name])])
                alike = self.makeAlike(setting, entries, samples, set(sampled) - brief)
            order = shuffle.sample(timed, len(timed))
            times = self.timeInTurn([setting.made[name].run for name in order], wait)
            for name, elapsed in zip(order, times):
                samples[name].append(elapsed)
            for name in sampled:
                samples[name].append(setting.made[name].sample(name in brief))
            if alike:
                samples[summary.ALIKE].append(alike())
        gc.enable()
        for name in brief:
            entries[name]["brief_samples"] = True
        samples = {name: times[WARM_ROUNDS:] for name, times in samples.items()}
        for name, times in samples.items():
            entries[name].update(summary.summarise(times))
        return samples

    def makeAlike(self, setting, entries, samples, near):
        """() -> milliseconds of fusec's better mode by the method of those that are sampled,
        where one of them is near; else None. Between two events a run takes 1 to 2 us more than
        by that method, which leaves out what launches cost."""
        counts = [entries[name]["runs_a_sample"] for name in near]
        own = takeMedians(samples, [name for name in summary.FUSEC if name in samples])
        if not counts or not own:
            return None
        count, mode = max(counts), min(own, key=own.get)
        entries[summary.ALIKE] = {"mode": mode, "runs_a_sample": count, "part": True}
        samples[summary.ALIKE] = [float("nan")] * WARM_ROUNDS
        run = setting.made[mode].run
        return lambda: (self.wallMs(run, count) - self.wallMs(lambda: None, count)) / count

    def wallMs(self, run, count):
        """Of so many pairs of a flush and a run, all enqueued at once. fusec has no loads
        that outlast zeros."""
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            self.cache.overwrite()
            run()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3

    def profile(self, setting):
        """After the row is told, which is not lost where this fails."""
        for name, contender in setting.made.items():
            if not contender.profile:
                continue
            self.tell(at=[setting.workload.name, PROFILE], limit_s=PROFILE_LIMIT_S)
            try:
                found = contender.profile()
                self.tell(profiled=setting.workload.name, build=name, profile=found)
                self.isWatched |= found["method"] == profiles.IN_PROCESS
            except Exception as failure:  # pylint: disable=broad-except
                self.say(f"  {name}: no profile: {type(failure).__name__}: {failure}")
                self.endIfDeviceLost()

    def timeInTurn(self, runs, wait):
        """Milliseconds of one run of each, the cache emptied before it. The device
        waits until the host has enqueued them all: what lies between two events is
        the device's time alone, and it works without a pause."""
        pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in runs]
        torch.cuda._sleep(int(wait * CYCLES_A_MS))
        for run, (before, after) in zip(runs, pairs):
            self.cache.empty()
            before.record()
            run()
            after.record()
        torch.cuda.synchronize()
        return [before.elapsed_time(after) for before, after in pairs]

    def measureEnqueue(self, setting, entries):
        """Records what a run costs the host; returns the wait in milliseconds that
        hides a round of them. Each is named, as one may fail once others were made."""
        wait = WAIT_LEAST_MS
        for name, contender in setting.made.items():
            if contender.sample:
                continue
            self.tell(at=[setting.workload.name, name], limit_s=peers.getLimit(name))
            times = []
            for _ in range(ENQUEUE_RUNS):
                torch.cuda.synchronize()
                start = time.perf_counter()
                contender.run()
                times.append((time.perf_counter() - start) * 1e3)
            torch.cuda.synchronize()
            entries[name]["enqueue_ms"] = summary.quantile(times, 0.5)
            wait += WAIT_FACTOR * summary.quantile(times, 0.8) + WAIT_A_CONTENDER_MS
        return min(wait, WAIT_MOST_MS)

    def timeOfNothing(self):
        """What the method itself shows for an empty region, ms."""
        return summary.quantile(self.timeInTurn([lambda: None] * 50, 5), 0.5)

    def measureCeilings(self):
        """Copy and matmul rates of this device in this run, on random data."""
        x = torch.randn(1 << 29, device="cuda")
        y = torch.empty_like(x)

        def medianMs(run):
            return summary.quantile(self.timeInTurn([run] * 20, 1), 0.5)

        found = {"copy_GBps": 2 * x.nbytes / medianMs(lambda: y.copy_(x)) * 1e-6}
        del x, y
        for name, dtype in modules.DTYPES.items():
            a, b = (torch.randn(8192, 8192, device="cuda", dtype=dtype) for _ in range(2))
            product = functools.partial(torch.mm, a, b)
            found[name] = 2 * 8192 ** 3 / medianMs(product) * 1e-9
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("options", help="JSON")
    options = argparse.Namespace(**json.loads(parser.parse_args().options))
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no line of the protocol
    torch.set_float32_matmul_precision("high")  # as ceilings are meant
    torch._dynamo.config.recompile_limit = 64
    worker = Worker(options, lines)
    worker.tell(at=["", "start"], limit_s=120)
    if "compile" in options.peers:  # starts what the compiler starts once a process
        torch.compile(lambda x: x + 1)(torch.zeros(16, device="cuda"))
    with torch.inference_mode():
        worker.tell(machine={
            "device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "cuda": torch.version.cuda, "ceilings": worker.measureCeilings(),
            "empty_ms": worker.timeOfNothing()})
    for name in options.workloads:
        worker.say(f"{name}")
        try:
            worker.measure(WORKLOADS[name], options.excluded.get(name, {}))
        except Exception as failure:
            worker.tell(raised=describe(failure))
            raise
        if worker.isWatched:
            break  # another process times the rest
        gc.collect()
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
