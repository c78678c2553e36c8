// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-form-contractions --fusec-form-fusions --fusec-build-plans=targets=sm_90a %s | FileCheck %s

// Rows of 2000 bytes take 16 lines of 128; rows of 200 would take a fifth more,
// and are aligned to 16; inputs lie as the user has them.
// CHECK-LABEL: fusec.plan @sm_90a of @mlp
// CHECK: fusec.buffer @x input 0 at <0> strides [#fusec.expr<1000>, #fusec.expr<1>]
// CHECK: fusec.buffer @{{.*}} slot 0 at <0> strides [#fusec.expr<1024>, #fusec.expr<1>] : tensor<64x1000xf16>
// CHECK: fusec.buffer @{{.*}} slot 1 at <0> strides [#fusec.expr<104>, #fusec.expr<1>] : tensor<64x100xf16>
fusec.model @mlp inputs ["x", "a", "b", "c"] outputs ["y"] {
^bb0(%x: tensor<64x1000xf16>, %a: tensor<1000x1000xf16>, %b: tensor<100x1000xf16>, %c: tensor<64x100xf16>):
  %0 = fusec.matmul %x, %a transposed : tensor<64x1000xf16>, tensor<1000x1000xf16> to tensor<64x1000xf16>
  %1 = fusec.matmul %0, %b transposed : tensor<64x1000xf16>, tensor<100x1000xf16> to tensor<64x100xf16>
  %2 = fusec.matmul %1, %c transposed : tensor<64x100xf16>, tensor<64x100xf16> to tensor<64x64xf16>
  fusec.output %2 : tensor<64x64xf16>
}
