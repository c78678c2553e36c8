// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-group-products))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-group-products))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Queries, keys and values; each keeps its own epilogue.
// CHECK-LABEL: fusec.plan @sm_90a of @triple
// CHECK: fusec.step gemm "matmul_matmul_relu" inputs [@x, @q, @k, @v] outputs [@a, @b, @c]
// CHECK: %[[P:.+]]:3 = fusec.contraction(%[[X:[^)]+]]) by(%[[Q:[^,]+]], %[[K:[^,]+]], %[[V:[^)]+]])
// CHECK: fusec.relu %[[P]]#1
// CHECK-NOT: fusec.step
// REMARK: 'matmul' and 'matmul_relu'{{.*}} are one kernel
// REMARK: 'matmul_matmul_relu' and 'matmul'{{.*}} are one kernel
fusec.model @triple inputs ["x", "q", "k", "v"] outputs ["a", "b", "c"] {
^bb0(%x: tensor<?x512xf16, #fusec.sizes<[m, 512]>>, %q: tensor<512x256xf16>, %k: tensor<512x256xf16>, %v: tensor<512x256xf16>):
  %0 = fusec.matmul %x, %q : tensor<?x512xf16, #fusec.sizes<[m, 512]>>, tensor<512x256xf16> to tensor<?x256xf16, #fusec.sizes<[m, 256]>>
  %1 = fusec.matmul %x, %k : tensor<?x512xf16, #fusec.sizes<[m, 512]>>, tensor<512x256xf16> to tensor<?x256xf16, #fusec.sizes<[m, 256]>>
  %2 = fusec.relu %1 : tensor<?x256xf16, #fusec.sizes<[m, 256]>>
  %3 = fusec.matmul %x, %v : tensor<?x512xf16, #fusec.sizes<[m, 512]>>, tensor<512x256xf16> to tensor<?x256xf16, #fusec.sizes<[m, 256]>>
  fusec.output %0, %2, %3 : tensor<?x256xf16, #fusec.sizes<[m, 256]>>, tensor<?x256xf16, #fusec.sizes<[m, 256]>>, tensor<?x256xf16, #fusec.sizes<[m, 256]>>
}

// -----

// Heads of other widths do not lie beside each other in one tile.
// CHECK-LABEL: fusec.plan @sm_90a of @widths
// CHECK-COUNT-2: fusec.step gemm
// REMARK: {{.*}}their left operands, or the sizes of their weights, differ
fusec.model @widths inputs ["x", "q", "k"] outputs ["a", "b"] {
^bb0(%x: tensor<64x512xf16>, %q: tensor<512x1024xf16>, %k: tensor<512x256xf16>):
  %0 = fusec.matmul %x, %q : tensor<64x512xf16>, tensor<512x1024xf16> to tensor<64x1024xf16>
  %1 = fusec.matmul %x, %k : tensor<64x512xf16>, tensor<512x256xf16> to tensor<64x256xf16>
  fusec.output %0, %1 : tensor<64x1024xf16>, tensor<64x256xf16>
}

// -----

// The second needs what becomes of the first.
// CHECK-LABEL: fusec.plan @sm_90a of @in_turn
// CHECK-COUNT-2: fusec.step gemm
// REMARK: a kernel between them reads the one's results and computes the other's operands
fusec.model @in_turn inputs ["x", "q", "k"] outputs ["s", "b"] {
^bb0(%x: tensor<64x512xf16>, %q: tensor<512x512xf16>, %k: tensor<512x512xf16>):
  %0 = fusec.matmul %x, %q : tensor<64x512xf16>, tensor<512x512xf16> to tensor<64x512xf16>
  %s = fusec.reduce sum %0 axes [0] : tensor<64x512xf16> to tensor<512xf16>
  %1 = fusec.matmul %x, %k : tensor<64x512xf16>, tensor<512x512xf16> to tensor<64x512xf16>
  %t = fusec.broadcast %s [1] : tensor<512xf16> to tensor<64x512xf16>
  %2 = fusec.add %1, %t : tensor<64x512xf16>
  fusec.output %s, %2 : tensor<512xf16>, tensor<64x512xf16>
}
