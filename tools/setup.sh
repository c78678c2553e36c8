# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# Sourced by the scripts beside it: brings a Debian 12 machine to where the
# project builds. Each step checks first, so that a second run takes seconds.
# Afterwards: PYTHON, FUSEC_NVRTC, and ccache as the compiler launcher.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
started=$(date +%s%N)

say() {
  local ms=$((($(date +%s%N) - started) / 1000000))
  printf '[%3d.%ds] %s\n' $((ms / 1000)) $((ms % 1000 / 100)) "$*" >&2
}

fail() {
  say "$1"
  exit "${2:-1}"
}

# Runs a long step quietly; its output is shown only when it fails.
quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    fail "failed: $*"
  fi
  rm -f "$log"
}

packages=(build-essential cmake ninja-build ccache lld git pkg-config
  ca-certificates python3 python3-venv llvm-22-dev libmlir-22-dev mlir-22-tools
  llvm-22-tools libprotobuf-dev protobuf-compiler libcli11-dev libfmt-dev
  libgtest-dev nlohmann-json3-dev libxxhash-dev libzstd-dev zlib1g-dev valgrind)
# What the fuzzers need beside these.
fuzz_packages=(clang-22 libclang-rt-22-dev)

install_packages() {
  local missing=() name sudo=()
  command -v dpkg-query >/dev/null || fail "expected Debian 12 (dpkg); install by hand: ${packages[*]}"
  local have
  have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
  for name in "${packages[@]}"; do
    grep -qx "installed $name" <<<"$have" || missing+=("$name")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "packages: all installed"
    return
  fi
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  say "packages: installing ${missing[*]}"
  quietly "${sudo[@]}" apt-get update
  quietly "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
  say "packages: installed"
}

# A private Python with the pinned packages; made again when the pins change.
make_python() {
  local stamp=$root/.venv/fusec-requirements pins
  PYTHON=$root/.venv/bin/python
  pins=$(python3 -V; cat "$@")
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$pins" ]; then
    say "python: .venv is up to date"
    return
  fi
  say "python: making .venv"
  rm -rf "$root/.venv"
  quietly python3 -m venv "$root/.venv"
  local arguments=() file
  for file in "$@"; do arguments+=(-r "$file"); done
  quietly "$PYTHON" -m pip install --disable-pip-version-check "${arguments[@]}"
  printf '%s\n' "$pins" >"$stamp"
  say "python: $(wc -l < <(cat "$@")) pinned packages installed"
}

# Prints the first NVRTC of an installed toolkit that is 12.4 or newer.
installed_nvrtc() {
  python3 - <<'END'
import ctypes, glob, os

def places():
    roots = [os.environ.get("CUDA_HOME"), "/usr/local/cuda",
             *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]
    for root in filter(None, roots):
        for name in ("libnvrtc.so.13", "libnvrtc.so.12"):
            yield os.path.join(root, "lib64", name)
    yield from ("libnvrtc.so.13", "libnvrtc.so.12")

for place in places():
    if "/" in place and not os.path.exists(place):
        continue
    try:
        library = ctypes.CDLL(place)
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    except (OSError, AttributeError):
        continue
    if (major.value, minor.value) >= (12, 4):
        print(place, f"{major.value}.{minor.value}")
        break
END
}

# Sets up all; the wheel of NVRTC is installed only where no toolkit has one.
setup() {
  local pins=("$root/test/python/requirements.txt") version=""
  install_packages
  if [ -z "${FUSEC_NVRTC:-}" ]; then
    read -r FUSEC_NVRTC version < <(installed_nvrtc) || true
    [ -n "${FUSEC_NVRTC:-}" ] || pins+=("$root/test/python/nvrtc.txt")
  fi
  make_python "${pins[@]}"
  if [ -z "${FUSEC_NVRTC:-}" ]; then
    FUSEC_NVRTC=$(find "$root/.venv/lib" -name 'libnvrtc.so.1[0-9]' | sort | head -n 1)
    [ -n "$FUSEC_NVRTC" ] || fail "the nvidia-cuda-nvrtc wheel holds no libnvrtc.so.*" 4
    version="from the wheel"
  fi
  export FUSEC_NVRTC PYTHON
  say "nvrtc: $FUSEC_NVRTC${version:+ ($version)}"
}

# build PRESET [TARGET...]: configures when needed, builds what changed.
build() {
  local preset=$1
  shift
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_BASEDIR=$root # Another clone finds the same objects.
  export CCACHE_SLOPPINESS=pch_defines,time_macros # Precompiled headers are kept.
  quietly cmake -S "$root" --preset "$preset"
  say "configured: build/$preset"
  local targets=()
  [ $# -eq 0 ] || targets=(--target "$@")
  (cd "$root" && cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}") >&2 ||
    fail "the build failed"
  say "built: build/$preset"
}
