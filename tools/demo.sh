#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what is missing, builds fusec, and takes a DLRM exported by PyTorch
# from ONNX to predictions. Without a GPU the reference evaluator predicts.
set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup
build release fusec
fusec=$root/build/release/tools/fusec
out=$root/build/demo
model=$root/test/models/seed_dlrm_small.dynbatch.onnx
data=$root/test/models/seed_dlrm_small.npz
rm -rf "$out"
mkdir -p "$out"

show() {
  printf '\n$ fusec'
  printf ' %s' "${@//$root\//}"
  printf '\n'
  "$fusec" "$@"
}

# The exporter numbers the inputs (arr_0, arr_1); fusec calls them by name.
"$PYTHON" - "$data" "$out" <<'END'
import sys, numpy
data = numpy.load(sys.argv[1])
for key, name in (("arr_0", "dense"), ("arr_1", "sparse"), ("output", "expected")):
    numpy.save(f"{sys.argv[2]}/{name}.npy", data[key])
END

show compile "$model" -o "$out/dlrm.fusec" --dump-cuda="$out/cuda"
printf '\nCUDA, one file a kernel:\n'
wc -l "$out"/cuda/*.cu | sed "s|$root/||"
show explain "$model"

inputs=(--input "dense_features=$out/dense.npy" --input "sparse_features=$out/sparse.npy"
  --output "squeeze=$out/prob.npy")
if nvidia-smi -L >/dev/null 2>&1; then
  say "running on $(nvidia-smi -L | head -n 1 | sed 's/ (UUID.*//')"
  show run "$out/dlrm.fusec" --device=cuda "${inputs[@]}"
else
  say "no GPU here: the reference evaluator runs the model"
  show run "$model" --device=reference "${inputs[@]}"
fi

"$PYTHON" - "$out" <<'END'
import sys, numpy
mine, theirs = (numpy.load(f"{sys.argv[1]}/{n}.npy").ravel() for n in ("prob", "expected"))
print(f"\n{'row':>4} {'fusec':>12} {'PyTorch':>12} {'difference':>12}")
for row, (a, b) in enumerate(zip(mine, theirs, strict=True)):
    print(f"{row:4d} {a:12.8f} {b:12.8f} {a - b:12.1e}")
error = numpy.linalg.norm(mine - theirs) / numpy.linalg.norm(theirs)
print(f"relative error {error:.1e} (norm-wise)")
sys.exit(0 if error <= 1e-5 else 5)
END
say "done"
