# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that each kind of remark has a name and an owner of its own.

  remark_kinds.py COMPILER    the folder with RemarkKinds.h and the passes
"""

import collections
import pathlib
import re
import sys

compiler = pathlib.Path(sys.argv[1])
table = (compiler / "RemarkKinds.h").read_text()
# Rewrites of one pass that lie in sources of their own.
PARTS = {"transforms/tensor/BagsOfConcats.cpp": "transforms/tensor/FormBags.cpp",
         "transforms/tensor/BagsOfLengths.cpp": "transforms/tensor/FormBags.cpp",
         "transforms/tensor/BagsOfMasks.cpp": "transforms/tensor/FormBags.cpp",
         "transforms/tensor/BagsOfRows.cpp": "transforms/tensor/FormBags.cpp"}
kinds = re.findall(r"constexpr RemarkKind (\w+)\s*=\s*\{\s*\w+,\s*\"([^\"]+)\"\}", table)
owners = collections.defaultdict(set)
for path in sorted(compiler.rglob("*.cpp")):
    for kind in re.findall(r"\bremarks::(\w+)", path.read_text()):
        source = str(path.relative_to(compiler))
        owners[kind].add(PARTS.get(source, source))

faults = []
if table.count("constexpr RemarkKind") != len(kinds) or not kinds:
    faults.append("RemarkKinds.h has a kind in a form that this test does not read")
for name, count in collections.Counter(name for _, name in kinds).items():
    if count > 1:
        faults.append(f"{count} kinds are named '{name}'; give each its own name")
for kind, name in kinds:
    if len(owners[kind]) != 1:
        used = ", ".join(sorted(owners[kind])) or "no file"
        faults.append(f"'{name}' is emitted by {used}; a kind belongs to one pass")
for fault in faults:
    print(f"error: {fault}")
if not faults:
    print(f"{len(kinds)} kinds of remarks, each with its own name and pass")
sys.exit(bool(faults))
