#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds the commit that made a row of bench/compare.py slower.
#   tools/bisect.sh ROW GOOD BAD     halves the commits between GOOD and BAD: builds
#                                    one, and measures ROW with it and with GOOD in
#                                    turn, in the same rounds, on this machine's GPU
#   tools/bisect.sh ROW GOOD BAD --pack DIR
#                                    for a machine with a GPU and no toolchain: builds
#                                    all commits and packs them; DIR/run.sh measures
#                                    all of them there in one call
# Options:
#   --verdicts FILE      lines "COMMIT good|bad|skip", which are not measured again;
#                        what is measured is added. Default: WORK/ROW-GOOD.verdicts
#   --tolerance PERCENT  how much slower than GOOD a good commit may be; default: 2
#   --every N            packs each N-th commit, and BAD
#   --work DIR           where builds are kept; default: build/bisect
#
# Without a GPU and without --pack it says what to carry to one and what to run
# there, and asks for the verdict; where nobody can be asked it ends with 4, and a
# later call goes on with what the file of verdicts has. Commits that do not build,
# or do not run ROW, are skipped; those that touch nothing that is built are left
# out. ROW is a row's name; shell patterns are not taken.
#
# Exit status: 0 the commit is named, or DIR is packed, 1 BAD is not slower than
# GOOD, or skipped commits hide which it is, 2 usage, 4 GOOD does not build, or a
# verdict is missing.
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# What decides the programs.
paths=(CMakeLists.txt CMakePresets.json cmake ir frontends compiler runtime tools)
GOOD_IS=0 FOUND_NOTHING=1 USAGE=2 MISSING=4 SLOWER=5

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "$2"
  exit "$1"
}
help() { sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }
describe() { git -C "$root" log -1 --format='%h %s' "$1"; }

resolve() {
  git -C "$root" rev-parse --verify --quiet "$1^{commit}" ||
    fail $USAGE "expected a commit, got '$1'"
}

# The work tree of the commit that is built; always at one path, for ccache.
open_tree() {
  mkdir -p "$work/builds"
  close_tree
  git -C "$root" worktree prune
  git -C "$root" worktree add --quiet --detach "$tree" "$good"
  trap close_tree EXIT
}
close_tree() { git -C "$root" worktree remove --force "$tree" 2>/dev/null || rm -rf "$tree"; }

compile_tree() (
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$tree CCACHE_SLOPPINESS=pch_defines,time_macros
  command -v ccache >/dev/null || unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
  cd "$tree"
  cmake --preset release -DFUSEC_BUILD_TESTS=OFF
  cmake --build build/release --target fusec fusec_rt
)

# build COMMIT: its programs in WORK/builds/COMMIT, once; fails where it does not build.
build() {
  local to=$work/builds/$1 log=$work/builds/$1.log
  [ ! -e "$to/sources" ] || return 0
  [ ! -e "$to/failed" ] || return 1
  say "building $(describe "$1")"
  rm -rf "$to"
  mkdir -p "$to"
  git -C "$tree" checkout --quiet --force --detach "$1"
  if ! compile_tree >"$log" 2>&1; then
    say "  does not build: $log"
    touch "$to/failed"
    return 1
  fi
  cp -L "$tree/build/release/tools/fusec" "$tree/build/release/runtime/libfusec_rt.so" "$to/"
  strip "$to/fusec" "$to/libfusec_rt.so" 2>/dev/null || true
  cp "$tree/bench/fusec_runtime.py" "$to/" 2>/dev/null || true
  "$tree/tools/source-hash.sh" >"$to/sources" 2>/dev/null || echo "commit-$1" >"$to/sources"
}

has_gpu() { nvidia-smi -L >/dev/null 2>&1; }

# set_command FOLDER COMMIT: what measures it, with builds in FOLDER.
set_command() {
  command=(bench/compare.py --only "$row" --before "$1/$good" --fusec "$1/$2/fusec"
    --library "$1/$2/libfusec_rt.so" --tolerance "$tolerance")
}

# measure COMMIT: prints good, bad or skip.
measure() {
  local status=0 to=$work/builds/$1
  set_command "$work/builds" "$1"
  (cd "$root" && "${PYTHON:-python3}" "${command[@]}" --out "$to/rows.json") >"$to/rows.txt" 2>"$to/rows.log" || status=$?
  case $status in
    "$GOOD_IS") echo good ;;
    "$SLOWER") echo bad ;;
    1) echo skip ;;
    *) fail $MISSING "bench/compare.py: exit status $status: $to/rows.log" ;;
  esac
  grep "^| $row " "$to/rows.txt" >&2 || true
}

# What to do elsewhere, and the verdict where somebody can be asked.
ask() {
  local verdict
  set_command . "$1"
  {
    echo
    echo "There is no GPU here. Carry these to a machine with one, into one folder:"
    echo "  $root/bench $work/builds/$good $work/builds/$1"
    echo "and run there, with a Python that has PyTorch, onnx and onnxscript:"
    echo "  python3 ${command[*]}; echo \$?"
    echo "0 is good, 5 bad, anything else skip; the verdict is a line of $verdicts:"
    echo "  $1 good|bad|skip"
  } >&2
  while [ -t 0 ]; do
    read -r -p "verdict: " verdict || break
    case $verdict in good | bad | skip) echo "$verdict" && return ;; esac
  done
  exit $MISSING
}

# judge COMMIT: prints good, bad or skip, known or measured.
judge() {
  local verdict
  verdict=$(awk -v "c=$1" 'length($1) >= 7 && index(c, $1) == 1 { v = $2 } END { print v }' "$verdicts")
  case $verdict in
    good | bad | skip) ;;
    "")
      if ! build "$1"; then
        verdict=skip
      elif has_gpu; then
        verdict=$(measure "$1") || exit $?
      else
        verdict=$(ask "$1") || exit $?
      fi
      echo "$1 $verdict" >>"$verdicts"
      ;;
    *) fail $USAGE "$verdicts: expected good, bad or skip of $1, got '$verdict'" ;;
  esac
  say "$verdict: $(describe "$1")"
  echo "$verdict"
}

# The steps that changed, from the profiles that compare.py has kept.
show_steps() {
  local parent before after=$work/builds/$1/rows-profiles.json
  parent=$(git -C "$root" rev-parse "$1^")
  before=$work/builds/$parent/rows-profiles.json
  [ -e "$before" ] || before=$work/builds/$1/rows-before-profiles.json
  if [ -e "$before" ] && [ -e "$after" ]; then
    "${PYTHON:-python3}" "$root/bench/compare_steps.py" "$before" "$after" "$row"
  else
    say "its steps: what bench/compare.py printed where it was measured"
  fi
}

bisect() {
  local verdict said
  touch "$verdicts"
  build "$good" || fail $MISSING "GOOD does not build: $work/builds/$good.log"
  verdict=$(judge "$bad") || exit $?
  [ "$verdict" = bad ] || fail $FOUND_NOTHING "$row is not slower at BAD than at GOOD: nothing to find"
  git -C "$tree" bisect start --no-checkout "$bad" "$good" -- "${paths[@]}" >/dev/null
  while :; do
    git -C "$tree" rev-parse --verify --quiet BISECT_HEAD >/dev/null ||
      fail $FOUND_NOTHING "no commit between GOOD and BAD touches what is built"
    verdict=$(judge "$(git -C "$tree" rev-parse BISECT_HEAD)") || exit $?
    said=$(git -C "$tree" bisect "$verdict" 2>&1) || true
    case $said in
      *"is the first bad commit"*) break ;;
      *"only 'skip'ped commits left"*)
        fail $FOUND_NOTHING "skipped commits hide which it is; one of: $(
          grep -E '^[0-9a-f]{40}$' <<<"$said" | while read -r commit; do
            printf '\n  %s' "$(describe "$commit")"
          done
        )"
        ;;
    esac
  done
  bad=$(git -C "$tree" rev-parse refs/bisect/bad)
  echo "the first bad commit of $row: $(git -C "$root" log -1 --format='%H%n  %s%n  %an, %ad' "$bad")"
  show_steps "$bad"
}

# Commits from GOOD, without it, to BAD that touch what is built, oldest first: the
# main line's, or those of a branch where BAD is its merge.
list_commits() {
  local list=()
  mapfile -t list < <(git -C "$root" rev-list --reverse --first-parent "$good..$bad" -- "${paths[@]}")
  if [ ${#list[@]} -le 1 ] && git -C "$root" rev-parse --verify --quiet "$bad^2" >/dev/null; then
    mapfile -t list < <(git -C "$root" rev-list --reverse --first-parent "$good..$bad^2" -- "${paths[@]}")
  fi
  [ ${#list[@]} -gt 0 ] && [ "${list[-1]}" = "$bad" ] || list+=("$bad")
  local i last=$((${#list[@]} - 1))
  for i in "${!list[@]}"; do
    [ $(((last - i) % every)) -ne 0 ] || echo "${list[i]}"
  done
}

pack() {
  local to=$1 commit count=0 name
  [ ! -e "$to" ] || [ -z "$(ls -A "$to")" ] || fail $USAGE "$to: expected an empty folder, or none"
  build "$good" || fail $MISSING "GOOD does not build: $work/builds/$good.log"
  mkdir -p "$to/builds" "$to/bench"
  cp "$root"/bench/*.py "$to/bench/"
  cp -r "$root/bench/peers" "$to/bench/"
  cp -r "$work/builds/$good" "$to/builds/good"
  : >"$to/commits"
  while read -r commit; do
    build "$commit" || continue
    count=$((count + 1))
    name=$(printf 'c%03d' "$count")
    cp -r "$work/builds/$commit" "$to/builds/$name"
    git -C "$root" log -1 --format="$name %H %s" "$commit" >>"$to/commits"
  done < <(list_commits)
  rm -rf "$to"/builds/*/rows* "$to"/bench/__pycache__ "$to"/bench/*/__pycache__
  [ "$count" -gt 0 ] || fail $FOUND_NOTHING "no commit between GOOD and BAD builds"
  [ "$count" -le 40 ] || say "$count builds run in one process: where memory does not do, take --every"
  cat >"$to/run.sh" <<END
#!/usr/bin/env bash
# Measures $row with each build of this folder in the same rounds, and names the
# first commit from which on it is slower than with builds/good. PYTHON needs
# PyTorch, onnx and onnxscript.
set -euo pipefail
cd "\$(dirname "\${BASH_SOURCE[0]}")"
python=\${PYTHON:-python3} builds=() status=0
while read -r name _; do builds+=(--build "\$name=builds/\$name"); done <commits
"\$python" bench/compare.py --only $row --fusec builds/good/fusec \\
  --library builds/good/libfusec_rt.so "\${builds[@]}" --out rows.json "\$@" >rows.txt || status=\$?
[ \$status -le 1 ] || { cat rows.txt; exit \$status; }
"\$python" bench/first_bad.py rows.json commits --tolerance $tolerance
END
  chmod +x "$to/run.sh"
  echo "packed GOOD and $count commits: carry $to to a machine with a GPU and run $(basename "$to")/run.sh there"
}

arguments=() command=() verdicts="" tolerance=2 every=1 work=$root/build/bisect packed=""
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) help && exit 0 ;;
    --verdicts | --tolerance | --every | --work | --pack)
      [ $# -gt 1 ] || fail $USAGE "expected a value after $1"
      case $1 in
        --verdicts) verdicts=$(realpath -m "$2") ;;
        --tolerance) tolerance=$2 ;;
        --every) every=$2 ;;
        --work) work=$(realpath -m "$2") ;;
        --pack) packed=$(realpath -m "$2") ;;
      esac
      shift
      ;;
    -*) fail $USAGE "expected ROW, GOOD, BAD and options that --help lists, got '$1'" ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
[ ${#arguments[@]} -eq 3 ] || fail $USAGE "expected ROW GOOD BAD, got ${#arguments[@]} of them; --help says more"
[[ $every =~ ^[1-9][0-9]*$ ]] || fail $USAGE "--every: expected a number from 1 on, got '$every'"
[[ $tolerance =~ ^[0-9]+(\.[0-9]+)?$ ]] || fail $USAGE "--tolerance: expected per cent, got '$tolerance'"
row=${arguments[0]}
[[ $row =~ ^[A-Za-z0-9_]+$ ]] || fail $USAGE "expected the name of a row (bench/compare.py --list --rows all), got '$row'"
rows=$("${PYTHON:-python3}" "$root/bench/compare.py" --list --rows all | awk '{ print $1 }') ||
  fail $USAGE "bench/compare.py --list does not run with ${PYTHON:-python3}; name another by PYTHON"
grep -qx -- "$row" <<<"$rows" ||
  fail $USAGE "expected a row that bench/compare.py --list --rows all names, got '$row'$(
    grep -- "$row" <<<"$rows" | head -n 5 | paste -sd' ' | sed 's/^./; like it: &/')"
good=$(resolve "${arguments[1]}")
bad=$(resolve "${arguments[2]}")
tree=$work/tree
git -C "$root" merge-base --is-ancestor "$good" "$bad" || fail $USAGE "expected GOOD among the ancestors of BAD"
[ "$good" != "$bad" ] || fail $USAGE "expected two commits, got ${good:0:9} twice"
verdicts=${verdicts:-$work/$row-${good:0:9}.verdicts}
open_tree
if [ -n "$packed" ]; then pack "$packed"; else bisect; fi
