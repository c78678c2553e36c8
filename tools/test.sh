#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, builds, and runs every test that needs no device; then,
# built with sanitizers, those of damaged files and the fuzzers (tools/fuzz.sh):
# their corpus, and half a minute of each.
#   tools/test.sh                    all tests
#   tools/test.sh --sanitize         the same under ASan and UBSan (build/sanitize)
#   tools/test.sh --sanitize=KIND    the same under one: address, undefined or
#                                    thread (build/sanitize-KIND)
#   tools/test.sh -- -R onnx         what follows -- goes to ctest; no fuzzers
#
# --sanitize=thread builds and runs the tests with the label "threads": the
# library, its files, the kernel cache, NVRTC on all cores, the compiler with
# the thread that writes bundles, and the commands that compile or tune.
# LLVM itself is not instrumented; tools/support/SanitizerOptions.cpp says what
# that hides.
set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

preset=release
tests=(-LE gpu)
while [ $# -gt 0 ]; do
  case $1 in
    --sanitize) preset=sanitize ;;
    --sanitize=address | --sanitize=undefined) preset=sanitize-${1#*=} ;;
    --sanitize=thread) preset=sanitize-thread tests=(-L threads) ;;
    --sanitize=*) fail "--sanitize: expected address, undefined or thread, got '${1#*=}'" 2 ;;
    --) shift; break ;;
    -h | --help) sed -n '3,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) fail "expected --sanitize, --sanitize=KIND, --help or -- and ctest's options, got '$1'" 2 ;;
  esac
  shift
done

# Clang compiles the kernels that tests run on the host, too.
packages+=("${fuzz_packages[@]}")
setup
build "$preset"
cd "$root/build/$preset"
# Listed before the run, so that ctest's summary is the last thing shown.
ctest -N -L gpu | sed -n 's/^ *Test *#[0-9]*: \(.*\)/skipped, needs a GPU (tools\/gpu-test.sh): \1/p'
python3 "$root/test/gpu/report.py" check "$PWD" || true
ctest "${tests[@]}" --output-on-failure --parallel "$(nproc)" "$@"
if [ "$preset" = release ] && [ $# -eq 0 ]; then
  build fuzz damaged fuzzers
  ctest --test-dir "$root/build/fuzz" -L damaged --output-on-failure --parallel "$(nproc)"
  # The same inputs each time, so that what fails here fails again.
  "$root/tools/fuzz.sh" --no-build --seconds 30 --seed 1
fi
