// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is computed of weights alone, and no product made as it multiplies, is
// computed when compiling.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_80},fusec.plan(fusec-fold-steps))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_80},fusec.plan(fusec-fold-steps))" --remarks-filter=rewrite %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Rows stay where they were: here each takes a multiple of 16 bytes.
// CHECK-LABEL: fusec.plan @sm_80 of @weights
// CHECK-SAME: slots []
// CHECK-NOT: fusec.buffer {{.*}} slot
// CHECK: fusec.buffer @cast weight 0 at <0> strides [#fusec.expr<8>, #fusec.expr<1>] : tensor<2x7xf16> = dense<{{\[}}[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 0.000000e+00], [-1.000000e+00
// CHECK-NOT: fusec.step pointwise
// CHECK: fusec.step gemm {{.*}} inputs [@x, @cast]
// REMARK: fold-steps{{.*}}'cast', of weights alone, is computed once
fusec.model @weights inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<4x2xf16>):
  %q = fusec.constant dense<[[1, 2, 3, 4, 5, 6, 7], [-1, -2, -3, -4, -5, -6, -7]]> : tensor<2x7xi8>
  %w = fusec.cast %q : tensor<2x7xi8> to tensor<2x7xf16>
  %y = fusec.contraction(%x) by(%w) : (tensor<4x2xf16>), (tensor<2x7xf16>) -> tensor<4x7xf32>
  fusec.output %y : tensor<4x7xf32>
}

// -----

// What sessions replace is computed at each run, and what an input decides.
// CHECK-LABEL: fusec.plan @sm_80 of @runs
// CHECK-COUNT-2: fusec.step pointwise
fusec.model @runs inputs ["x"] outputs ["y", "z"] {
^bb0(%x: tensor<4xf32>):
  %r = fusec.replaceable <"r", whole> dense<1.0> : tensor<4xf32>
  %y = fusec.relu %r : tensor<4xf32>
  %z = fusec.relu %x : tensor<4xf32>
  fusec.output %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: fusec.plan @sm_80 of @spread
// CHECK: fusec.step pointwise
// REMARK: fold-steps{{.*}}'relu', of weights alone, takes more than 8 times what it reads; it is computed at each run
fusec.model @spread inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<64x4xf32>):
  %c = fusec.constant dense<[1.0, -1.0, 2.0, 3.0]> : tensor<4xf32>
  %b = fusec.broadcast %c [0] : tensor<4xf32> to tensor<4x64xf32>
  %w = fusec.relu %b : tensor<4x64xf32>
  %y = fusec.contraction(%x) by(%w) : (tensor<64x4xf32>), (tensor<4x64xf32>) -> tensor<64x64xf32>
  fusec.output %y : tensor<64x64xf32>
}
