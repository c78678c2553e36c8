#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that sources stay short enough to be read at once, and that nvcc takes kernels.

A file has at most 400 lines, else its head gives the reason ("long: ..."); a
function of the compiler has at most 90. Tests and generated files are free.
A constexpr function of a device header says where it runs: NVRTC takes one that does
not for the device's, nvcc for the host's, which a kernel cannot call. For the same
reason a kernel's headers begin with the prelude: what host and device share asks it where
its functions run, and takes them for the host's without it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("ir", "frontends", "compiler", "runtime", "tools", "bench", "examples")
FUNCTIONS = "compiler"
KINDS = {".cpp", ".h", ".hpp", ".td", ".py", ".sh", ".cmake"}
MOST_LINES, MOST_OF_FUNCTION, HEAD = 400, 90, 20
REASON = re.compile(r"\blong: \w")
CONSTEXPR_FUNCTION = re.compile(r"\s*(static )?constexpr (?!FUSEC_DEVICE)[^=;]*\(")
HOST_ONLY = "prelude_host.h"
PRELUDE, SHARED = "prelude.h", "#define FUSEC_DEVICE_PLAIN"
INCLUDE = re.compile(r'#include "([\w.]+)"')
# What opens a block and is no function; a lambda is part of one.
OTHERS = re.compile(r"\s*(FUSEC_UNROLL )?\s*(namespace|class|struct|union|enum|extern|if|else|for|"
                    r"while|switch|do|case|default|template <.*> (struct|class))\b|.*= \{$|"
                    r"[^(]*$|.*\[[&=\w, ]*\](\(| \{)|\s*return\b")


def findFunctions(lines):
    """(first line, how many lines): by indentation, which clang-format keeps."""
    for end, line in enumerate(lines):
        if not line.endswith("{"):
            continue
        # The head may have several lines, of which only the first is not indented.
        start = end
        while start and not re.search(r"[;{}:>]$|^\s*(//.*|#.*)?$", lines[start - 1]):
            start -= 1
        if OTHERS.match(" ".join(lines[start:end + 1])):
            continue
        indent = re.match(r" *", lines[start])[0]
        close = next((i for i in range(end + 1, len(lines))
                      if re.match(rf"{indent}\}}", lines[i])), end)
        yield start, close - start + 1


def check(path):
    lines = path.read_text().splitlines()
    name = path.relative_to(ROOT)
    if len(lines) > MOST_LINES and not any(map(REASON.search, lines[:HEAD])):
        yield f"{name}: {len(lines)} lines, expected at most {MOST_LINES}, or 'long: ...', why"
    if name.parts[0] == FUNCTIONS and path.suffix in {".cpp", ".h"}:
        for start, count in findFunctions(lines):
            if count > MOST_OF_FUNCTION:
                yield (f"{name}:{start + 1}: a function of {count} lines, expected at most "
                       f"{MOST_OF_FUNCTION}")
    if "device" in name.parts and path.name != HOST_ONLY:
        for number, line in enumerate(lines):
            if CONSTEXPR_FUNCTION.match(line):
                yield (f"{name}:{number + 1}: a constexpr function, expected FUSEC_DEVICE behind "
                       "'constexpr'")


def findSharedFirst(name, headers, seen):
    """The first header that a device shares with the host, where it precedes the prelude."""
    if name in seen or PRELUDE in seen or name not in headers:
        return None
    seen.add(name)
    if name == PRELUDE:
        return None
    if SHARED in headers[name]:
        return name
    return next(filter(None, (findSharedFirst(included, headers, seen)
                              for included in INCLUDE.findall(headers[name]))), None)


def checkPreludes(paths):
    headers = {path.name: path.read_text() for path in paths
               if "device" in path.parts and path.suffix == ".h"}
    for name, text in headers.items():
        if SHARED not in text and (shared := findSharedFirst(name, headers, set())):
            yield f"{name}: includes {shared} before {PRELUDE}"


def main():
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))
             if path.suffix in KINDS and path.is_file() and not path.name.startswith("test_")]
    problems = [problem for path in paths for problem in check(path)]
    problems += checkPreludes(paths)
    print("\n".join([*problems, f"{len(paths)} files checked"]))
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
