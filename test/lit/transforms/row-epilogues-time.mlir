// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a reduction joins the product it is of, by the predicted times.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-row-epilogues,fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-row-epilogues))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Few rows: a launch more is worth more than what the epilogue takes.
// CHECK-LABEL: fusec.plan @sm_90a of @few
// CHECK: fusec.step gemm "matmul_reduce_sub_exp_div"
// CHECK-NOT: fusec.step
// REMARK: 'matmul' and 'reduce_sub_exp_div'{{.*}} are one kernel
fusec.model @few inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<128x8192xf16>, %w: tensor<64x8192xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<128x8192xf16>, tensor<64x8192xf16> to tensor<128x64xf16>
  %1 = fusec.reduce max %0 axes [1] : tensor<128x64xf16> to tensor<128xf16>
  %2 = fusec.broadcast %1 [0] : tensor<128xf16> to tensor<128x64xf16>
  %3 = fusec.sub %0, %2 : tensor<128x64xf16>
  %4 = fusec.exp %3 : tensor<128x64xf16>
  %5 = fusec.reduce sum %4 axes [1] : tensor<128x64xf16> to tensor<128xf16>
  %6 = fusec.broadcast %5 [0] : tensor<128xf16> to tensor<128x64xf16>
  %7 = fusec.div %4, %6 : tensor<128x64xf16>
  fusec.output %7 : tensor<128x64xf16>
}

// -----

// One tile that holds the row contracts for longer than many that share it.
// CHECK-LABEL: fusec.plan @sm_90a of @slower
// CHECK: fusec.step gemm
// CHECK: fusec.step reduce
// REMARK: 'matmul' and 'reduce'{{.*}}one kernel takes {{.*}} us where the two take
fusec.model @slower inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<1x16384xf32>, %w: tensor<16384x256xf32>):
  %0 = fusec.matmul %x, %w : tensor<1x16384xf32>, tensor<16384x256xf32> to tensor<1x256xf32>
  %1 = fusec.reduce max %0 axes [1] : tensor<1x256xf32> to tensor<1xf32>
  fusec.output %1 : tensor<1xf32>
}
