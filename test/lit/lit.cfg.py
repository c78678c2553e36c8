# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit suite: every .mlir and .test file below this folder."""

import os
import sys

import lit.formats

config.name = "fusec"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.fusecBuild, "test", "lit", "output")

# Longer names first, and no match inside a path or a longer word: 'fusec' must
# not be replaced within 'fusec-opt' or 'model.fusec'.
for tool in ("fusec-translate", "fusec-opt", "fusec"):
    config.substitutions.append(
        (rf"(?<![\w./-]){tool}(?![\w./-])", os.path.join(config.fusecTools, tool)))
for tool in ("FileCheck", "not", "count", "split-file"):
    config.substitutions.append(
        (rf"(?<![\w./%-]){tool}(?![\w./-])", os.path.join(config.llvmTools, tool)))
fake_driver = os.path.join(config.fusecBuild, "test", "unit", "runtime", "libfusec_fake_driver.so")
fake_cupti = os.path.join(os.path.dirname(fake_driver), "libfusec_fake_cupti.so")
fake_nvml = os.path.join(os.path.dirname(fake_driver), "libfusec_fake_nvml.so")
config.substitutions += [
    ("%fake-driver", fake_driver),
    ("%fake-cupti", fake_cupti),
    ("%fake-nvml", fake_nvml),
    ("%python", config.fusecPython or sys.executable),
    ("%models", os.path.join(config.fusecSource, "test", "models")),
    ("%source", config.fusecSource),
]
if config.fusecPython:
    config.available_features.add("onnx")  # The package, for models as text.
if os.path.exists(fake_driver):
    config.available_features.add("fake-driver")
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --dump-input-filter=all"
for name in ("FUSEC_NVRTC", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
