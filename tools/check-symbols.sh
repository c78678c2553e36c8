#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fails if a program would not start on another x86-64 Linux with glibc 2.35:
# if it needs a newer symbol version, or a shared library beside glibc's own.
#
#   tools/check-symbols.sh PROGRAM...
set -eu

newest=2.35
status=0
if [ $# -eq 0 ]; then
  echo "usage: $0 PROGRAM..." >&2
  exit 2
fi
for program in "$@"; do
  dynamic=$(LC_ALL=C readelf -dW "$program")
  for library in $(printf '%s\n' "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'); do
    case $library in
    libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-x86-64.so.2 | ld-linux-aarch64.so.1) ;;
    *)
      echo "$program: expected only glibc's libraries, needs $library" >&2
      status=1
      ;;
    esac
  done
  versions=$(LC_ALL=C readelf -VW "$program" | sed -n 's/.*Name: GLIBC_\([0-9.]*\).*/\1/p' | sort -uV)
  for version in $versions; do
    highest=$(printf '%s\n%s\n' "$version" "$newest" | sort -V | tail -n 1)
    [ "$highest" = "$newest" ] && continue
    symbols=$(LC_ALL=C readelf --dyn-syms -W "$program" | sed -n "s/.* \([^ ]*\)@GLIBC_$version\( .*\)*\$/\1/p" |
      sort -u | tr '\n' ' ')
    echo "$program: expected glibc $newest to be enough, needs GLIBC_$version for: $symbols" >&2
    status=1
  done
  if printf '%s\n' "$dynamic" | grep -Eq '\((RPATH|RUNPATH)\)'; then
    echo "$program: expected no RPATH or RUNPATH, found one" >&2
    status=1
  fi
done
exit $status
