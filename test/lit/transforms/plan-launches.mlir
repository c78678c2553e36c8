// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | FileCheck %s
// RUN: fusec-opt --pass-pipeline="builtin.module(fusec.model(fusec-contractions,fusec-form-fusions),fusec-build-plans{targets=sm_90a},fusec.plan(fusec-assign-storage,fusec-choose-schedules,fusec-plan-launches))" %s | fusec-opt | FileCheck %s

// The first kernel follows none; what follows another one starts early, and
// reads weights before it waits. A split of K is a cluster. Boxes of tensor maps
// are those of the tiles. What is read and stored by pointers is as wide as the
// guards allow.
// CHECK: fusec.step gemm "matmul"
// CHECK: skinny_schedule<{{[^>]*}}clusterK = [[CLUSTER:[0-9]+]]{{[^>]*}}> launch <blocks = <[[BLOCKS:[0-9]+]]>, threads = {{[0-9]+}}, shared = {{[0-9]+}}, cluster = [[CLUSTER]],
// CHECK-NOT: early = true
// CHECK-SAME: matrices = [#fusec.copy<tile = 16, kBytes = 128, rounds = true, promotion = 256>, #fusec.copy<tile = 64,
// CHECK: fusec.step gemm "matmul"
// CHECK: skinny_schedule<{{[^>]*}}> launch <blocks = <[[BLOCKS]]>, {{[^>]*}}, early = true, prefetches = true, matrices = [
// CHECK: fusec.step pointwise
// CHECK: pointwise_schedule<threads = 128, {{[^>]*}}> launch <blocks = <{{[0-9]+}}>, threads = 128, early = true, accesses = [#fusec.accesses<width = [[WIDTH:[0-9]]], loads = {{\[}}[[WIDTH]]], stores = {{\[}}[[WIDTH]]]>]>
fusec.model @layers inputs ["x"] outputs ["y"] {
^bb0(%x: tensor<16x1024xf16>):
  %w = fusec.constant dense<0.5> : tensor<1024x1024xf16>
  %0 = fusec.matmul %x, %w : tensor<16x1024xf16>, tensor<1024x1024xf16> to tensor<16x1024xf16>
  %1 = fusec.matmul %0, %w : tensor<16x1024xf16>, tensor<1024x1024xf16> to tensor<16x1024xf16>
  %2 = fusec.slice %1 offsets [#fusec.expr<0>, #fusec.expr<24>] steps [1, 1] : tensor<16x1024xf16> to tensor<16x1000xf16>
  %3 = fusec.exp %2 : tensor<16x1000xf16>
  fusec.output %3 : tensor<16x1000xf16>
}
