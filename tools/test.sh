#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, builds, and runs every test that needs no device.
#   tools/test.sh                    all tests
#   tools/test.sh --sanitize         the same under ASan and UBSan (build/sanitize)
#   tools/test.sh -- -R onnx         what follows -- goes to ctest
set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

preset=release
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize) preset=sanitize ;;
    --) shift; break ;;
    -h | --help) sed -n '3,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) fail "expected --sanitize, --help or -- and ctest's options, got '$1'" 2 ;;
  esac
  shift
done

setup
build "$preset"
cd "$root/build/$preset"
# Listed before the run, so that ctest's summary is the last thing shown.
ctest -N -L gpu | sed -n 's/^ *Test *#[0-9]*: \(.*\)/skipped, needs a GPU (tools\/gpu-test.sh): \1/p'
python3 "$root/test/gpu/report.py" check "$PWD" || true
ctest -LE gpu --output-on-failure --parallel "$(nproc)" "$@"
