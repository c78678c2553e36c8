// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges of K that are all read at once take its tiles in turn where a tile has
// all rows of one matrix, and rows of memory are long.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-merge-summed-products,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-split-long-products,fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-merge-summed-products,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-split-long-products,fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: of @few
// CHECK: fusec.step gemm "matmul_ranges"
// CHECK-SAME: matrices = [#fusec.copy<{{[^>]*}}, inTurn = true>, #fusec.copy<{{[^>]*}}, inTurn = true>]
// CUDA-LABEL: // matmul_ranges
// CUDA: t_x, 131072, {8192, 8192, 16}}, &t_x_map}
// CUDA-SAME: t_w, 131072, {8192, 8192, 16}}, &t_w_map}
fusec.model @few inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<128x131072xf16>, %w: tensor<512x131072xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<128x131072xf16>, tensor<512x131072xf16> to tensor<128x512xf16>
  fusec.output %0 : tensor<128x512xf16>
}

// -----

// More rows than a tile has.
// CHECK-LABEL: of @many
// CHECK: fusec.step gemm "matmul_ranges"
// CHECK-NOT: inTurn
fusec.model @many inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<256x131072xf16>, %w: tensor<512x131072xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<256x131072xf16>, tensor<512x131072xf16> to tensor<256x512xf16>
  fusec.output %0 : tensor<256x512xf16>
}

// -----

// Shorter rows.
// CHECK-LABEL: of @short
// CHECK: fusec.step gemm "matmul_ranges"
// CHECK-NOT: inTurn
fusec.model @short inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<128x65536xf16>, %w: tensor<512x65536xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<128x65536xf16>, tensor<512x65536xf16> to tensor<128x512xf16>
  fusec.output %0 : tensor<128x512xf16>
}

// -----

// A segment that has something for nine of sixteen ranges takes sixteen turns.
// CHECK-LABEL: of @segments
// CHECK: ranges [8192, 128]
// CUDA: t_x, 131072, {8192, 8192, 16}}, &t_x_map}
// CUDA: t_z, 1088, {128, 128, 16}}, &t_z_map}
// CUDA-SAME: t_v, 1088, {128, 128, 16}}, &t_v_map}
fusec.model @segments inputs ["x", "w", "z", "v"] outputs ["y"] {
^bb0(%x: tensor<128x131072xf16>, %w: tensor<512x131072xf16>, %z: tensor<128x1088xf16>, %v: tensor<512x1088xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<128x131072xf16>, tensor<512x131072xf16> to tensor<128x512xf16>
  %1 = fusec.matmul %z, %v transposed : tensor<128x1088xf16>, tensor<512x1088xf16> to tensor<128x512xf16>
  %2 = fusec.add %0, %1 : tensor<128x512xf16>
  fusec.output %2 : tensor<128x512xf16>
}
