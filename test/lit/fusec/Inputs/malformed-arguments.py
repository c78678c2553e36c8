# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs fusec with malformed arguments and input files.

Every run must end within its time limit, with an exit status that fits and with
a message; a signal or an internal error is a failure.
"""

import json
import os
import random
import shutil
import struct
import subprocess
import sys

TOOL, MODELS, SCRATCH = sys.argv[1:]
USAGE, INPUT = 2, 3
LIMIT_S = 60
SMALL = os.path.join(MODELS, "add_mul_sigmoid.dynbatch.onnx")
FIXED = os.path.join(MODELS, "gating_seed.legacy.onnx")
failures = []


def expect(statuses, *arguments):
    """Runs fusec; `statuses` are the exit statuses that the run may have."""
    try:
        run = subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        failures.append((arguments, f"took more than {LIMIT_S} s"))
        return
    message = run.stderr.decode(errors="replace")
    if run.returncode not in statuses:
        failures.append((arguments, f"expected {statuses}, got {run.returncode}: {message}"))
    elif "--json" in arguments:
        try:
            told = json.loads(run.stdout)
            if ("error" in told) != bool(run.returncode):
                raise ValueError(f"exit status {run.returncode} and {told.get('error')}")
        except ValueError as error:
            failures.append((arguments, f"{error} in {run.stdout}"))
    elif run.returncode and not message.strip():
        failures.append((arguments, f"exit status {run.returncode} without a message"))


def write(name, data):
    path = os.path.join(SCRATCH, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def npy(shape, data=b"", descr="<f4"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


shutil.rmtree(SCRATCH, ignore_errors=True)
os.makedirs(SCRATCH)
good = npy("(2,)", bytes(8))
files = [
    write("empty.npy", b""),
    write("text.npy", b"this is no array"),
    write("cut.npy", good[:-3]),
    write("long.npy", good + b"x"),
    write("claims.npy", npy("(1099511627776,)")),
    write("overflow.npy", npy("(4294967296, 4294967296)")),
    write("negative.npy", npy("(-1,)")),
    write("object.npy", npy("(1,)", bytes(8), "|O")),
    write("zip.npz", b"PK\x05\x06" + b"\xff" * 18),
    os.path.join(SCRATCH, "missing.npy"),
    SCRATCH,
    "/dev/null",
    "/dev/zero",
]
pipe = os.path.join(SCRATCH, "pipe")
os.mkfifo(pipe)
files.append(pipe)
array = write("good.npy", good)

# Values that are no numbers, or too large for one.
for value in ("n", "=", "=3", "n=", "n=x", "n=-1", "n=1e3", "n=0x10", "n= 3", "n=3 ", "n=3.5",
              "n=99999999999999999999", "n=9223372036854775808", "==", "n" * 100000):
    expect({USAGE}, "check", SMALL, "--dim", value)
# More rows than a matmul's kernel counts.
expect({1}, "compile", os.path.join(MODELS, "gating_seed.dynbatch.onnx"), "--dim",
       "batch=3000000000", "--emit=cuda", "-o", os.devnull)
# Numbers, for a name that the model may not have.
for value in ("nobody=3", "a=b=3", "batch=0", "batch=9223372036854775807", "batch=1099511627776",
              "\udcff=3", "n" * 100000 + "=3"):
    expect({0, USAGE, INPUT}, "check", SMALL, "--dim", value)
    expect({0, USAGE, INPUT}, "compile", SMALL, "--emit=cuda", "--dim", value)

for option in (["compile", SMALL, "--emit=cuda", "--const"],
               ["run", FIXED, "--device=reference", "--input"]):
    for value in ("=", "=x", "x="):
        expect({USAGE}, *option, value)
    for file in files:
        expect({INPUT}, *option, "x=" + file)
    expect({INPUT, USAGE}, *option, "\n")
    expect({USAGE, INPUT}, *option, "nobody=" + array)
    expect({USAGE, INPUT}, *option, "x" * 100000 + "=" + array)
    expect({INPUT, USAGE}, *option, "x=" + "y" * 100000)
expect({USAGE}, "compile", SMALL, "--const", array)
for file in files:
    expect({INPUT, USAGE}, "run", FIXED, "--device=reference", "--input", file)

for arguments in (["--arch="], ["--arch=,"], ["--arch=sm_80,sm_80"], ["--arch=" + "s" * 100000],
                  ["--numerics=fast"], ["--precision="], ["--gather=none"], ["--emit=elf"],
                  ["--unknown"], ["--dim"], ["another"]):
    expect({USAGE}, "compile", SMALL, *arguments)
for number in ("x", "-", "1e400", "99999999999999999999"):
    expect({USAGE}, "run", FIXED, "--gpu", number)
    expect({USAGE}, "bench", FIXED, "--runs", number)
expect({USAGE}, "")
expect({USAGE}, "\udcff")
expect({USAGE}, *["check"] * 1000)

# Files that are neither a model nor a bundle. Pipes are left out: a shell's
# <(...) is one, and to wait for its writer is right.
bundle = write("magic.fusec", b"FUSECBDL")
for file in [f for f in files if f != pipe] + [bundle, write("ff.fusec", b"FUSECBDL" + b"\xff" * 4096)]:
    for command in ("check", "inspect", "explain", "run", "bench", "verify"):
        expect({INPUT, 4}, command, file)

# A few models through the whole tool; the unit tests have thousands.
chance = random.Random(1)
with open(SMALL, "rb") as file:
    model = file.read()
for index in range(60):
    damaged = bytearray(model)
    if index % 3:
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    else:
        del damaged[chance.randrange(len(damaged)):]
    path = write(f"damaged{index}.onnx", damaged)
    expect({0, 1, INPUT}, "compile", path, "--emit=cuda", "-o", os.path.join(SCRATCH, "out"))
    expect({0, 1, INPUT}, "check", path, "--json")

for arguments, message in failures:
    print([a if len(a) < 200 else a[:50] + "..." for a in arguments], message[:2000], file=sys.stderr)
sys.exit(1 if failures else 0)
