# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of what needs neither a GPU nor PyTorch: python3 bench/test_bench.py [-k NAME]"""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def load_tests(loader, tests, pattern):  # unittest's name for it
    del tests, pattern
    return loader.discover(str(HERE / "tests"), top_level_dir=str(HERE))


if __name__ == "__main__":
    sys.exit(unittest.main())
