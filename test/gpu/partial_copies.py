# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""initcheck takes a cp.async whose source is shorter than its 4, 8 or 16 bytes for a read of
all of them, and reports those behind its end, which the instruction fills with zeros. So the end of a row in
padded memory is reported where nothing reads the padding.

Such reports are told apart by the machine code: the tool names the instruction that read or
the one behind it, and what of the two reads must be a copy that fills with zeros."""

import collections
import concurrent.futures
import pathlib
import re
import subprocess
import tempfile

REPORT = re.compile(r"Uninitialized __global__ memory read of size \d+ bytes\s*\n"
                    r"=+\s+at (\w+)(?:\(.*\))?\+0x([0-9a-f]+)")
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error")
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]+)\*/\s+(?:@!?\w+ )?(\S+)", re.MULTILINE)
READS = ("LD.", "LDG", "ATOM", "UBLKCP", "UTMALDG")
WIDTH = 16  # bytes of an instruction


def disassemble(image):
    """kernel -> {offset: operation}"""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        text = subprocess.run(["nvdisasm", "-c", file.name], capture_output=True, text=True,
                              check=True).stdout
    parts = re.split(r"^\.text\.(\w+):$", text, flags=re.MULTILINE)[1:]
    return {name: {int(at, 16): operation for at, operation in INSTRUCTION.findall(body)}
            for name, body in zip(parts[::2], parts[1::2])}


def findImages(cache, kernels):
    """The cached machine code that holds one of the kernels."""
    for path in sorted(pathlib.Path(cache).rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            at = content.find(b"\x7fELF")
            if at >= 0 and any(b".text." + name.encode() + b"\0" in content for name in kernels):
                yield content[at:]


def findOthers(text, cache):
    """Reports in the tool's output that are of anything but such copies: what they are, and
    how many."""
    total = sum(map(int, SUMMARY.findall(text)))
    reports = collections.Counter((name, int(at, 16)) for name, at in REPORT.findall(text))
    operations = collections.defaultdict(set)  # that read, of kernels of one name
    images = list(findImages(cache, {name for name, _ in reports}))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        codes = list(pool.map(disassemble, images))
    for kernels in codes:
        for name, code in kernels.items():
            for at in (at for other, at in reports if other == name):
                operations[name, at].update(
                    operation for operation in (code.get(at - WIDTH, ""), code.get(at, ""))
                    if operation.startswith(READS))
    others = [f"{name}+{at:#x} ({count}): {', '.join(sorted(operations[name, at])) or 'unknown'}"
              for (name, at), count in reports.items()
              if not operations[name, at]
              or not all("LDGSTS" in each and "ZFILL" in each for each in operations[name, at])]
    if unread := total - sum(reports.values()):
        others.append(f"{unread} reports of another kind")
    return others, total
