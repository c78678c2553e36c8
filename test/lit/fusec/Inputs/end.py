# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""end.py SIGNAL[,ignored] OUTPUT COMMAND...: runs a command, and sends it a
signal once there is a part of its output. Prints how it ended."""

import glob
import os
import signal
import subprocess
import sys
import time

name, *ignored = sys.argv[1].split(",")
output, command = sys.argv[2], sys.argv[3:]
number = getattr(signal, name)


def prepare():
    # What ran this may itself ignore some.
    for other in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(other, signal.SIG_DFL)
    if ignored:
        signal.signal(number, signal.SIG_IGN)


before = set(glob.glob(glob.escape(output) + ".part*"))
process = subprocess.Popen(command, preexec_fn=prepare)
while process.poll() is None and not set(glob.glob(glob.escape(output) + ".part*")) - before:
    time.sleep(0.001)
time.sleep(0.02)  # It may just have been made.
if process.poll() is None:
    process.send_signal(number)
status = process.wait()
parts = len(glob.glob(glob.escape(output) + ".part*"))
print(f"status {status}, {parts} parts, output {'there' if os.path.exists(output) else 'missing'}")
