# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""initcheck takes a cp.async whose source is shorter than its 4, 8 or 16 bytes for a read of
all of them, and reports those behind its end, which the instruction fills with zeros. So the end of a row in
padded memory is reported where nothing reads the padding.

Such reports are told apart by the machine code: the tool names the instruction that read or
the one behind it, and what of the two reads as many bytes must be a copy that fills with
zeros."""

import collections
import concurrent.futures
import functools
import pathlib
import re
import subprocess
import tempfile

REPORT = re.compile(r"Uninitialized __global__ memory read of size (\d+) bytes\s*\n"
                    r"=+\s+at (\w+)(?:\(.*\))?\+0x([0-9a-f]+)")
# The first line of any report; those that follow are indented.
HEAD = re.compile(r"^=+ (?!COMPUTE-SANITIZER|ERROR SUMMARY|Uninitialized __global__)(\S.*)$",
                  re.MULTILINE)
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error")
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]+)\*/\s+(?:@!?\w+ )?(\S+)", re.MULTILINE)
READS = ("LD.", "LDG.", "LDGSTS.", "ATOM", "UBLKCP", "UTMALDG")
BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
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


def assemble(ptx):
    """What the driver makes of PTX, where its compiler is the toolkit's."""
    with tempfile.TemporaryDirectory() as folder:
        source, image = pathlib.Path(folder, "kernel.ptx"), pathlib.Path(folder, "kernel.cubin")
        source.write_bytes(ptx)
        subprocess.run(["ptxas", f"-arch={getArch()}", source, "-o", image], check=True,
                       capture_output=True)
        return image.read_bytes()


@functools.lru_cache
def getArch():
    text = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader",
                           "--id=0"], capture_output=True, text=True, check=True).stdout
    return "sm_" + text.strip().replace(".", "")


def readsSize(operation, size):
    """Whether the instruction may read so many bytes; how many bulk ones do is not in their
    names."""
    if not operation.startswith(READS):
        return False
    if operation.startswith("U"):
        return True
    return size == next((BYTES[word] for word in operation.split(".") if word in BYTES), 4)


def findImage(content, kernels, isPtx):
    """The machine code in a cache's file, where it holds one of the kernels that ran, as PTX
    or compiled for the device."""
    at = content.find(b"\x7fELF")
    if at >= 0:
        if isPtx:
            return None
        isWanted = any(b".text." + name.encode() + b"\0" in content for name in kernels)
        return content[at:] if isWanted else None
    at = content.find(b".version")
    if at >= 0 and isPtx and any(re.search(rb"\.entry " + name.encode() + rb"\b", content)
                       for name in kernels):
        return assemble(content[at:content.rindex(b"}") + 2])
    return None


def findOthers(text, cache, isPtx=False):
    """Reports in the tool's output that are of anything but such copies: what they are, and
    how many reports there are in all."""
    total = sum(map(int, SUMMARY.findall(text)))
    reports = collections.Counter((name, int(at, 16), int(size))
                                  for size, name, at in REPORT.findall(text))
    operations = collections.defaultdict(set)  # that read, of kernels of one name
    kernels = {name for name, _, _ in reports}
    files = [path.read_bytes() for path in sorted(pathlib.Path(cache).rglob("*"))
             if path.is_file()] if kernels else []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        images = list(filter(None, pool.map(lambda file: findImage(file, kernels, isPtx), files)))
        codes = list(pool.map(disassemble, images))
    for kernels in codes:
        for name, code in kernels.items():
            for report in (report for report in reports if report[0] == name):
                _, at, size = report
                operations[report].update(
                    operation for operation in (code.get(at - WIDTH, ""), code.get(at, ""))
                    if readsSize(operation, size))
    others = [f"{report[0]}+{report[1]:#x} ({count} of {report[2]} bytes): "
              f"{', '.join(sorted(operations[report])) or 'unknown'}"
              for report, count in reports.items()
              if not operations[report]
              or not all("LDGSTS" in each and "ZFILL" in each for each in operations[report])]
    if unread := total - sum(reports.values()):
        others.append(f"{unread} reports of another kind: "
                      f"{'; '.join(sorted(set(HEAD.findall(text)))[:4])}")
    return others, total
