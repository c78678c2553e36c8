#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a build of fusec has its compiler, its library, and the fusec_runtime.py
that speaks to it: in a folder of their own, installed, or in a tree.

  bench/builds.py TO   # copies this tree's there, with what says which sources made it"""

import os
import pathlib
import shutil
import subprocess
import sys

import fusec_runtime
import sources

FUSEC = ("fusec", "bin/fusec", "tools/fusec", "build/release/tools/fusec")
RUNTIME = "fusec_runtime.py"


def listLibraryFolders(fusec):
    """Beside it, installed, built."""
    folder = pathlib.Path(fusec).resolve().parent
    return [folder, folder.parent / "lib", folder.parent / "runtime"]


def findLibrary(fusec):
    places = [folder / "libfusec_rt.so" for folder in listLibraryFolders(fusec)]
    return next((str(place) for place in places if place.exists()), None)


def findRuntime(fusec):
    """That of the build's own sources, whose interface may be another; else ours."""
    folder = pathlib.Path(fusec).resolve().parent
    places = [folder / RUNTIME, *(parent / "bench" / RUNTIME for parent in folder.parents)]
    return str(next((place for place in places if place.exists()), fusec_runtime.__file__))


def findBuild(name, folder):
    """What contenders are made from; ValueError says what the folder lacks."""
    folder = pathlib.Path(folder).resolve()
    fusec = next((folder / place for place in FUSEC if (folder / place).is_file()
                  and os.access(folder / place, os.X_OK)), None)
    if not fusec:
        raise ValueError(f"{folder}: expected a build of fusec, with one of {', '.join(FUSEC)}")
    library = findLibrary(fusec)
    if not library:
        raise ValueError(f"{fusec}: expected libfusec_rt.so beside it, or in ../lib or ../runtime")
    return {"name": name, "fusec": str(fusec), "library": library, "runtime": findRuntime(fusec)}


def take(build, to):
    """The build's files in a folder of their own, to be measured elsewhere."""
    made = sources.findSources(build["fusec"])
    if not made:
        raise ValueError(f"{build['fusec']}: expected a build of this tree, whose sources are known")
    to.mkdir(parents=True, exist_ok=True)
    for name, path in (("fusec", build["fusec"]), ("libfusec_rt.so", build["library"])):
        shutil.copyfile(path, to / name)
        subprocess.run(["strip", to / name], check=True)
        (to / name).chmod(0o755)
    shutil.copyfile(build["runtime"], to / RUNTIME)
    (to / sources.BESIDE).write_text(f"{made} {sources.hashFile(to / 'fusec')}\n")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stdout if sys.argv[1:] in (["-h"], ["--help"]) else sys.stderr)
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)
    try:
        take(findBuild("fusec", sources.ROOT), pathlib.Path(sys.argv[1]))
    except (ValueError, OSError, subprocess.CalledProcessError) as failure:
        print(failure, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
