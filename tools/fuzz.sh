#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the fuzzers of test/fuzz and runs them side by side on all cores.
#   tools/fuzz.sh                    all targets, 10 minutes in all
#   tools/fuzz.sh 60                 an hour in all: each target gets an equal share of the cores' time
#   tools/fuzz.sh 5 import compile   these targets
#   tools/fuzz.sh --corpus           each input of the corpus once, nothing new
#   tools/fuzz.sh --pack DIR         what runs on a machine without compilers: there, DIR/fuzz.sh 60
# Other options: --jobs N (cores; all), --seconds N (a job, instead of minutes in all),
# --seed N (the same inputs each time), --no-build.
# Finds lie in build/fuzz/crashes (DIR/crashes), and each is listed with the command that repeats it.
# Inputs that reach new code are kept in build/fuzz/grown, where the next run begins.
# Exit status: 0 nothing found, 5 something was, 2 usage.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage_error() {
  echo "$1; see $0 --help" >&2
  exit 2
}
number() { [[ ${2:-} =~ ^[1-9][0-9]{0,6}$ ]] || usage_error "expected a number above 0 after $1, got '${2:-}'"; }

minutes=10 seconds="" jobs=$(nproc) seed="" mode=run pack="" built="" chosen=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '3,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    --corpus) mode=corpus ;;
    --pack) mode=pack pack=${2:-}; [ -n "$pack" ] || usage_error "expected a folder after --pack"; shift ;;
    --jobs) number "$1" "${2:-}"; jobs=$2; shift ;;
    --seconds) number "$1" "${2:-}"; seconds=$2; shift ;;
    --seed) number "$1" "${2:-}"; seed=$2; shift ;;
    --no-build) built=yes ;;
    -*) usage_error "unknown option '$1'" ;;
    [0-9]*) number "the options" "$1"; minutes=$1 ;;
    *) chosen+=("$1") ;;
  esac
  shift
done

# In the folder of --pack everything lies beside this script.
if [ -f "$here/fuzzers/targets.txt" ]; then
  work=$here data=$here
else
  work=$(cd "$here/.." && pwd)/build/fuzz data=$(cd "$here/.." && pwd)/test/fuzz
  if [ -z "$built" ]; then
    # shellcheck source=tools/setup.sh
    source "$here/setup.sh"
    packages+=("${fuzz_packages[@]}")
    install_packages
    build fuzz fuzzers
  fi
fi
fuzzers=$work/fuzzers
[ -f "$fuzzers/targets.txt" ] || usage_error "expected $fuzzers/targets.txt: build first"

# A line a target: its program, its name, the longest input, its corpus, its dictionary.
declare -A program longest corpus dictionary
targets=()
while read -r file name length inputs words; do
  program[$name]=$fuzzers/$file longest[$name]=$length
  corpus[$name]=$data/corpus/$inputs dictionary[$name]=$data/dict/$words.dict
  targets+=("$name")
done <"$fuzzers/targets.txt"
for name in "${chosen[@]}"; do
  [ -n "${program[$name]:-}" ] || usage_error "expected a target among ${targets[*]}, got '$name'"
done
[ ${#chosen[@]} -eq 0 ] || targets=("${chosen[@]}")

if [ "$mode" = pack ]; then
  mkdir -p "$pack/fuzzers"
  cp "$here/fuzz.sh" "$pack/"
  cp -r "$data/corpus" "$data/dict" "$pack/"
  cp -r "$fuzzers/seeds" "$fuzzers/targets.txt" "$pack/fuzzers/"
  for file in "$fuzzers"/*.so $(cut -d' ' -f1 "$fuzzers/targets.txt" | sort -u | sed "s|^|$fuzzers/|"); do
    # Addresses in reports stay those of the program that was built.
    strip -o "$pack/fuzzers/${file##*/}" "$file"
  done
  du -sh "$pack"
  exit 0
fi

crashes=$work/crashes
mkdir -p "$crashes"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
for symbolizer in /usr/lib/llvm-22/bin/llvm-symbolizer; do
  [ ! -x "$symbolizer" ] || export ASAN_SYMBOLIZER_PATH=$symbolizer UBSAN_SYMBOLIZER_PATH=$symbolizer
done
# Memory that is held back to find its late uses counts against the limit.
export ASAN_OPTIONS=quarantine_size_mb=64:malloc_context_size=8 UBSAN_OPTIONS=print_stacktrace=1
# MLIR keeps caches in thread-local storage.
export LSAN_OPTIONS=use_tls=1

# What a find is, so that equal ones are listed once.
signature() {
  grep -aoE 'fusec-fuzz: .*|[^ ]*:[0-9]+:[0-9]+: runtime error: .*|SUMMARY: .*' "$1" | head -n 1 |
    sed -E "s/\(BuildId: [0-9a-f]*\)//; s/'[^']*'/'...'/g; s/[0-9]{4,}/N/g" | cut -c1-160
}

# run TARGET LOG OPTIONS...: one process until it ends or finds something.
run() {
  local name=$1 log=$2 status=0
  shift 2
  local words=()
  [ ! -f "${dictionary[$name]}" ] || words=("-dict=${dictionary[$name]}")
  # Sanitizers take up to ten times as long as what users run.
  "${program[$name]}" "--target=$name" -timeout=60 -rss_limit_mb=1024 "-max_len=${longest[$name]}" \
    "-artifact_prefix=$crashes/$name-" -print_final_stats=1 "${words[@]}" "$@" >"$log" 2>&1 &
  echo $! >"$log.pid"
  wait $! || status=$?
  rm -f "$log.pid"
  return $status
}

# Notes what a process found: the kind, and the file that repeats it.
note() {
  local name=$1 log=$2 file what
  file=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
  what=$(signature "$log")
  printf '%s\t%s\t%s\n' "$name" "${what:-ended without a word}" "$file" >>"$logs/finds"
  # What is found again and again is kept three times.
  if [ "$(cut -f1,2 "$logs/finds" | grep -cxF "$name"$'\t'"${what:-ended without a word}")" -gt 3 ]; then
    rm -f "$file"
  elif [ -n "$file" ]; then
    grep -av '^#[0-9]' "$log" | tail -n 200 >"$file.log" || true
  fi
}

# job TARGET SECONDS NUMBER: goes on after finds until its time is over.
job() {
  local name=$1 end=$((SECONDS + $2)) log=$logs/$1.$3 round=0 failed=0
  local grown=$work/grown/$name folders=() folder
  mkdir -p "$grown"
  for folder in "$fuzzers/seeds/$name" "${corpus[$name]}"; do
    [ ! -d "$folder" ] || folders+=("$folder")
  done
  while [ $SECONDS -lt $end ] && [ ! -e "$logs/stop" ]; do
    run "$name" "$log.$round" "-max_total_time=$((end - SECONDS))" ${seed:+"-seed=$seed"} \
      "$grown" "${folders[@]}" && return
    [ ! -e "$logs/stop" ] || return 0
    note "$name" "$log.$round"
    if grep -aq INITED "$log.$round"; then
      failed=0
    else
      # An input that it began with; one that grew before is forgotten.
      rm -f "$grown/$(sed -n 's/.*Test unit written to .*-\([0-9a-f]\{40\}\)$/\1/p' "$log.$round" | tail -n 1)"
      failed=$((failed + 1))
      [ $failed -lt 5 ] || return 0
    fi
    round=$((round + 1))
    [ -z "$seed" ] || seed=$((seed + 1))
  done
}

corpus_job() {
  local name=$1 log=$logs/$1.0.0 folders=() folder
  for folder in "$fuzzers/seeds/$name" "${corpus[$name]}"; do
    [ ! -d "$folder" ] || folders+=("$folder")
  done
  run "$name" "$log" -runs=0 "${folders[@]}" || note "$name" "$log"
}

stop() {
  touch "$logs/stop"
  for file in "$logs"/*.pid; do [ ! -e "$file" ] || kill "$(cat "$file")" 2>/dev/null || true; done
}
trap stop INT TERM

# As many jobs as fill the cores with equally many of each target.
gcd() { local a=$1 b=$2; while [ "$b" -ne 0 ]; do set -- $((a % b)); a=$b b=$1; done; echo "$a"; }
rounds=$((jobs / $(gcd "$jobs" ${#targets[@]})))
[ "$mode" = run ] && [ -z "$seconds" ] || rounds=1
count=$((rounds * ${#targets[@]}))
each=${seconds:-$((minutes * 60 * jobs / count))}
[ "$mode" = corpus ] ||
  echo "${#targets[@]} targets, $count jobs of $each s, $jobs side by side; finds in $crashes" >&2
running=0
for ((i = 0; i < count; i++)); do
  if [ $running -ge "$jobs" ]; then
    wait -n || true
    running=$((running - 1))
  fi
  [ ! -e "$logs/stop" ] || break
  name=${targets[$((i % ${#targets[@]}))]}
  if [ "$mode" = corpus ]; then corpus_job "$name" & else job "$name" "$each" "$i" & fi
  running=$((running + 1))
done
while [ -n "$(jobs -rp)" ]; do wait || true; done

# The largest or the sum of a number in all logs of a target.
most() { cat "$logs/$1".* 2>/dev/null | sed -n "s/.*$2\([0-9]*\).*/\1/p" | sort -n | tail -n 1; }
total() { cat "$logs/$1".* 2>/dev/null | sed -n "s/.*$2\([0-9]*\).*/\1/p" | awk '{ s += $1 } END { printf "%d", s }'; }
touch "$logs/finds"
printf '%-12s %14s %10s %10s %8s %6s\n' target executions coverage features corpus finds
for name in "${targets[@]}"; do
  printf '%-12s %14d %10d %10d %8d %6d\n' "$name" "$(total "$name" 'stat::number_of_executed_units: *')" \
    "$(most "$name" ' cov: ')" "$(most "$name" ' ft: ')" "$(most "$name" ' corp: ')" \
    "$(cut -f1 "$logs/finds" | grep -cx "$name")"
done
times >"$logs/times" # in a pipe they would be those of the pipe
echo "processor time: $(sed -n '2s/ .*//p' "$logs/times")"
[ -s "$logs/finds" ] || exit 0
echo
cut -f1,2 "$logs/finds" | sort | uniq -c | sort -rn | while read -r times name what; do
  file=$(awk -F'\t' -v n="$name" -v w="$what" '$1 == n && $2 == w && $3 != "" { print $3; exit }' "$logs/finds")
  echo "$name, $times times: $what"
  [ -z "$file" ] || echo "    ${program[$name]} --target=$name $file"
done
exit 5
