// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few hundred rows make a few waves of tiles: the tiles are those that leave
// the least of the last wave idle, and where the rows are only named there are
// several.

// RUN: fusec-opt --split-input-file --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s

// 129 of 132 blocks have a tile, where 128 x 128 would leave 36 without one.
// CHECK-LABEL: fusec.plan @sm_90a of @one_wave
// CHECK: variants [#fusec.variant<{{[^#]*}}#fusec.wgmma_schedule<tileM = 128, tileN = 96{{[^P>]*}}>
fusec.model @one_wave inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<384x4096xf16>, %w: tensor<4096x4096xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<384x4096xf16>, tensor<4096x4096xf16> to tensor<384x4096xf16>
  fusec.output %0 : tensor<384x4096xf16>
}

// -----

// Tiles of 128 rows would be three quarters empty in the second row of them.
// CHECK-LABEL: fusec.plan @sm_90a of @empty_rows
// CHECK: variants [#fusec.variant<{{[^#]*}}#fusec.wgmma_schedule<tileM = 64, tileN = 96,{{[^>]*}}pingPong = true
fusec.model @empty_rows inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<160x4096xf16>, %w: tensor<4096x4096xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<160x4096xf16>, tensor<4096x4096xf16> to tensor<160x4096xf16>
  fusec.output %0 : tensor<160x4096xf16>
}

// -----

// 130 tiles of 128 x 160, without the clusters that five rows of them would
// leave a block of without work.
// CHECK-LABEL: fusec.plan @sm_90a of @odd_rows_of_tiles
// CHECK: variants [#fusec.variant<{{[^#]*}}#fusec.wgmma_schedule<tileM = 128, tileN = 160, tileK = 64, stages = {{[0-9]+}}, blocks{{[^>]*}}pingPong = true
fusec.model @odd_rows_of_tiles inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<640x4096xf16>, %w: tensor<4096x4096xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<640x4096xf16>, tensor<4096x4096xf16> to tensor<640x4096xf16>
  fusec.output %0 : tensor<640x4096xf16>
}

// -----

// CHECK-LABEL: fusec.plan @sm_90a of @named
// CHECK: <kind = gt, lhs = <m>, rhs = <384>>{{[^#]*}}#fusec.wgmma_schedule<tileM = 128, tileN = 128{{[^P>]*}}>
// CHECK: <kind = gt, lhs = <m>, rhs = <256>>{{[^#]*}}#fusec.wgmma_schedule<tileM = 128, tileN = 96{{[^P>]*}}>
// CHECK: <kind = gt, lhs = <m>, rhs = <128>>{{[^#]*}}#fusec.wgmma_schedule<tileM = 64, tileN = 128,{{[^>]*}}pingPong = true
fusec.model @named inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x4096xf16, #fusec.sizes<[m, 4096]>>, %w: tensor<4096x4096xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<?x4096xf16, #fusec.sizes<[m, 4096]>>, tensor<4096x4096xf16> to tensor<?x4096xf16, #fusec.sizes<[m, 4096]>>
  fusec.output %0 : tensor<?x4096xf16, #fusec.sizes<[m, 4096]>>
}

// -----

// Rows of two dimensions have the tiles of as many rows of one.
// CHECK-LABEL: fusec.plan @sm_90a of @batch_of_sequences
// CHECK: lhs = <batch * sequence>, rhs = <1536>>], #fusec.wgmma_schedule<tileM = 128, tileN = 256{{[^P>]*}}>
// CHECK-SAME: lhs = <batch * sequence>, rhs = <256>>], #fusec.wgmma_schedule<tileM = 128, tileN = 96{{[^P>]*}}>
// CHECK-SAME: lhs = <batch * sequence>, rhs = <8>>], #fusec.skinny_schedule<tileM = 32,
fusec.model @batch_of_sequences inputs ["x", "w"] outputs ["y"] {
^bb0(%x: tensor<?x4096xf16, #fusec.sizes<[batch * sequence, 4096]>>, %w: tensor<4096x4096xf16>):
  %0 = fusec.matmul %x, %w transposed : tensor<?x4096xf16, #fusec.sizes<[batch * sequence, 4096]>>, tensor<4096x4096xf16> to tensor<?x4096xf16, #fusec.sizes<[batch * sequence, 4096]>>
  fusec.output %0 : tensor<?x4096xf16, #fusec.sizes<[batch * sequence, 4096]>>
}
