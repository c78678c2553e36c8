# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of results, as tests need them."""


def entry(median, **further):
    return {"median_ms": median, "error": 1e-4, **further}


def row(**contenders):
    return {"floor_ms": 0.5, "dtype": "fp16", "contenders": contenders}
