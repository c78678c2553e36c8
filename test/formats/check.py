#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the formats of fmt against their arguments.

C++20 does so when it compiles. The build is C++17, which takes less time and
where a wrong format throws as its text is written: in a message, perhaps never
in a test. This compiles no more than syntax, of the files that write formats.

  check.py [BUILD]
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATS = re.compile(r"\bfmt::format\(|\bwriter\.(line|open)\(")
PRECOMPILED = re.compile(r"-include (\S+/cmake_pch\.hxx)")


def asCxx20(command):
    """The command that compiles to `-o FILE -c`, without its output."""
    return re.sub(r" -o \S+ -c ", " -fsyntax-only ", command.replace("-std=c++17", "-std=c++20"))


def precompile(header, command, folder):
    """The build's precompiled header, of C++20, in the folder."""
    copy = folder / "cmake_pch.hxx"
    copy.write_text(pathlib.Path(header).read_text())
    flags = PRECOMPILED.sub("", asCxx20(command)).rpartition(" -fsyntax-only ")[0]
    subprocess.run(f"{flags} -w -x c++-header -o {copy}.gch {copy}", shell=True, check=True)
    return copy


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/release"
    commands = [entry for entry in json.loads((build / "compile_commands.json").read_text())
                if entry["file"].endswith(".cpp") and "-fsanitize" not in entry["command"]
                and FORMATS.search(pathlib.Path(entry["file"]).read_text())]
    with tempfile.TemporaryDirectory() as name:
        header = None
        for entry in commands:
            if not header and (found := PRECOMPILED.search(entry["command"])):
                header = precompile(found[1], entry["command"], pathlib.Path(name))

        def check(entry):
            command = PRECOMPILED.sub(f"-include {header}", asCxx20(entry["command"]))
            return subprocess.run(command, shell=True, cwd=entry["directory"]).returncode

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong = sum(status != 0 for status in pool.map(check, commands))
    print(f"{len(commands) - wrong} of {len(commands)} files write formats that fit their arguments")
    return 1 if wrong or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
