// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-row-epilogues{always},fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-row-epilogues{always}))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// The softmax of a router: few rows and many are one kernel, and the product is
// nowhere in memory. Every variant has tiles of all 64 columns.
// CHECK-LABEL: fusec.plan @sm_90a of @router slots []
// CHECK-NOT: fusec.buffer @{{.+}} slot
// CHECK: fusec.step gemm "matmul_reduce_sub_exp_div" inputs [@w, @x] outputs [@y]
// CHECK-SAME: wgmma_schedule<tileM = 64, tileN = 64,{{[^>]*}}pingPong = true
// CHECK-SAME: skinny_schedule<tileM = {{[0-9]+}}, tileN = 64
// CHECK-COUNT-2: fusec.reduce
// CHECK-NOT: fusec.step
// REMARK: 'matmul' and 'reduce_sub_exp_div'{{.*}} are one kernel
fusec.model @router inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x4096xf16, #fusec.sizes<[m, 4096]>>, %w: tensor<64x4096xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<?x4096xf16, #fusec.sizes<[m, 4096]>>, tensor<64x4096xf16> to tensor<?x64xf16, #fusec.sizes<[m, 64]>>
  %1 = fusec.reduce max %0 axes [1] : tensor<?x64xf16, #fusec.sizes<[m, 64]>> to tensor<?xf16, #fusec.sizes<[m]>>
  %2 = fusec.broadcast %1 [0] : tensor<?xf16, #fusec.sizes<[m]>> to tensor<?x64xf16, #fusec.sizes<[m, 64]>>
  %3 = fusec.sub %0, %2 : tensor<?x64xf16, #fusec.sizes<[m, 64]>>
  %4 = fusec.exp %3 : tensor<?x64xf16, #fusec.sizes<[m, 64]>>
  %5 = fusec.reduce sum %4 axes [1] : tensor<?x64xf16, #fusec.sizes<[m, 64]>> to tensor<?xf16, #fusec.sizes<[m]>>
  %6 = fusec.broadcast %5 [0] : tensor<?xf16, #fusec.sizes<[m]>> to tensor<?x64xf16, #fusec.sizes<[m, 64]>>
  %7 = fusec.div %4, %6 : tensor<?x64xf16, #fusec.sizes<[m, 64]>>
  fusec.output %7 : tensor<?x64xf16, #fusec.sizes<[m, 64]>>
}

// -----

// What others read is stored all the same; a second reduction joins the first;
// the reduction may see other dimensions.
// CHECK-LABEL: fusec.plan @sm_90a of @several
// CHECK: fusec.step gemm "matmul_reduce_reduce" inputs [@x, @w] outputs [@l, @s, @m]
// CHECK-NOT: fusec.step
// REMARK: 'matmul' and 'reduce'{{.*}} are one kernel
// REMARK: 'matmul_reduce' and 'reduce'{{.*}} are one kernel
fusec.model @several inputs ["x", "w"] outputs ["l", "s", "m"] {
^bb0(%x: tensor<600x32xf32>, %w: tensor<32x40xf32>):
  %0 = fusec.matmul %x, %w : tensor<600x32xf32>, tensor<32x40xf32> to tensor<600x40xf32>
  %1 = fusec.expand %0 [[0, 1], [2]] : tensor<600x40xf32> to tensor<20x30x40xf32>
  %2 = fusec.reduce sum %1 axes [2] : tensor<20x30x40xf32> to tensor<20x30xf32>
  %3 = fusec.reduce max %0 axes [1] : tensor<600x40xf32> to tensor<600xf32>
  fusec.output %0, %2, %3 : tensor<600x40xf32>, tensor<20x30xf32>, tensor<600xf32>
}

// -----

// No tile holds rows of 1000.
// CHECK-LABEL: fusec.plan @sm_90a of @wide
// CHECK: fusec.step gemm
// CHECK: fusec.step reduce
// REMARK: 'matmul' and 'reduce'{{.*}}no tile holds the rows of the reduction
fusec.model @wide inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<64x32xf16>, %w: tensor<32x1000xf16>):
  %0 = fusec.matmul %x, %w : tensor<64x32xf16>, tensor<32x1000xf16> to tensor<64x1000xf16>
  %1 = fusec.reduce max %0 axes [1] : tensor<64x1000xf16> to tensor<64xf16>
  fusec.output %1 : tensor<64xf16>
}

// -----

// Columns are reduced over the rows of all tiles.
// CHECK-LABEL: fusec.plan @sm_90a of @columns
// CHECK: fusec.step gemm
// CHECK: fusec.step reduce
// REMARK: 'matmul' and 'reduce'{{.*}}no tile holds the rows of the reduction
fusec.model @columns inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<64x32xf16>, %w: tensor<32x16xf16>):
  %0 = fusec.matmul %x, %w : tensor<64x32xf16>, tensor<32x16xf16> to tensor<64x16xf16>
  %1 = fusec.reduce max %0 axes [0] : tensor<64x16xf16> to tensor<16xf16>
  fusec.output %1 : tensor<16xf16>
}
