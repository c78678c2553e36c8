// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-transposes,fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | FileCheck %s

// Both sides by vectors; a value that lies as the result does needs no tile.
// CHECK-LABEL: of @both
// CHECK: fusec.step transpose "add"
// CHECK-SAME: #fusec.transpose_schedule<along = 64, across = 64, load = 4, store = 4, indexBits = 32> launch <blocks = <128>, threads = 256
fusec.model @both inputs ["x", "y"] outputs ["z"] {
^bb0(%x: tensor<512x1024xf32>, %y: tensor<1024x512xf32>):
  %0 = fusec.transpose %x [1, 0] : tensor<512x1024xf32> to tensor<1024x512xf32>
  %1 = fusec.add %0, %y : tensor<1024x512xf32>
  fusec.output %1 : tensor<1024x512xf32>
}

// -----

// Rows whose elements lie alike, a dimension too short for a tile, and a row
// that every point reads.
// CHECK-LABEL: of @others
// CHECK: fusec.step pointwise "transpose"
// CHECK: fusec.step pointwise "transpose"
// CHECK: fusec.step pointwise "mul"
fusec.model @others inputs ["x", "y", "z", "r"] outputs ["a", "b", "c"] {
^bb0(%x: tensor<32x64x128xf16>, %y: tensor<1024x3xf32>, %z: tensor<512x64xf32>, %r: tensor<64xf32>):
  %0 = fusec.transpose %x [1, 0, 2] : tensor<32x64x128xf16> to tensor<64x32x128xf16>
  %1 = fusec.transpose %y [1, 0] : tensor<1024x3xf32> to tensor<3x1024xf32>
  %2 = fusec.broadcast %r [1] : tensor<64xf32> to tensor<512x64xf32>
  %3 = fusec.mul %z, %2 : tensor<512x64xf32>
  fusec.output %0, %1, %3 : tensor<64x32x128xf16>, tensor<3x1024xf32>, tensor<512x64xf32>
}
