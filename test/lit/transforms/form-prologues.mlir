// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is computed of a product's operand becomes part of the product, where a
// kernel makes it in registers and the cost model says that it pays.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-prologues{always},fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | FileCheck %s
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-form-prologues{always}))" --remarks-filter=fusion %s 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_80},fusec.plan(fusec-form-prologues{always}))" %s | FileCheck %s --check-prefix=OTHER

// Boxes of 128 bytes of the operand as it is in memory, which is not rounded to
// tf32. Where nothing is known of addresses, mma.sync makes it.
// CHECK-LABEL: fusec.plan @sm_90a of @cast
// CHECK: fusec.step gemm "cast_matmul" inputs [@x, @w] outputs [@y]
// CHECK-SAME: wgmma_schedule<
// CHECK-SAME: matrices = [#fusec.copy<tile = 128, kBytes = 128, rounds = false,
// CHECK-SAME: mma_schedule
// CHECK-NOT: fusec.step
// REMARK: 'cast' and 'matmul'{{.*}} are one kernel
// OTHER-LABEL: fusec.plan @sm_80 of @cast
// OTHER: fusec.step pointwise
// OTHER: fusec.step gemm "matmul"
fusec.model @cast inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<2048x1024xf32>, %w: tensor<1024x1024xf16>):
  %0 = fusec.cast %x : tensor<2048x1024xf32> to tensor<2048x1024xf16>
  %1 = fusec.matmul %0, %w transposed : tensor<2048x1024xf16>, tensor<1024x1024xf16> to tensor<2048x1024xf16>
  fusec.output %1 : tensor<2048x1024xf16>
}

// -----

// A weight of 8 bits, of rows along K, is A of the transposed product: 64 bytes
// a row of a stage, for any number of tokens.
// CHECK-LABEL: fusec.plan @sm_90a of @dequantize
// CHECK: fusec.step gemm "cast_matmul{{.*}}" inputs [@q, @x, @s] outputs [@y]
// CHECK-SAME: swapped = true
// CHECK-SAME: matrices = [#fusec.copy<tile = 128, kBytes = 64, rounds = false,
fusec.model @dequantize inputs ["x", "q", "s"] outputs ["y"] {
^bb0(%x: tensor<?x512xf16, #fusec.sizes<[m, 512]>>, %q: tensor<1024x512xi8>, %s: tensor<1024xf16>):
  %0 = fusec.cast %q : tensor<1024x512xi8> to tensor<1024x512xf16>
  %1 = fusec.broadcast %s [0] : tensor<1024xf16> to tensor<1024x512xf16>
  %2 = fusec.mul %0, %1 : tensor<1024x512xf16>
  %3 = fusec.matmul %x, %2 transposed : tensor<?x512xf16, #fusec.sizes<[m, 512]>>, tensor<1024x512xf16> to tensor<?x1024xf16, #fusec.sizes<[m, 1024]>>
  fusec.output %3 : tensor<?x1024xf16, #fusec.sizes<[m, 1024]>>
}

// -----

// Of two matrices nothing is made, nor of what another step reads, too, of a
// named K, or for a tensor core of 32 bits.
// CHECK-LABEL: fusec.plan @sm_90a of @two
// CHECK: fusec.step pointwise
// REMARK: 'mul' and 'matmul'{{.*}}one operand is all that a product makes
fusec.model @two inputs ["x", "z", "w"] outputs ["y"] {
^bb0(%x: tensor<512x1024xf16>, %z: tensor<512x1024xf16>, %w: tensor<1024x1024xf16>):
  %0 = fusec.mul %x, %z : tensor<512x1024xf16>
  %1 = fusec.matmul %0, %w transposed : tensor<512x1024xf16>, tensor<1024x1024xf16> to tensor<512x1024xf16>
  fusec.output %1 : tensor<512x1024xf16>
}

// -----

// CHECK-LABEL: fusec.plan @sm_90a of @shared
// CHECK: fusec.step pointwise
// REMARK: 'relu' and 'matmul'{{.*}}others read what would be made
fusec.model @shared inputs ["x", "w"] outputs ["y", "a"] {
^bb0(%x: tensor<512x1024xf16>, %w: tensor<1024x1024xf16>):
  %0 = fusec.relu %x : tensor<512x1024xf16>
  %1 = fusec.matmul %0, %w transposed : tensor<512x1024xf16>, tensor<1024x1024xf16> to tensor<512x1024xf16>
  fusec.output %1, %0 : tensor<512x1024xf16>, tensor<512x1024xf16>
}

// -----

// CHECK-LABEL: fusec.plan @sm_90a of @named
// CHECK: fusec.step pointwise
// REMARK: 'relu' and 'matmul'{{.*}}no kernel of the target makes operands
fusec.model @named inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<512x?xf16, #fusec.sizes<[512, k]>>, %w: tensor<1024x?xf16, #fusec.sizes<[1024, k]>>):
  %0 = fusec.relu %x : tensor<512x?xf16, #fusec.sizes<[512, k]>>
  %1 = fusec.matmul %0, %w transposed : tensor<512x?xf16, #fusec.sizes<[512, k]>>, tensor<1024x?xf16, #fusec.sizes<[1024, k]>> to tensor<512x1024xf16>
  fusec.output %1 : tensor<512x1024xf16>
}

// -----

// CHECK-LABEL: fusec.plan @sm_90a of @wide
// CHECK: fusec.step pointwise
// REMARK: 'relu' and 'matmul'{{.*}}one operand is all that a product makes
fusec.model @wide inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<512x1024xf32>, %w: tensor<1024x1024xf32>):
  %0 = fusec.relu %x : tensor<512x1024xf32>
  %1 = fusec.matmul %0, %w transposed : tensor<512x1024xf32>, tensor<1024x1024xf32> to tensor<512x1024xf32>
  fusec.output %1 : tensor<512x1024xf32>
}
