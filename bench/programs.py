# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What of a bundle decides how it runs in a row of results."""

import hashlib
import json
import pathlib
import subprocess

import machine_code

ALLOCATED = 256  # bytes that the address of a tensor of its own is a multiple of, at least
MOST = ("cluster", "smem")  # of a plan: what some variant needs, as its launches say themselves


def hashFile(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def findSection(content, section):
    """Where a bundle's section lies is not said; its bytes are known by their hash."""
    at = content.find(machine_code.MAGIC)
    while at >= 0:
        part = content[at:at + section["bytes"]]
        if hashlib.sha256(part).hexdigest() == section["sha256"]:
            return part
        at = content.find(machine_code.MAGIC, at + 1)
    raise ValueError(f"expected a section with the hash {section['sha256']}, found none")


def takeRun(variants):
    """Those up to the first that tensors of their own allow: what stands behind it, for others
    that begin anywhere, does not run in a row."""
    for count, variant in enumerate(variants, 1):
        if all(guard["op"] == "aligned" and guard["bytes"] <= ALLOCATED
               for guard in variant["guard"]):
            return variants[:count]
    return variants


def describeRun(plan, sections):
    """Of a plan all that decides how it runs. What kernels move, and how long they are predicted
    to take, is told, not done; `sections` are known by what is in them, not by where they lie."""
    if isinstance(plan, list):
        return [describeRun(part, sections) for part in plan]
    if not isinstance(plan, dict):
        return plan
    found = {}
    for key, value in plan.items():
        if key == "section":
            found[key] = sections[value]
        elif key == "variants":
            found[key] = describeRun(takeRun(value), sections)
        elif key != "work":
            found[key] = describeRun(value, sections)
    return found


def hashProgram(build, bundle, withLibrary=True):
    """Of all that decides how a bundle runs in a row but its weights and where they lie."""
    said = subprocess.run([build["fusec"], "inspect", "--json", str(bundle)], check=True,
                          timeout=140, stdout=subprocess.PIPE).stdout
    found = json.loads(said)["result"]
    content = pathlib.Path(bundle).read_bytes()
    parts = [machine_code.hashCode(findSection(content, section)) if section["kind"] == "cubin"
             else section["kind"] if section["kind"] == "weights" else section["sha256"]
             for section in found["sections"]]
    plans = [describeRun({key: value for key, value in plan.items() if key not in MOST}, parts)
             for plan in found["manifest"]["plans"]]
    library = hashFile(build["library"]) if withLibrary else None
    described = json.dumps([plans, library])
    return hashlib.sha256(described.encode()).hexdigest()
