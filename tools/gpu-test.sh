#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs every test labelled gpu and writes test/gpu/report.json. Builds nothing:
# the machine with the device needs neither LLVM nor the project's Python.
#   tools/gpu-test.sh [FOLDER]       FOLDER holds the programs (build/release)
#   tools/gpu-test.sh --pack TO      gathers them in TO, to be taken elsewhere
#   tools/gpu-test.sh --sanitize TOOL [FOLDER]
#                                    the same under compute-sanitizer: memcheck,
#                                    racecheck, ...; adds to the report
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
report=$root/test/gpu/report.py
case ${1:-} in
  -h | --help) sed -n '3,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  --pack | --sanitize) ;;
  -*) echo "expected --pack, --sanitize, --help or a folder, got '$1'" >&2; exit 2 ;;
esac
if [ "${1:-}" = --pack ]; then
  exec python3 "$report" pack "$root/build/release" "${2:?expected a folder after --pack}"
fi
tool=""
if [ "${1:-}" = --sanitize ]; then
  tool=${2:?expected a tool of compute-sanitizer after --sanitize}
  shift 2
fi
folder=${1:-$root/build/release}
if [ ! -f "$folder/gpu-tests.txt" ]; then
  echo "expected $folder/gpu-tests.txt: build first (tools/test.sh), or name the folder of --pack" >&2
  exit 2
fi
# A toolkit's NVRTC, where the loader does not know its folder.
for library in /usr/local/cuda/lib64/libnvrtc.so.1[23]; do
  [ -z "${FUSEC_NVRTC:-}" ] && [ -e "$library" ] && export FUSEC_NVRTC=$library
done
if [ -n "$tool" ]; then
  exec python3 "$report" sanitize "$folder" "$tool"
fi
exec python3 "$report" run "$folder"
