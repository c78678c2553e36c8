# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which sources made a row. A row carries the hash that tools/source-hash.sh gives
of them; where it was not known, what tells rows apart is the run that made them."""

import collections
import functools
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BESIDE = "sources"  # a file beside binaries that were taken elsewhere
UNKNOWN = "unknown sources, run of "
SHOWN = 12  # digits of a hash


@functools.lru_cache
def hashTree():
    """Of the tree that this file lies in; None where it is not whole."""
    try:
        process = subprocess.run([ROOT / "tools" / "source-hash.sh"], text=True, check=True,
                                 capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return process.stdout.strip() or None


def findSources(fusec):
    """Of a binary: what the file beside it says, else this tree's where it lies in
    it; None where neither is so."""
    fusec = pathlib.Path(fusec).resolve()
    beside = fusec.parent / BESIDE
    if beside.exists():
        return beside.read_text().split()[0]
    return hashTree() if ROOT in fusec.parents else None


def getKey(row):
    return row.get("sources") or UNKNOWN + row.get("run", "unknown date")


def getNewest(rows):
    """The sources of the newest row; None where there is none."""
    return max(((row.get("run", ""), getKey(row)) for row in rows), default=(None, None))[1]


def shorten(key):
    return key if key.startswith(UNKNOWN) else key[:SHOWN]


def findOthers(rows, reference):
    """Names of rows that other sources made."""
    return [name for name, row in rows.items() if getKey(row) != reference]


def describeOthers(rows, reference):
    """A sentence, or nothing where there is nothing to mark."""
    others = findOthers(rows, reference)
    if not others:
        return ""
    counts = collections.Counter(shorten(getKey(rows[name])) for name in others)
    return (f"† {len(others)} of {len(rows)} rows were made by other sources than "
            f"{shorten(reference)}: " +
            ", ".join(f"{count} by {key}" for key, count in sorted(counts.items())))
