// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-chains,fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-chains))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A low-rank update and the layer after it: the update's product, the sum along
// K and the next layer are one kernel, and nothing between them is in memory.
// CHECK-LABEL: fusec.plan @sm_90a of @update slots []
// CHECK-NOT: fusec.buffer @{{.+}} slot
// CHECK: fusec.step chain "chain_matmul_matmul_relu_matmul_add" inputs [@x, @a, @w, @b, @v, @c] outputs [@y]
// CHECK-SAME: chain_schedule<rows =
// CHECK-COUNT-3: fusec.contraction
// CHECK-NOT: fusec.step
// REMARK: 'matmul' and 'matmul_relu'{{.*}} are one kernel
// REMARK: 'chain_matmul_matmul_relu' and 'matmul_add'{{.*}} are one kernel
fusec.model @update inputs ["x", "w", "a", "b", "v", "c"] outputs ["y"] {
^bb0(%x: tensor<?x16xf32, #fusec.sizes<[batch, 16]>>, %w: tensor<16x8xf32>, %a: tensor<16x5xf32>, %b: tensor<5x8xf32>, %v: tensor<8x4xf32>, %c: tensor<4xf32>):
  %0 = fusec.matmul %x, %w : tensor<?x16xf32, #fusec.sizes<[batch, 16]>>, tensor<16x8xf32> to tensor<?x8xf32, #fusec.sizes<[batch, 8]>>
  %1 = fusec.matmul %x, %a : tensor<?x16xf32, #fusec.sizes<[batch, 16]>>, tensor<16x5xf32> to tensor<?x5xf32, #fusec.sizes<[batch, 5]>>
  %2 = fusec.matmul %1, %b : tensor<?x5xf32, #fusec.sizes<[batch, 5]>>, tensor<5x8xf32> to tensor<?x8xf32, #fusec.sizes<[batch, 8]>>
  %3 = fusec.add %0, %2 : tensor<?x8xf32, #fusec.sizes<[batch, 8]>>
  %4 = fusec.relu %3 : tensor<?x8xf32, #fusec.sizes<[batch, 8]>>
  %5 = fusec.matmul %4, %v : tensor<?x8xf32, #fusec.sizes<[batch, 8]>>, tensor<8x4xf32> to tensor<?x4xf32, #fusec.sizes<[batch, 4]>>
  %6 = fusec.broadcast %c [1] : tensor<4xf32> to tensor<?x4xf32, #fusec.sizes<[batch, 4]>>
  %7 = fusec.add %5, %6 : tensor<?x4xf32, #fusec.sizes<[batch, 4]>>
  fusec.output %7 : tensor<?x4xf32, #fusec.sizes<[batch, 4]>>
}

// -----

// What others read is stored all the same.
// CHECK-LABEL: fusec.plan @sm_90a of @shared
// CHECK: fusec.step chain "chain_matmul_relu_matmul" inputs [@x, @v, @w] outputs [@h, @y]
// REMARK: 'matmul_relu' and 'matmul'{{.*}} are one kernel
fusec.model @shared inputs ["x", "v", "w"] outputs ["h", "y"] {
^bb0(%x: tensor<7x12xf16>, %v: tensor<12x6xf16>, %w: tensor<6x6xf16>):
  %0 = fusec.matmul %x, %v : tensor<7x12xf16>, tensor<12x6xf16> to tensor<7x6xf16>
  %1 = fusec.relu %0 : tensor<7x6xf16>
  %2 = fusec.matmul %1, %w : tensor<7x6xf16>, tensor<6x6xf16> to tensor<7x6xf16>
  fusec.output %1, %2 : tensor<7x6xf16>, tensor<7x6xf16>
}

// -----

// Wide layers multiply faster on their own.
// CHECK-LABEL: fusec.plan @sm_90a of @wide
// CHECK-COUNT-2: fusec.step gemm
// REMARK: 'matmul_relu' and 'matmul'{{.*}}one kernel takes
fusec.model @wide inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x128xf16>, %v: tensor<128x256xf16>, %w: tensor<256x128xf16>):
  %0 = fusec.matmul %x, %v : tensor<2048x128xf16>, tensor<128x256xf16> to tensor<2048x256xf16>
  %1 = fusec.relu %0 : tensor<2048x256xf16>
  %2 = fusec.matmul %1, %w : tensor<2048x256xf16>, tensor<256x128xf16> to tensor<2048x128xf16>
  fusec.output %2 : tensor<2048x128xf16>
}

// -----

// Rows of one product are columns of the other.
// CHECK-LABEL: fusec.plan @sm_90a of @mixed
// CHECK-COUNT-2: fusec.step gemm
// REMARK: the products have different rows
fusec.model @mixed inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<7x12xf32>, %v: tensor<12x6xf32>, %w: tensor<9x7xf32>):
  %0 = fusec.matmul %x, %v : tensor<7x12xf32>, tensor<12x6xf32> to tensor<7x6xf32>
  %1 = fusec.matmul %w, %0 : tensor<9x7xf32>, tensor<7x6xf32> to tensor<9x6xf32>
  fusec.output %1 : tensor<9x6xf32>
}

// -----

// Weights that no block has room for.
// CHECK-LABEL: fusec.plan @sm_90a of @heavy
// CHECK-COUNT-2: fusec.step gemm
// REMARK: weights and one row take {{[0-9]+}} bytes of shared memory of 232448
fusec.model @heavy inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<7x512xf32>, %v: tensor<512x256xf32>, %w: tensor<256x6xf32>):
  %0 = fusec.matmul %x, %v : tensor<7x512xf32>, tensor<512x256xf32> to tensor<7x256xf32>
  %1 = fusec.matmul %0, %w : tensor<7x256xf32>, tensor<256x6xf32> to tensor<7x6xf32>
  fusec.output %1 : tensor<7x6xf32>
}

// -----

// A reduction between two layers needs the first and feeds the second.
// CHECK-LABEL: fusec.plan @sm_90a of @between
// CHECK: fusec.step gemm
// CHECK: fusec.step reduce
// CHECK: fusec.step gemm
// REMARK: a kernel between them reads the one's results and computes the other's operands
fusec.model @between inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<7x12xf32>, %v: tensor<12x6xf32>, %w: tensor<6x6xf32>):
  %0 = fusec.matmul %x, %v : tensor<7x12xf32>, tensor<12x6xf32> to tensor<7x6xf32>
  %1 = fusec.reduce sum %0 axes [1] : tensor<7x6xf32> to tensor<7xf32>
  %2 = fusec.broadcast %1 [0] : tensor<7xf32> to tensor<7x6xf32>
  %3 = fusec.matmul %0, %w : tensor<7x6xf32>, tensor<6x6xf32> to tensor<7x6xf32>
  %4 = fusec.add %3, %2 : tensor<7x6xf32>
  fusec.output %4 : tensor<7x6xf32>
}

// -----

// What reads a concat reads rows of it that other blocks store.
// CHECK-LABEL: fusec.plan @sm_90a of @part
// CHECK: fusec.step gemm
// CHECK: fusec.step chain
// CHECK: fusec.step gemm
// REMARK: the one's results are part of what the other reads
fusec.model @part inputs ["x", "v", "w", "u", "z"] outputs ["y"] {
^bb0(%x: tensor<7x12xf32>, %v: tensor<12x6xf32>, %w: tensor<6x5xf32>, %u: tensor<12x3xf32>, %z: tensor<6x8xf32>):
  %2 = fusec.matmul %x, %u : tensor<7x12xf32>, tensor<12x3xf32> to tensor<7x3xf32>
  %0 = fusec.matmul %x, %v : tensor<7x12xf32>, tensor<12x6xf32> to tensor<7x6xf32>
  %1 = fusec.matmul %0, %w : tensor<7x6xf32>, tensor<6x5xf32> to tensor<7x5xf32>
  %3 = fusec.concat %1, %2 axis 1 : tensor<7x5xf32>, tensor<7x3xf32> to tensor<7x8xf32>
  %4 = fusec.matmul %0, %z : tensor<7x6xf32>, tensor<6x8xf32> to tensor<7x8xf32>
  %5 = fusec.add %4, %3 : tensor<7x8xf32>
  fusec.output %5 : tensor<7x8xf32>
}

// -----

// With a block on each multiprocessor all of them fetch the same weights at
// once; measured, the chain takes 11.5 us and its parts 8.5.
// CHECK-LABEL: fusec.plan @sm_90a of @filled
// CHECK-COUNT-2: fusec.step gemm
fusec.model @filled inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x256xf32>, %v: tensor<256x64xf32>, %w: tensor<64x16xf32>):
  %0 = fusec.matmul %x, %v : tensor<2048x256xf32>, tensor<256x64xf32> to tensor<2048x64xf32>
  %1 = fusec.relu %0 : tensor<2048x64xf32>
  %2 = fusec.matmul %1, %w : tensor<2048x64xf32>, tensor<64x16xf32> to tensor<2048x16xf32>
  fusec.output %2 : tensor<2048x16xf32>
}

// -----

// Rows of halves that are no whole words are copied element by element.
// CHECK-LABEL: fusec.plan @sm_90a of @scattered
// CHECK-COUNT-2: fusec.step gemm
fusec.model @scattered inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<128x479xf16>, %v: tensor<32x479xf16>, %w: tensor<32x1xf16>):
  %0 = fusec.matmul %x, %v transposed : tensor<128x479xf16>, tensor<32x479xf16> to tensor<128x32xf16>
  %1 = fusec.relu %0 : tensor<128x32xf16>
  %2 = fusec.matmul %1, %w : tensor<128x32xf16>, tensor<32x1xf16> to tensor<128x1xf16>
  fusec.output %2 : tensor<128x1xf16>
}
