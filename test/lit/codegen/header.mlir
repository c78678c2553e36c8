// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's text begins with when it is used and how it is launched; no line
// is wider than 120 columns.

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-form-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_80},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | fusec-translate --fusec-to-cuda > %t
// RUN: FileCheck %s < %t
// RUN: grep -v '^// #fusec.launch' %t | not grep -E '^.{121}'

// CHECK: // matmul_add
// CHECK-NEXT: // where {{.*}} is aligned to 16
// CHECK: {{^}}// grid {{.*}}batch{{.*}}, block {{[0-9]+}}, shared memory {{[0-9]+}} bytes
// CHECK-NEXT: #include
fusec.model @linear inputs ["a_rather_long_name_of_an_input", "w", "a_rather_long_name_of_a_residual"] outputs ["y"] {
^bb0(%x: tensor<?x256xf16, #fusec.sizes<[batch, 256]>>, %w: tensor<256x256xf16>, %r: tensor<?x256xf16, #fusec.sizes<[batch, 256]>>):
  %0 = fusec.matmul %x, %w : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>, tensor<256x256xf16> to tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
  %1 = fusec.add %0, %r : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
  fusec.output %1 : tensor<?x256xf16, #fusec.sizes<[batch, 256]>>
}
