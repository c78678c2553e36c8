#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Prints one SHA-256 over names and contents of the sources that decide what
# runs on a device. test/gpu/report.json records it, and is itself left out.
# Needs no git: a copy of the tree on another machine gives the same hash.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.."
find ir frontends compiler runtime tools test/gpu test/support -type f \
  ! -path test/gpu/report.json ! -path '*/__pycache__/*' ! -path '*/.*' \
  ! -name '*.md' ! -name '*.pyc' ! -name '*.o' ! -name '*~' -print0 |
  sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1
