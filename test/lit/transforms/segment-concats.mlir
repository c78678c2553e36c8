// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-form-contractions --fusec-segment-concats --split-input-file %s | FileCheck %s

// A concat along K, behind the collapse that a batch has.
// CHECK-LABEL: fusec.model @concat_along_k
// CHECK: %[[U:.*]] = fusec.slice %arg2 offsets [#fusec.expr<0>, #fusec.expr<0>]
// CHECK: %[[V:.*]] = fusec.slice %arg2 offsets [#fusec.expr<64>, #fusec.expr<0>]
// CHECK: fusec.contraction(%{{.*}}, %{{.*}}) by(%[[U]], %[[V]])
// CHECK-NOT: fusec.concat
fusec.model @concat_along_k inputs ["a", "b", "w"] outputs ["y"] {
^bb0(%a: tensor<2x5x64xf16>, %b: tensor<2x5x72xf16>, %w: tensor<136x12xf16>):
  %0 = fusec.concat %a, %b axis 2 : tensor<2x5x64xf16>, tensor<2x5x72xf16> to tensor<2x5x136xf16>
  %1 = fusec.collapse %0 [[0, 1], [2]] : tensor<2x5x136xf16> to tensor<10x136xf16>
  %2 = fusec.matmul %1, %w : tensor<10x136xf16>, tensor<136x12xf16> to tensor<10x12xf16>
  fusec.output %2 : tensor<10x12xf16>
}

// -----

// What is written to the concat's memory as it is computed, needs no other, and
// rows of an odd length have no tensor map.
// CHECK-LABEL: fusec.model @concat_that_stays
// CHECK: fusec.concat
// CHECK: fusec.concat
fusec.model @concat_that_stays inputs ["a", "b", "c", "w"] outputs ["y", "z"] {
^bb0(%a: tensor<10x64xf16>, %b: tensor<10x64xf16>, %c: tensor<10x65xf16>, %w: tensor<129x12xf16>):
  %v = fusec.slice %w offsets [#fusec.expr<0>, #fusec.expr<0>] steps [1, 1] : tensor<129x12xf16> to tensor<128x12xf16>
  %0 = fusec.relu %a : tensor<10x64xf16>
  %1 = fusec.concat %0, %b axis 1 : tensor<10x64xf16>, tensor<10x64xf16> to tensor<10x128xf16>
  %2 = fusec.matmul %1, %v : tensor<10x128xf16>, tensor<128x12xf16> to tensor<10x12xf16>
  %3 = fusec.concat %b, %c axis 1 : tensor<10x64xf16>, tensor<10x65xf16> to tensor<10x129xf16>
  %4 = fusec.matmul %3, %w : tensor<10x129xf16>, tensor<129x12xf16> to tensor<10x12xf16>
  fusec.output %2, %4 : tensor<10x12xf16>, tensor<10x12xf16>
}
