// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of a long K that are half as many as multiprocessors: two blocks divide
// the K of each, and their sums meet in shared memory.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-split-long-products{products=tf32},fusec-assign-storage,fusec-choose-schedules{products=tf32}))" %s | fusec-opt --split-input-file | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-split-long-products{products=tf32},fusec-assign-storage,fusec-choose-schedules{products=tf32}))" %s | fusec-translate --split-input-file --fusec-to-cuda | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: of @half
// CHECK-NOT: ranges
// CHECK: fusec.step gemm "matmul"
// CHECK-SAME: #fusec.wgmma_schedule<tileM = 128, tileN = 256, tileK = 32, stages = 4, blocks = 132, clusterK = 2>
// CUDA-LABEL: // matmul
// CUDA: struct Tiling {
// CUDA-NEXT: tileM = 128, tileN = 256, tileK = 32, stages = 4, clusterM = 1, clusterN = 1, band = 16;
// CUDA: typedef fusec::WgmmaSplitKConfig<Tiling> Config;
// CUDA: launch<blocks = <128>, threads = 384, shared = {{[0-9]+}}, cluster = 2
fusec.model @half inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x16384xf32>, %w: tensor<1024x16384xf32>):
  %0 = fusec.matmul %x, %w transposed : tensor<2048x16384xf32>, tensor<1024x16384xf32> to tensor<2048x1024xf32>
  fusec.output %0 : tensor<2048x1024xf32>
}

// -----

// Where rows are only named, those of 2048 that are fewer than 65 tiles.
// CHECK-LABEL: of @named
// CHECK: lhs = <m>, rhs = <2048>>], #fusec.wgmma_schedule<tileM = 192, tileN = 128,
// CHECK-SAME: lhs = <m>, rhs = <1536>>], #fusec.wgmma_schedule<tileM = 128, tileN = 256, tileK = 32, stages = 4, blocks = 132, clusterK = 2>
fusec.model @named inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x16384xf32, #fusec.sizes<[m, 16384]>>, %w: tensor<1024x16384xf32>):
  %0 = fusec.matmul %x, %w transposed : tensor<?x16384xf32, #fusec.sizes<[m, 16384]>>, tensor<1024x16384xf32> to tensor<?x1024xf32, #fusec.sizes<[m, 1024]>>
  fusec.output %0 : tensor<?x1024xf32, #fusec.sizes<[m, 1024]>>
}

// -----

// A K that small tiles get through as soon.
// CHECK-LABEL: of @shorter
// CHECK-NOT: clusterK
fusec.model @shorter inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x8192xf32>, %w: tensor<1024x8192xf32>):
  %0 = fusec.matmul %x, %w transposed : tensor<2048x8192xf32>, tensor<1024x8192xf32> to tensor<2048x1024xf32>
  fusec.output %0 : tensor<2048x1024xf32>
}

// -----

// 16 bits gain nothing by it; their blocks walk fewer rows of tiles together.
// CHECK-LABEL: of @narrow
// CHECK-NOT: clusterK
// CHECK: #fusec.wgmma_schedule<tileM = 128, tileN = 128, tileK = 64, stages = 6, blocks = 132, band = 4>
// CUDA-LABEL: // matmul
// CUDA: clusterN = 1, band = 4;
fusec.model @narrow inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x16384xf16>, %w: tensor<1024x16384xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<2048x16384xf16>, tensor<1024x16384xf16> to tensor<2048x1024xf16>
  fusec.output %0 : tensor<2048x1024xf16>
}
