// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-contractions --fusec-form-fusions --fusec-build-plans=targets=sm_90a --split-input-file %s | FileCheck %s

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

// -----

// The rows that one product's epilogue computes are the columns that the next
// one reads: they lie one after another, and what only the next reads keeps its
// pitch.
// CHECK-LABEL: fusec.plan @sm_90a of @scores
// CHECK: fusec.buffer @{{.*}} slot {{.}} at <0> strides [#fusec.expr<10>, #fusec.expr<10>, #fusec.expr<1>] : tensor<8x1x10xf32>
fusec.model @scores inputs ["x", "m"] outputs ["y"] {
^bb0(%x: tensor<8x10x16xf32>, %m: tensor<8x1x10xf32>):
  %w = fusec.constant dense<"0x0000803F0000004000004040000080400000803F0000004000004040000080400000803F0000004000004040000080400000803F000000400000404000008040"> : tensor<16x1xf32>
  %0 = fusec.broadcast %w [1, 2] : tensor<16x1xf32> to tensor<8x16x1xf32>
  %1 = fusec.matmul %x, %0 : tensor<8x10x16xf32>, tensor<8x16x1xf32> to tensor<8x10x1xf32>
  %2 = fusec.transpose %1 [0, 2, 1] : tensor<8x10x1xf32> to tensor<8x1x10xf32>
  %3 = fusec.mul %m, %2 : tensor<8x1x10xf32>
  %4 = fusec.matmul %3, %x : tensor<8x1x10xf32>, tensor<8x10x16xf32> to tensor<8x1x16xf32>
  fusec.output %4 : tensor<8x1x16xf32>
}

// -----

// Accumulators of one kernel lie alike: where one is the user's, or replaced by
// sessions, the other has no pitch, either.
// CHECK-LABEL: fusec.plan @sm_90a of @alike
// CHECK: fusec.buffer @{{.*}} weight 0 at <0> strides [#fusec.expr<7>, #fusec.expr<1>] : tensor<2x7xf32>
// CHECK: fusec.step gemm
fusec.model @alike inputs ["x", "u"] outputs ["y"] {
^bb0(%x: tensor<8x2xf32>, %u: tensor<2x7xf32>):
  %w = fusec.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]> : tensor<2x7xf32>
  %0 = fusec.matmul %x, %w : tensor<8x2xf32>, tensor<2x7xf32> to tensor<8x7xf32>
  %1 = fusec.matmul %x, %u : tensor<8x2xf32>, tensor<2x7xf32> to tensor<8x7xf32>
  %2 = fusec.sigmoid %0 : tensor<8x7xf32>
  %3 = fusec.mul %2, %1 : tensor<8x7xf32>
  fusec.output %3 : tensor<8x7xf32>
}

// -----

// Lookups read tables whose rows lie one after another.
// CHECK-LABEL: fusec.plan @sm_90a of @tied
// CHECK: fusec.buffer @{{.*}} weight 0 at <0> strides [#fusec.expr<7>, #fusec.expr<1>] : tensor<2x7xf32>
// CHECK: fusec.step
fusec.model @tied inputs ["x", "ids"] outputs ["y", "z"] {
^bb0(%x: tensor<8x2xf32>, %ids: tensor<8x1xi64>):
  %w = fusec.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]> : tensor<2x7xf32>
  %0 = fusec.matmul %x, %w : tensor<8x2xf32>, tensor<2x7xf32> to tensor<8x7xf32>
  %1 = fusec.lookup (%w) at %ids flag : (tensor<2x7xf32>, tensor<8x1xi64>) -> tensor<8x1x7xf32>
  fusec.output %0, %1 : tensor<8x7xf32>, tensor<8x1x7xf32>
}
