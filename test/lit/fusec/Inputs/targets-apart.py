# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a target's plan is the same whatever is compiled beside it.

  targets-apart.py FUSEC MODELS
"""

import pathlib
import re
import subprocess
import sys

TARGETS = ["sm_80", "sm_90a", "ptx"]
# Constants of one name in all plans are told apart by a number behind it.
NUMBER = re.compile(r"(?<=dense_resource<)(\"?)([^>\"]*?)_\d+(?=\"?>)")
OPTIONS = [[], ["--precision=tf32"], ["--precision=bf16"]]


def plan(fusec, model, options, targets):
    """The text of each target's plan."""
    text = subprocess.run([fusec, "compile", model, f"--arch={','.join(targets)}", *options,
                           "--emit=planned", "--quiet", "-o", "-"],
                          check=True, capture_output=True, text=True).stdout
    text = NUMBER.sub(r"\1\2", text)
    plans = text.rstrip().removesuffix("}").split("\n  fusec.plan @")[1:]
    return {part.split()[0]: part.rstrip() for part in plans}


def main():
    fusec, folder = sys.argv[1:]
    models, differ = sorted(pathlib.Path(folder).glob("*.onnx")), 0
    for model in models:
        for options in OPTIONS:
            together = plan(fusec, model, options, TARGETS)
            for target in TARGETS:
                alone = plan(fusec, model, options, [target])[target]
                if alone == together[target]:
                    continue
                differ += 1
                lines = zip(alone.splitlines(), together[target].splitlines())
                was, now = next(((a, b) for a, b in lines if a != b), ("", "more lines"))
                print(f"error: {model.name} {' '.join(options)}: the plan for {target} is another "
                      f"beside other targets\n  alone    {was[:200]}\n  together {now[:200]}")
    if not differ:
        print(f"{len(models)} models: each target's plan is its own")
    return bool(differ or not models)


if __name__ == "__main__":
    sys.exit(main())
