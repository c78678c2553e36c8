#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the examples of the device headers' pages as host code.

  check_examples.py COMPILER PAGES INCLUDED...

PAGES and INCLUDED are folders of device headers; the first has the pages.
"""

import pathlib
import re
import subprocess
import sys

EXAMPLE = re.compile(r"^```\n(.*?)^```$", re.M | re.S)


def main():
    compiler, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    included = [f"-I{each}" for each in sys.argv[3:]]
    examples = [(page, text.count("\n", 0, match.start()) + 1, match[1])
                for page in sorted(folder.glob("*.md")) for text in [page.read_text()]
                for match in EXAMPLE.finditer(text)]
    command = [compiler, "-std=c++17", "-DFUSEC_HOST", *included, "-fsyntax-only", "-Wall",
               "-Wno-unknown-pragmas", "-x", "c++", "-"]
    wrong = 0
    for page, line, text in examples:
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        if done.returncode or done.stderr:
            print(f"{page}:{line}: expected an example that compiles, found\n{done.stderr}")
            wrong += 1
    print(f"{len(examples) - wrong} of {len(examples)} examples compile")
    return 1 if wrong or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
