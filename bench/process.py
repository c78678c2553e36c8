# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process that measures, seen from compare.py."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading

PROFILE = "profile"  # the step after a workload is measured
# With --caches: Triton keeps what its searches found, XLA whatever it compiles.
KEPT = {"TRITON_CACHE_AUTOTUNING": "1", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


class WorkerProcess:
    """A worker and its lines; it is ended where a step takes longer than it may."""

    def __init__(self, options, names, excluded):
        given = {"workloads": names, "excluded": excluded, "peers": options.peers,
                 "builds": options.builds, "rounds": options.rounds, "seed": options.seed,
                 "verbose": options.verbose, "profiles": options.profiles,
                 "fusec": options.fusec and os.path.abspath(options.fusec),
                 "library": options.library and os.path.abspath(options.library),
                 "arch": options.arch,
                 "caches": options.caches and os.path.abspath(options.caches)}
        # Compile times are cold unless caches are to be kept.
        self.caches = tempfile.TemporaryDirectory(prefix="fusec-bench-caches-",
                                                  ignore_cleanup_errors=True)
        environment = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", **os.environ}
        for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
            environment[name] = os.path.join(given["caches"] or self.caches.name, name.lower())
        if given["caches"]:
            environment.update(KEPT, JAX_COMPILATION_CACHE_DIR=os.path.join(
                given["caches"], "jax"))
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, options.worker, json.dumps(given)], env=environment, text=True,
            stdout=subprocess.PIPE, start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            with self.process.stdout as lines:
                for line in lines:
                    self.lines.put(json.loads(line))
        finally:  # a line may be cut short by a crash
            self.lines.put(None)

    def next(self, limit):
        """A record; None at the end; TimeoutError after `limit` seconds."""
        try:
            return self.lines.get(timeout=limit)
        except queue.Empty:
            raise TimeoutError from None

    def end(self, patience):
        """Its whole session, compilers included; the exit status."""
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.caches.cleanup()
        return self.process.wait()
