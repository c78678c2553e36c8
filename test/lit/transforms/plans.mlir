// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --fusec-contractions --fusec-form-fusions --fusec-build-plans=targets=sm_80,sm_90a %s | FileCheck %s --check-prefix=BUILD
// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules))" %s | FileCheck %s --check-prefix=STORE
// RUN: not fusec-opt --fusec-build-plans=targets=sm_1 %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: there is no target 'sm_1'

// One plan per target; every buffer has a slot of its own.
// BUILD: fusec.plan @sm_80 of @mlp slots [#fusec.expr<batch * 24>, #fusec.expr<batch * 24>]
// BUILD: fusec.buffer @x input 0
// BUILD: fusec.buffer @y output 0
// BUILD: fusec.step gemm "matmul_relu" inputs [@x, @v] outputs [@matmul_relu]
// BUILD: fusec.step gemm "matmul_relu" inputs [@matmul_relu, @w] outputs [@matmul_relu_2]
// BUILD: fusec.step gemm "matmul" inputs [@matmul_relu_2, @w] outputs [@y]
// BUILD: fusec.plan @sm_90a of @mlp

// A slot is free once its last reader is done, and not before.
// STORE: fusec.plan @sm_90a of @mlp slots [#fusec.expr<batch * 24>, #fusec.expr<batch * 24>]
// STORE: fusec.step gemm "matmul_relu"
// STORE-SAME: gemv_schedule<narrow = n
fusec.model @mlp inputs ["x", "v", "w"] outputs ["y"] {
^bb0(%x: tensor<?x4xf32, #fusec.sizes<[batch, 4]>>, %v: tensor<4x6xf32>, %w: tensor<6x6xf32>):
  %0 = fusec.matmul %x, %v : tensor<?x4xf32, #fusec.sizes<[batch, 4]>>, tensor<4x6xf32> to tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
  %1 = fusec.relu %0 : tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
  %2 = fusec.matmul %1, %w : tensor<?x6xf32, #fusec.sizes<[batch, 6]>>, tensor<6x6xf32> to tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
  %3 = fusec.relu %2 : tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
  %4 = fusec.matmul %3, %w : tensor<?x6xf32, #fusec.sizes<[batch, 6]>>, tensor<6x6xf32> to tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
  fusec.output %4 : tensor<?x6xf32, #fusec.sizes<[batch, 6]>>
}
