# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which sources made a row. A row carries the hash that tools/source-hash.sh gives
of them; where it was not known, what tells rows apart is the run that made them."""

import collections
import functools
import hashlib
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
# A file beside binaries that were taken elsewhere: the hash of their sources, and that of
# fusec itself, so that it is not taken for another one's. `builds.py TO` writes it.
BESIDE = "sources"
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


def hashFile(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def findSources(fusec):
    """Of a binary: what the file beside it says, else this tree's where it lies in
    it; None where neither is so. ValueError where the file is another binary's."""
    fusec = pathlib.Path(fusec).resolve()
    beside = fusec.parent / BESIDE
    if not beside.exists():
        return hashTree() if ROOT in fusec.parents else None
    words = beside.read_text().split()
    if len(words) != 2 or words[1] != hashFile(fusec):
        raise ValueError(f"{beside}: expected the hash of sources and that of {fusec.name} beside it, "
                         f"{hashFile(fusec)}, got '{' '.join(words)}'; bench/builds.py writes it")
    return words[0]


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
